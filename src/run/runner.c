/* Shared by the lanes: events on their way into the journal, the rest of the plan, the end. */
#include "run/runner.h"

#include "base/fs.h"
#include "base/mem.h"
#include "results/store/live.h"
#include "run/again.h"
#include "run/lane.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

struct record {
    struct runner *runner;
    struct event event; /* no data: waits for files only */
    struct lane *lane;
    lane_step *next;
    enum phase from; /* when it was recorded */
};

static struct event make_event(const struct runner *runner, enum event_type type,
                               int64_t experiment, int64_t attempt, json_t *data)
{
    return (struct event){
        .type = type,
        .monotonic_ns = clock_monotonic_ns(),
        .realtime_ns = clock_realtime_ns(),
        .session = runner->session,
        .experiment = experiment,
        .attempt = attempt,
        .data = data ? data : json_object(),
    };
}

static void call_listener(const struct runner *runner, const struct event *event)
{
    const struct run_listener *listener = &runner->request->listener;
    if (listener->event)
        listener->event(listener->context, event);
}

static void handle_recorded(void *context, bool ok, const struct err *err)
{
    struct record *record = context;
    struct runner *runner = record->runner;
    if (!ok && !runner->mute) {
        struct err lost = *err;
        err_wrap(&lost, "the run cannot be recorded");
        runner->mute = true;
        runner_break_disk(runner, &lost);
    }
    if (ok && record->event.data)
        call_listener(runner, &record->event);
    /* Only if the lane is still in the phase in which this was recorded. */
    if (record->next && (record->next != lane_enter_next || record->lane->phase == record->from))
        record->next(record->lane);
    event_fini(&record->event);
    free(record);
}

static struct record *record_new(struct runner *runner, struct lane *lane, lane_step *next)
{
    struct record *record = mem_alloc(sizeof *record);
    *record = (struct record){
        .runner = runner, .lane = lane, .next = next, .from = lane ? lane->phase : PHASE_NONE};
    return record;
}

void runner_record_then(struct runner *runner, enum event_type type, int64_t experiment,
                        int64_t attempt, json_t *data, struct lane *lane, lane_step *next)
{
    if (runner->mute) {
        json_decref(data);
        if (next)
            next(lane);
        return;
    }
    struct record *record = record_new(runner, lane, next);
    record->event = make_event(runner, type, experiment, attempt, data);
    store_add(runner->request->store, &record->event, handle_recorded, record);
}

void runner_record(struct runner *runner, enum event_type type, int64_t experiment, int64_t attempt,
                   json_t *data)
{
    runner_record_then(runner, type, experiment, attempt, data, NULL, NULL);
}

void runner_write_results(struct runner *runner, size_t number, struct lane *lane, lane_step *next)
{
    if (!runner->mute)
        store_write_results(runner->request->store, number, handle_recorded,
                            record_new(runner, lane, next));
    else if (next)
        next(lane);
}

void runner_note(struct runner *runner, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    AUTO_FREE char *text = mem_vprintf(format, args);
    va_end(args);
    runner_report(runner, EVENT_NOTE, 0, 0, json_pack("{s:o*}", "text", json_string(text)));
}

void runner_report(struct runner *runner, enum event_type type, int64_t experiment, int64_t attempt,
                   json_t *data)
{
    struct event event = make_event(runner, type, experiment, attempt, data);
    call_listener(runner, &event);
    event_fini(&event);
}

bool runner_is_halted(const struct runner *runner)
{
    return runner->signal_number != 0 || runner->broken || runner->budget.stops;
}

bool runner_is_experiment_ended(const struct runner *runner, size_t number)
{
    const struct store_experiment *experiment = store_experiment(runner->request->store, number);
    return experiment->state == STATE_DONE && experiment->outcome != OUTCOME_INTERRUPTED &&
           !experiment->again;
}

static bool is_experiment_wanted(const struct runner *runner, size_t number)
{
    const struct again *again = runner->request->again;
    return !again || again->items[number - 1];
}

bool runner_is_left(const struct runner *runner, size_t number)
{
    return !runner_is_experiment_ended(runner, number) && is_experiment_wanted(runner, number);
}

static const struct plan_experiment *find_next(struct runner *runner)
{
    const struct run_listener *listener = &runner->request->listener;
    if (runner->stopped || (listener->enough && listener->enough(listener->context)))
        return NULL;
    for (; runner->next < runner->plan->count; runner->next++) {
        const struct plan_experiment *experiment = &runner->plan->experiments[runner->next];
        if (!runner->assigned[runner->next] &&
            !runner_is_experiment_ended(runner, experiment->number) &&
            is_experiment_wanted(runner, experiment->number))
            return runner->budget.refuses && runner->budget.refuses(runner) ? NULL : experiment;
    }
    return NULL;
}

bool runner_has_more(struct runner *runner)
{
    return find_next(runner) != NULL;
}

bool runner_is_same_governor(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* All lanes share one governor. */
static bool can_begin(const struct runner *runner, const struct plan_experiment *experiment)
{
    EACH (lane, runner->lanes, runner->lane_count) {
        const struct plan_experiment *other = lane->experiment;
        if (other && (experiment->exclusive || other->exclusive ||
                      (runner->request->governor &&
                       !runner_is_same_governor(experiment->governor, other->governor))))
            return false;
    }
    return true;
}

const struct plan_experiment *runner_next_experiment(struct runner *runner, bool *waits)
{
    const struct plan_experiment *experiment = find_next(runner);
    *waits = experiment && (runner->paused || !can_begin(runner, experiment));
    if (!experiment || *waits)
        return NULL;
    runner->assigned[experiment->number - 1] = true;
    return experiment;
}

void runner_wake_lanes(struct runner *runner)
{
    EACH (lane, runner->lanes, runner->lane_count)
        if (lane->phase == PHASE_WAITING)
            lane_wake(lane);
}

void runner_return_experiment(struct runner *runner, const struct plan_experiment *experiment)
{
    size_t place = experiment->number - 1;
    runner->assigned[place] = false;
    runner->next = place < runner->next ? place : runner->next;
    EACH (lane, runner->lanes, runner->lane_count)
        lane_wake(lane);
}

void runner_halt_lanes(struct runner *runner)
{
    EACH (lane, runner->lanes, runner->lane_count)
        lane_handle_event(lane, LANE_HALTED);
}

void runner_stop(struct runner *runner, int signal_number)
{
    if (runner->signal_number != 0)
        runner->kill_now = true;
    else
        runner->signal_number = signal_number;
    runner_halt_lanes(runner);
}

void runner_break(struct runner *runner, const struct err *err)
{
    if (!runner->broken)
        runner->err = *err;
    runner->broken = true;
    runner_halt_lanes(runner);
}

void runner_break_disk(struct runner *runner, const struct err *cause)
{
    struct err err = *cause;
    if (fs_is_deleted(runner->request->dir)) {
        err_set(&err, "%s was deleted while the run wrote to it: what the run recorded is lost",
                runner->typed_dir);
        runner_break(runner, &err);
        return;
    }
    size_t length = strlen(err.text);
    bool full = cause->code == ENOSPC || cause->code == EDQUOT || cause->code == EFBIG ||
                strstr(cause->text, "full");
    snprintf(err.text + length, sizeof err.text - length, "; %s, go on with --resume %s",
             full ? "when there is space again" : "when that is fixed", runner->typed_dir);
    runner_break(runner, &err);
}

bool runner_is_finished(const struct runner *runner)
{
    EACH (lane, runner->lanes, runner->lane_count)
        if (lane->phase != PHASE_FINISHED)
            return false;
    return true;
}

void runner_finish_lane(struct runner *runner)
{
    if (!runner_is_finished(runner))
        return;
    /* The last lane could not go on. */
    if (!runner_is_halted(runner) && runner_has_more(runner))
        runner_break(runner, &runner->refused);
    if (runner->loop)
        sd_event_exit(runner->loop, 0);
}

void runner_tick_soon(struct runner *runner)
{
    uint64_t due_us = 0;
    int64_t now_ns = clock_monotonic_ns();
    if (sd_event_source_get_time(runner->tick_source, &due_us) < 0 ||
        (int64_t)due_us * 1000 - now_ns <= RUNNER_TICK_US * 1000LL)
        return;
    runner->ticked_ns = now_ns;
    if (sd_event_source_set_time_relative(runner->tick_source, RUNNER_TICK_US) >= 0)
        sd_event_source_set_enabled(runner->tick_source, SD_EVENT_ONESHOT);
}

/* ---- Requests of the run's owner: a file in its folder, so that they work from any node. */

enum { CONTROL_US = 1000000, CONTROL_ACCURACY_US = 250000 };

static void set_paused(struct runner *runner, bool paused)
{
    if (runner->paused == paused)
        return;
    runner->paused = paused;
    const char *text = paused ? "paused on request: nothing more begins until it is to continue"
                              : "continues on request";
    runner_report(runner, EVENT_NOTE, 0, 0,
                  json_pack("{s:s, s:b}", "text", text, "paused", paused));
    if (!paused)
        runner_wake_lanes(runner);
}

/* Other phases begin or end by themselves. */
static void skip_experiment(struct runner *runner, size_t number)
{
    EACH (lane, runner->lanes, runner->lane_count) {
        if (lane->experiment && lane->experiment->number == number &&
            (lane->phase == PHASE_RUNNING || lane->phase == PHASE_LOADING)) {
            json_t *text =
                json_sprintf("%s: skipped on request: --resume runs it", lane->experiment->id);
            runner_report(runner, EVENT_NOTE, (int64_t)number, lane->attempt.number,
                          json_pack("{s:o}", "text", text));
            lane_stop_attempt(lane, STOP_SKIPPED);
            return;
        }
    }
    runner_note(runner, "experiment %zu cannot be skipped now: it does not run", number);
}

static int on_control(sd_event_source *source, uint64_t us, void *context)
{
    (void)us;
    struct runner *runner = context;
    struct err err;
    enum live_request request = LIVE_REQUESTS;
    size_t experiment;
    int taken = live_take_request(runner->request->dir, &request, &experiment, &err);
    if (taken < 0)
        runner_note(runner, "a request was refused: %s", err.text);
    else if (taken > 0 && request == LIVE_SKIP)
        skip_experiment(runner, experiment);
    else if (taken > 0 && request == LIVE_STOP)
        runner_stop(runner, SIGTERM);
    else if (taken > 0)
        set_paused(runner, request == LIVE_PAUSE);
    int code = sd_event_source_set_time_relative(source, CONTROL_US);
    return code < 0 ? code : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int runner_watch_control(struct runner *runner)
{
    return sd_event_add_time_relative(runner->loop, &runner->control_source, CLOCK_MONOTONIC,
                                      CONTROL_US, CONTROL_ACCURACY_US, on_control, runner);
}
