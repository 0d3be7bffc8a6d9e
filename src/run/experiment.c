#include "run/experiment.h"
#include "run/attempt_json.h"
#include "run/lane_governor.h"
#include "run/lane_idle.h"
#include "run/lane_job.h"
#include "run/lane_preflight.h"
#include "run/meters.h"
#include "run/observers/budget.h"
#include "run/observers/energy.h"
#include "run/observers/gpu_watch.h"
#include "run/observers/guard.h"

#include "base/mem.h"

#include <string.h>

enum { MACHINE_FAILURES_MAX = 4 };

static json_t *pause_json(const struct lane *lane, double seconds, const char *why)
{
    json_t *json = json_pack("{s:o, s:s*}", "seconds",
                             json_finite(seconds * lane->runner->time_scale), "why", why);
    lane_add_identity(lane, json);
    return json;
}

static void count_wait(struct lane *lane, bool waits)
{
    int64_t now_ns = clock_monotonic_ns();
    if (lane->wait_start_ns)
        lane->waited_s += ns_to_s(now_ns - lane->wait_start_ns);
    lane->wait_start_ns = waits ? now_ns : 0;
}

static double planned_pause_s(const struct lane *lane, const char **why)
{
    const struct timing *timing = &lane->runner->plan->timing;
    bool same = lane->experiment->configuration == lane->last_configuration;
    *why = same ? "between_runs" : "between_configurations";
    return same ? timing->between_runs_s : timing->between_configurations_s;
}

static void choose_next_experiment(struct lane *lane)
{
    const struct plan_experiment *previous = lane->experiment;
    bool waits = false;
    lane->experiment = NULL;
    lane->retired = lane->retired || lane_guard_has_quarantine(lane);
    if (!lane->retired && !runner_is_halted(lane->runner))
        lane->experiment = runner_next_experiment(lane->runner, &waits);
    if (waits)
        lane->phase = PHASE_WAITING;
    count_wait(lane, waits);
    if (previous && lane->lost && !runner_is_halted(lane->runner) &&
        !runner_is_experiment_ended(lane->runner, previous->number))
        runner_return_experiment(lane->runner, previous);
    else if (previous)
        runner_wake_lanes(lane->runner);
    if (waits)
        return; /* it may be awake again */
    if (!lane->experiment) {
        lane_enter(lane, PHASE_CLOSING);
        return;
    }
    const char *why;
    double seconds = planned_pause_s(lane, &why);
    if (!lane->ran_one || seconds <= 0) {
        lane_enter(lane, PHASE_CALIBRATING);
        return;
    }
    lane_record(lane, EVENT_PAUSE, pause_json(lane, seconds, why), lane_enter_next);
}

static void return_experiment(struct lane *lane, enum phase next)
{
    const struct plan_experiment *experiment = lane->experiment;
    lane->experiment = NULL;
    runner_return_experiment(lane->runner, experiment);
    lane_enter(lane, next);
}

static void pause_before(struct lane *lane)
{
    if (runner_is_halted(lane->runner)) {
        lane_enter(lane, PHASE_FINISHED);
        return;
    }
    const char *why;
    lane_idle_pause(lane, planned_pause_s(lane, &why));
}

static void leave_pause(struct lane *lane, enum lane_event event)
{
    lane_guard_cancel(lane);
    if (event == LANE_LOST)
        return_experiment(lane, PHASE_FINISHED);
    else
        lane_enter(lane, PHASE_FINISHED);
}

static void leave_calibration(struct lane *lane, enum lane_event event)
{
    lane_calibration_cancel(lane);
    leave_pause(lane, event);
}

static void begin_preparing(struct lane *lane)
{
    budget_check(lane->runner);
    if (runner_is_halted(lane->runner)) {
        lane_enter(lane, PHASE_FINISHED);
        return;
    }
    if (lane->lost || lane->runner->paused) {
        return_experiment(lane, lane->lost ? PHASE_FINISHED : PHASE_CHOOSING);
        return;
    }
    const struct store_history *before =
        &store_experiment(lane->runner->request->store, lane->experiment->number)->history;
    lane->failed = before->failed;
    lane->machine_excused = false;
    json_decref(lane->last_attempt);
    lane->last_attempt = json_incref(before->last_ended);
    ladder_restore(lane, before->ladder);
    json_t *data = json_pack("{s:s}", "id", lane->experiment->id);
    lane_add_identity(lane, data);
    lane_record(lane, EVENT_EXPERIMENT_STARTED, data, lane_enter_next);
}

static void prepare_attempt(struct lane *lane)
{
    OBSERVE(lane, reset);
    lane_preflight_begin(lane);
}

static void end_without_attempt(struct lane *lane)
{
    lane->outcome = OUTCOME_INTERRUPTED;
    lane_enter(lane, PHASE_ENDING);
}

/* Begins the attempt, even if the preflight only recorded problems. */
static void make_attempt(struct lane *lane)
{
    struct runner *runner = lane->runner;
    struct err err = {0};
    budget_check(runner);
    if (lane_is_over(lane)) {
        end_without_attempt(lane);
        return;
    }
    int64_t before = lane_count_attempts(lane);
    attempt_init(&lane->attempt, ladder_experiment(lane), before + 1);
    lane->attempt.environment = lane->resources ? &lane->resources->environment : NULL;
    /* An exclusive experiment has the whole machine. */
    lane->attempt.cpus =
        lane->resources && !lane->experiment->exclusive ? lane->resources->cpus : NULL;
    if (!attempt_make_folder(&lane->attempt, runner->request->dir, &err)) {
        attempt_fini(&lane->attempt);
        runner_break_disk(runner, &err);
        end_without_attempt(lane);
        return;
    }
    json_t *data = json_pack("{s:s}", "folder", lane->experiment->id);
    ladder_add_changes(lane, data);
    lane_record(lane, EVENT_ATTEMPT_PREPARED, data, lane_enter_next);
}

/* Once a run. */
static void note_setuid_hint(struct lane *lane)
{
    const char *hint = lane->runner->setuid_reported ? NULL : attempt_setuid_hint(&lane->attempt);
    if (!hint)
        return;
    lane->runner->setuid_reported = true;
    lane_note(lane, "%s", hint);
}

/* Slurm signals all processes of a run at once, so the training may have received the signal first.
 */
static bool had_our_signal(const struct lane *lane)
{
    const struct job_exit *end = &lane->attempt.exit;
    int number = lane->runner->signal_number;
    return number != 0 && lane->attempt.reason == STOP_EXITED && end->ended &&
           end->code == (end->signalled ? number : 128 + number);
}

/* A failure of the machine is repeated once and does not count as a retry; several in a row break
 * the run. */
static bool is_excused(struct lane *lane, const char *error)
{
    bool first = !lane->machine_excused;
    if (lane->attempt.reason != STOP_MACHINE) {
        if (lane->outcome != OUTCOME_INTERRUPTED)
            lane->machine_failures = 0;
        return false;
    }
    lane->machine_excused = true;
    if (++lane->machine_failures < MACHINE_FAILURES_MAX)
        return first && !lane_is_over(lane);
    struct err err;
    err_set(&err,
            "%s: %s; it was attempt %d in a row that the machine interrupted: fix that, then go on "
            "with --resume %s",
            lane->experiment->id, error, lane->machine_failures, lane->runner->typed_dir);
    runner_break(lane->runner, &err);
    return false;
}

static void observers_end(struct lane *lane, json_t *ended)
{
    lane->ended = ended;
    for (size_t i = 0; lane->observers[i]; i++) {
        const struct observer *observer = lane->observers[i];
        json_t *json = observer->end ? observer->end(lane) : NULL;
        if (json)
            json_object_set_new(ended, observer->key, json);
    }
}

static void judge_attempt(struct lane *lane)
{
    struct runner *runner = lane->runner;
    AUTO_FREE char *error = NULL;
    struct failure failure;
    if (had_our_signal(lane))
        lane->attempt.reason = STOP_INTERRUPTED;
    attempt_blame_machine(&lane->attempt);
    lane->outcome = attempt_judge(&lane->attempt, &runner->plan->limits, &error, &failure);
    if (lane->lost && lane->outcome == OUTCOME_FAILED) {
        lane_set_lost_detail(lane);
        lane->attempt.reason = STOP_GPU_LOST;
        free(steal_ptr(error));
        lane->outcome = attempt_judge(&lane->attempt, &runner->plan->limits, &error, &failure);
    }
    if (lane->outcome == OUTCOME_FAILED)
        note_setuid_hint(lane);
    json_t *data = attempt_ended_json(&lane->attempt, lane->outcome, error);
    json_object_set_new(data, "failure", failure_json(&failure));
    observers_end(lane, data);
    json_decref(lane->last_attempt);
    lane->last_attempt = json_incref(data);
    lane->refused = lane->outcome == OUTCOME_FAILED && failure.refused;
    bool again = lane->outcome == OUTCOME_FAILED && lane->failed < lane->experiment->max_retries &&
                 !lane->refused && !lane_is_over(lane);
    lane->once_more = is_excused(lane, error);
    lane->again = ladder_judge(lane, data, again) || lane->once_more;
    lane_record(lane, EVENT_ATTEMPT_ENDED, data, lane->again ? NULL : lane_enter_next);
    if (lane->again)
        lane_record(lane, EVENT_RETRY_PAUSE,
                    pause_json(lane, runner->plan->timing.before_retry_s, NULL), lane_enter_next);
}

static void retry_pause(struct lane *lane)
{
    if (!lane->again || runner_is_halted(lane->runner))
        lane_enter_next(lane);
    else
        lane_idle_pause(lane, lane->runner->plan->timing.before_retry_s);
}

static void leave_retry_pause(struct lane *lane, enum lane_event event)
{
    (void)event;
    lane_guard_cancel(lane);
    lane_enter_next(lane);
}

static void end_attempt(struct lane *lane)
{
    bool again = lane->once_more;
    OBSERVE(lane, recorded);
    attempt_fini(&lane->attempt);
    lane->once_more = false;
    if (lane->outcome == OUTCOME_FAILED) {
        lane->failed++;
        again = lane->failed <= lane->experiment->max_retries && !lane->ladder.given_up &&
                !lane->refused;
    }
    if (again)
        lane_enter(lane, PHASE_PREFLIGHT);
    else
        lane_enter_next(lane);
}

static bool has_one_script(const struct plan *plan)
{
    const struct plan_job *first = &plan->experiments[0].foreground;
    for (size_t i = 1; i < plan->count; i++) {
        const struct plan_job *other = &plan->experiments[i].foreground;
        if (strcmp(other->repo, first->repo) != 0 || strcmp(other->model, first->model) != 0)
            return false;
    }
    return plan->count > 1;
}

/* If the script refuses the first experiment, it refuses all. */
static void stop_if_refused(struct lane *lane)
{
    struct runner *runner = lane->runner;
    if (lane->refused && lane->outcome == OUTCOME_FAILED && !runner->has_ended_one &&
        has_one_script(runner->plan)) {
        runner->refused_by = lane->experiment->number;
        runner->stopped = true;
    }
    runner->has_ended_one = true;
}

static void end_lane_experiment(struct lane *lane)
{
    enum outcome outcome = lane->outcome;
    stop_if_refused(lane);
    lane->runner->stopped |= outcome == OUTCOME_FAILED && lane->runner->request->stop_at_failure;
    /* The last failure was not retried. */
    int64_t retries = outcome == OUTCOME_FAILED ? lane->failed - 1 : lane->failed;
    json_t *data = experiment_ended_json(outcome, retries > 0 ? retries : 0, lane->last_attempt);
    if (lane_count_attempts(lane) == 0)
        json_object_set_new(data, "begun", json_false());
    lane_record(lane, EVENT_EXPERIMENT_ENDED, data, lane_enter_next);
}

static void write_experiment_results(struct lane *lane)
{
    lane->ran_one = true;
    lane->last_configuration = lane->experiment->configuration;
    if (lane_count_attempts(lane) == 0) {
        lane_enter_next(lane); /* no attempt, no results */
        return;
    }
    runner_write_results(lane->runner, lane->experiment->number, lane, lane_enter_next);
}

static void finish_lane(struct lane *lane)
{
    struct runner *runner = lane->runner;
    lane->experiment = NULL;
    if (lane->energy_meters)
        energy_meters_rest(lane->energy_meters);
    /* Another lane may have returned an experiment. */
    if (!lane->retired && !runner_is_halted(runner) && runner_has_more(runner))
        lane_enter(lane, PHASE_CHOOSING);
    else
        runner_finish_lane(runner);
}

static void leave_start(struct lane *lane, enum lane_event event)
{
    if (event == LANE_LOST && lane->phase == PHASE_METERS)
        return; /* no experiment was chosen yet */
    step_cancel(&lane->timer);
    lane_enter(lane, PHASE_FINISHED);
}

/* The story of one experiment, from top to bottom. A phase that skips its next names another. */
static const struct phase_row phases[] = {
    /* phase */ /* enter */ /* on_event */ /* next */ /* has_job */
    [PHASE_METERS] = {phase_meters, leave_start, PHASE_CHOOSING, false},

    [PHASE_CHOOSING] = {choose_next_experiment, NULL, PHASE_PAUSING, false},
    [PHASE_WAITING] = {NULL, leave_start, PHASE_CHOOSING, false},
    [PHASE_PAUSING] = {pause_before, leave_pause, PHASE_CALIBRATING, false},
    [PHASE_CALIBRATING] = {phase_calibrating, leave_calibration, PHASE_STARTING, false},
    [PHASE_STARTING] = {begin_preparing, NULL, PHASE_GOVERNOR, false},
    [PHASE_GOVERNOR] = {phase_governor, NULL, PHASE_PREFLIGHT, false},

    [PHASE_PREFLIGHT] = {prepare_attempt, lane_guard_leave, PHASE_PREPARING, false},
    [PHASE_PREPARING] = {make_attempt, NULL, PHASE_OPENING, false},
    [PHASE_OPENING] = {phase_opening, NULL, PHASE_LOADING, false},
    [PHASE_LOADING] = {phase_loading, phase_job_event, PHASE_BIRTH, true},
    [PHASE_BIRTH] = {phase_birth, NULL, PHASE_GATE, false},
    [PHASE_GATE] = {phase_gate, NULL, PHASE_RUNNING, false},
    [PHASE_RUNNING] = {phase_running, phase_job_event, PHASE_STOPPING, true},
    [PHASE_STOPPING] = {phase_stopping, phase_stopping_event, PHASE_PROVING, true},
    [PHASE_PROVING] = {phase_proving, NULL, PHASE_READING, true},
    [PHASE_READING] = {phase_reading, NULL, PHASE_POSTFLIGHT, false},
    [PHASE_POSTFLIGHT] = {phase_postflight, NULL, PHASE_JUDGING, false},
    [PHASE_JUDGING] = {judge_attempt, NULL, PHASE_RETRY_PAUSE, false},
    [PHASE_RETRY_PAUSE] = {retry_pause, leave_retry_pause, PHASE_RETRYING, false},
    [PHASE_RETRYING] = {end_attempt, NULL, PHASE_ENDING, false}, /* or PREFLIGHT */

    [PHASE_ENDING] = {end_lane_experiment, NULL, PHASE_WRITING, false},
    [PHASE_WRITING] = {write_experiment_results, NULL, PHASE_CHOOSING, false},

    [PHASE_CLOSING] = {phase_closing, lane_guard_leave, PHASE_FINISHED, false},
    [PHASE_FINISHED] = {finish_lane, NULL, PHASE_CHOOSING, false},
};

void lane_init(struct lane *lane, struct runner *runner, size_t number)
{
    const struct run_request *request = runner->request;
    size_t count = 0;
    *lane = (struct lane){.runner = runner,
                          .number = number,
                          .resources = request->lane_count ? &request->lanes[number - 1] : NULL,
                          .phases = phases,
                          .observers = observers};
    attempt_init(&lane->attempt, NULL, 0);
    while (observers[count])
        count++;
    lane->states = mem_array(count, sizeof *lane->states);
    for (size_t i = 0; i < count; i++)
        lane->states[i] = mem_alloc(observers[i]->size + 1);
    OBSERVE(lane, init);
}

void lane_fini(struct lane *lane)
{
    step_cancel(&lane->timer);
    lane_calibration_fini(lane);
    lane_job_sources_fini(lane);
    OBSERVE(lane, fini);
    for (size_t i = 0; lane->observers[i]; i++)
        free(lane->states[i]);
    free(lane->states);
    ladder_fini(&lane->ladder);
    attempt_fini(&lane->attempt);
    json_decref(lane->last_attempt);
    lane->last_attempt = NULL;
    free(steal_ptr(lane->lost));
}
