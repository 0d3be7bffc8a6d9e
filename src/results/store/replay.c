#include "results/store/replay.h"
#include "plan/plan_json.h"
#include "results/store/energy.h"

#include "base/json.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static void job_clear(struct store_job *job)
{
    free(job->boot_id);
    free(job->cgroup);
    free(job->tag);
    *job = (struct store_job){0};
}

static void history_clear(struct store_history *history)
{
    json_decref(history->last_ended);
    json_decref(history->ladder);
    *history = (struct store_history){0};
}

static void attempt_clear(struct store_attempt *attempt)
{
    job_clear(&attempt->job);
    job_clear(&attempt->background);
    *attempt = (struct store_attempt){0};
}

void journal_replay_init(struct journal_replay *replay, size_t count)
{
    *replay = (struct journal_replay){.items = mem_array(count ? count : 1, sizeof *replay->items),
                                      .count = count};
}

void journal_replay_fini(struct journal_replay *replay)
{
    EACH (item, replay->items, replay->count) {
        attempt_clear(&item->last);
        history_clear(&item->history);
    }
    free(replay->items);
    *replay = (struct journal_replay){0};
}

/* Whether the experiment came to an end that stands: one that was interrupted is done again. */
static bool has_ended(const struct store_experiment *experiment)
{
    return experiment->state == STATE_DONE && experiment->outcome != OUTCOME_INTERRUPTED &&
           !experiment->again;
}

enum outcome event_outcome(const struct event *event)
{
    const char *name = json_string_value(json_object_get(event->data, "outcome"));
    enum outcome outcome = OUTCOME_NONE;
    if (!name || !outcome_parse(name, &outcome))
        return OUTCOME_NONE;
    return outcome;
}

bool event_begun(const struct event *event)
{
    return !json_is_false(json_object_get(event->data, "begun"));
}

const char *event_role(const struct event *event)
{
    const char *role = json_string_value(json_object_get(event->data, "role"));
    return role ? role : "foreground";
}

static bool about_the_run(enum event_type type)
{
    return type == EVENT_SESSION_STARTED || type == EVENT_SESSION_ENDED || type == EVENT_PAUSE ||
           type == EVENT_EVIDENCE || type == EVENT_CALIBRATION;
}

static bool check_session(const struct journal_replay *replay, const struct event *event,
                          struct err *err)
{
    const char *name = event_type_name(event->type);
    if (event->type == EVENT_SESSION_STARTED) {
        if (event->session == replay->last_session + 1)
            return true;
        return err_set(err, "%s: session %lld does not follow session %lld", name,
                       (long long)event->session, (long long)replay->last_session);
    }
    if (event->session >= 1 && event->session <= replay->last_session)
        return true;
    return err_set(err, "%s: session %lld has not started", name, (long long)event->session);
}

/* An attempt's number counts on from the last one's; what comes behind belongs to the last one. */
static bool check_attempt(const struct store_experiment *now, const struct event *event,
                          struct err *err)
{
    int64_t wanted;
    switch (event->type) {
    case EVENT_ATTEMPT_PREPARED:
        wanted = now->attempts + 1;
        break;
    case EVENT_JOB_BORN:
    case EVENT_ATTEMPT_STARTED:
    case EVENT_MARK:
    case EVENT_BUDGET:
    case EVENT_ATTEMPT_STOPPING:
    case EVENT_JOB_EXITED:
    case EVENT_JOB_PROVEN:
    case EVENT_ATTEMPT_ENDED:
        wanted = now->attempts;
        break;
    default:
        return true;
    }
    if (event->attempt == wanted && wanted > 0)
        return true;
    return err_set(err, "%s: attempt %lld of experiment %lld, expected %lld",
                   event_type_name(event->type), (long long)event->attempt,
                   (long long)event->experiment, (long long)wanted);
}

bool event_state_after(const struct event *event, enum experiment_state state,
                       enum experiment_state *after)
{
    if (!state_next(state, event->type, after))
        return false;
    if (event->type == EVENT_EXPERIMENT_ENDED && !event_begun(event))
        *after = STATE_PLANNED;
    return true;
}

static bool check_experiment(const struct store_experiment *now, const struct event *event,
                             enum experiment_state *after, struct err *err)
{
    /* The table lets every experiment that is done start again, or be planned so; only one that was
     * interrupted or is planned again may start, and only one whose result stands may be planned
     * again. */
    bool refused = (event->type == EVENT_EXPERIMENT_STARTED && has_ended(now)) ||
                   (event->type == EVENT_EXPERIMENT_AGAIN && !has_ended(now));
    if (refused || !event_state_after(event, now->state, after))
        return err_set(err, "%s does not fit: experiment %lld is %s", event_type_name(event->type),
                       (long long)event->experiment, state_name(now->state));
    if (event->type == EVENT_ATTEMPT_ENDED && now->last.outcome != OUTCOME_NONE)
        return err_set(err, "%s does not fit: attempt %lld of experiment %lld has ended",
                       event_type_name(event->type), (long long)event->attempt,
                       (long long)event->experiment);
    bool ends = event->type == EVENT_EXPERIMENT_ENDED || event->type == EVENT_ATTEMPT_ENDED;
    if (ends && event_outcome(event) == OUTCOME_NONE)
        return err_set(err, "%s of experiment %lld says no outcome", event_type_name(event->type),
                       (long long)event->experiment);
    return check_attempt(now, event, err);
}

bool journal_replay_check(const struct journal_replay *replay, const struct event *event,
                          enum experiment_state *after, struct err *err)
{
    *after = STATE_PLANNED;
    if (event->type >= EVENT_TYPES || !event_is_journaled(event->type))
        return err_set(err, "an event of this type is not journaled");
    const char *name = event_type_name(event->type);
    if (event->data && !json_is_object(event->data))
        return err_set(err, "%s: its data is no object", name);
    if (!check_session(replay, event, err))
        return false;
    if (event->experiment < 0 || event->experiment > (int64_t)replay->count)
        return err_set(err, "%s: the plan has no experiment %lld", name,
                       (long long)event->experiment);
    if (event->experiment > 0 && event->type != EVENT_SESSION_STARTED &&
        event->type != EVENT_SESSION_ENDED)
        return check_experiment(&replay->items[event->experiment - 1], event, after, err);
    if (event->experiment == 0 && about_the_run(event->type))
        return true;
    return err_set(
        err, event->experiment ? "%s: belongs to no experiment" : "%s: names no experiment", name);
}

static void take_job(struct store_job *job, const json_t *data)
{
    job_clear(job);
    *job = (struct store_job){.born = true,
                              .pid = json_integer_value(json_object_get(data, "pid")),
                              .start_time =
                                  (uint64_t)json_integer_value(json_object_get(data, "start_time")),
                              .boot_id = mem_strdup(json_get_text(data, "boot_id")),
                              .cgroup = mem_strdup(json_get_text(data, "cgroup")),
                              .tag = mem_strdup(json_get_text(data, "tag"))};
}

/* Forgets the identity of a job that is proven gone. */
static void forget_identity(struct store_job *job)
{
    if (!job->proven)
        return;
    free(steal_ptr(job->boot_id));
    free(steal_ptr(job->cgroup));
    free(steal_ptr(job->tag));
}

static void take_history(struct store_history *history, const struct event *event)
{
    json_t *ladder = json_object_get(event->data, "ladder");
    enum outcome outcome = event_outcome(event);
    /* Of what has ended for good nothing is asked any more, and a run may have many. */
    if (event->type == EVENT_EXPERIMENT_AGAIN ||
        (event->type == EVENT_EXPERIMENT_ENDED &&
         (outcome == OUTCOME_SUCCEEDED || outcome == OUTCOME_FAILED))) {
        history_clear(history);
        return;
    }
    if (ladder) {
        json_decref(history->ladder);
        history->ladder = json_incref(ladder);
    }
    if (event->type != EVENT_ATTEMPT_ENDED)
        return;
    history->failed += outcome == OUTCOME_FAILED;
    json_decref(history->last_ended);
    history->last_ended = json_incref(event->data);
}

/* A clock goes on within a session, and may be another boot's in the next. */
static void take_session(struct journal_replay *replay, const struct event *event)
{
    const json_t *budget = json_object_get(event->data, "budget");
    if (event->type == EVENT_SESSION_STARTED) {
        replay->last_session = event->session;
        replay->last_ns = event->monotonic_ns;
        if (json_is_object(budget))
            run_budget_from_json(budget, &replay->budget);
    }
    if (event->monotonic_ns > replay->last_ns) {
        replay->use.time_s += ((double)event->monotonic_ns - (double)replay->last_ns) * 1e-9;
        replay->last_ns = event->monotonic_ns;
    }
}

/* A GPU that was to be measured and was not makes the sum one of the rest. */
static bool lacks_gpu(const json_t *energy)
{
    const json_t *missing = json_object_get(energy, "missing");
    for (size_t i = 0; i < json_array_size(missing); i++) {
        const char *scope = json_get_text(json_array_get(missing, i), "scope");
        if (scope && strcmp(scope, "GPU board") == 0)
            return true;
    }
    return false;
}

struct reading attempt_energy_j(const json_t *ended)
{
    const json_t *energy = json_object_get(ended, "energy");
    struct reading gpu = energy_number(energy, "gpu", "joules"),
                   cpu = energy_number(energy, "cpu_package", "joules");
    struct reading share = energy_number(energy, "cpu_package_share", "attributed_mj");
    if (share.valid)
        cpu = (struct reading){share.value / 1000, true};
    if (lacks_gpu(energy) || (!gpu.valid && !cpu.valid))
        return (struct reading){0};
    return (struct reading){(gpu.valid ? gpu.value : 0) + (cpu.valid ? cpu.value : 0), true};
}

static void take_use(struct store_use *use, struct store_experiment *item,
                     const struct event *event)
{
    double number;
    if (event->type == EVENT_BUDGET && json_get_number(event->data, "energy_j", &number))
        item->under_way_j = (struct reading){number, true};
    if (event->type != EVENT_ATTEMPT_ENDED)
        return;
    struct reading energy = attempt_energy_j(event->data), last = item->under_way_j;
    bool timed = json_get_number(event->data, "duration_s", &number);
    item->under_way_j = (struct reading){0};
    if (!item->last.started)
        return;
    use->attempts++;
    use->estimated += !energy.valid && last.valid;
    use->unmeasured += !energy.valid && !last.valid;
    use->unmeasured_s += !energy.valid && !last.valid && timed ? number : 0;
    use->energy_j += energy.valid ? energy.value : last.valid ? last.value : 0;
    if (!timed || event_outcome(event) != OUTCOME_SUCCEEDED)
        return;
    use->succeeded++;
    use->succeeded_s += number;
    use->succeeded_measured += energy.valid;
    use->succeeded_j += energy.valid ? energy.value : 0;
}

void journal_replay_apply(struct journal_replay *replay, const struct event *event,
                          enum experiment_state after)
{
    double number;
    take_session(replay, event);
    if (event->type == EVENT_CALIBRATION && json_get_number(event->data, "energy_j", &number))
        replay->use.energy_j += number;
    if (event->experiment == 0)
        return;
    struct store_experiment *item = &replay->items[event->experiment - 1];
    take_use(&replay->use, item, event);
    struct store_job *job =
        strcmp(event_role(event), "background") == 0 ? &item->last.background : &item->last.job;
    item->state = after;
    take_history(&item->history, event);
    switch (event->type) {
    case EVENT_EXPERIMENT_STARTED:
        item->outcome = OUTCOME_NONE;
        break;
    case EVENT_ATTEMPT_PREPARED:
        item->attempts = event->attempt;
        attempt_clear(&item->last);
        item->last.number = event->attempt;
        break;
    case EVENT_ATTEMPT_STARTED:
        item->last.started = true;
        item->last.started_realtime_ns = event->realtime_ns;
        break;
    case EVENT_JOB_BORN:
        take_job(job, event->data);
        break;
    case EVENT_JOB_PROVEN:
        job->proven = json_array_size(json_object_get(event->data, "survivors")) == 0;
        break;
    case EVENT_ATTEMPT_ENDED:
        item->last.outcome = event_outcome(event);
        item->last.ended_realtime_ns = event->realtime_ns;
        break;
    case EVENT_EXPERIMENT_ENDED:
        item->outcome = event_outcome(event);
        forget_identity(&item->last.job);
        forget_identity(&item->last.background);
        item->again = item->again && item->outcome == OUTCOME_INTERRUPTED;
        break;
    case EVENT_EXPERIMENT_AGAIN:
        item->again = true;
        break;
    default:
        break;
    }
}

bool journal_replay_take(struct journal_replay *replay, const struct event *event,
                         enum experiment_state *after, struct err *err)
{
    if (!journal_replay_check(replay, event, after, err))
        return false;
    journal_replay_apply(replay, event, *after);
    return true;
}
