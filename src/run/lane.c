#include "run/lane.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/shell_words.h"
#include "machine/gpu/lock.h"
#include "run/aftermath.h"
#include "run/gpu_memory.h"
#include "run/lanes.h"
#include "run/snapshot.h"

#include <time.h>

enum { TIMER_ACCURACY_US = 1000, MACHINE_FAILURES_MAX = 4 };

void lane_init(struct lane *lane, struct runner *runner, size_t number)
{
    const struct run_request *request = runner->request;
    *lane = (struct lane){.runner = runner,
                          .number = number,
                          .means = request->lane_count ? &request->lanes[number - 1] : NULL,
                          .phase = LANE_STEPPING,
                          .energy.files = {.gpu = -1, .cpu = -1}};
    attempt_init(&lane->attempt, NULL, 0);
    lane_background_init(lane);
}

void lane_fini(struct lane *lane)
{
    lane_cancel_timer(lane);
    lane_job_sources_fini(lane);
    lane_energy_fini(lane);
    lane_load_fini(lane);
    lane_background_fini(lane);
    lane_guard_fini(lane);
    lane_memory_fini(lane);
    lane_checks_begin(lane);
    lanes_link_forget(lane);
    ladder_fini(&lane->ladder);
    attempt_fini(&lane->attempt);
    json_decref(lane->last_attempt);
    lane->last_attempt = NULL;
    free(steal_ptr(lane->lost));
}

void lane_record(struct lane *lane, enum event_type type, json_t *data, lane_step *next)
{
    bool of_attempt = type != EVENT_EXPERIMENT_STARTED && type != EVENT_EXPERIMENT_ENDED && type != EVENT_PAUSE;
    bool of_experiment = type != EVENT_PAUSE;
    runner_record(lane->runner, (struct runner_entry){
                                    .type = type,
                                    .experiment = of_experiment ? (int64_t)lane->experiment->number : 0,
                                    .attempt = of_attempt ? lane->attempt.number : 0,
                                    .data = data,
                                    .lane = lane,
                                    .next = next,
                                });
}

void lane_say(struct lane *lane, char *text)
{
    json_t *data = json_object();
    json_object_set_new(data, "text", json_string(text));
    free(text);
    lane_tell(lane, data);
}

void lane_tell(struct lane *lane, json_t *data)
{
    runner_tell(lane->runner, (struct runner_entry){.type = EVENT_NOTE,
                                                    .experiment = (int64_t)lane->experiment->number,
                                                    .attempt = lane->attempt.number,
                                                    .data = data});
}

void lane_add_number(const struct lane *lane, json_t *json)
{
    const struct run_lane *means = lane->means;
    const struct gauge_options *gauge = lane->runner->request->gauge;
    if (lane->runner->lane_count < 2)
        return;
    json_t *gpus = json_array();
    for (size_t i = 0; means && gauge && i < means->gpu_count; i++)
        json_array_append_new(gpus, json_string(gauge->gpus[means->gpu_first + i].label));
    json_object_set_new(json, "lane", json_integer((json_int_t)lane->number));
    json_object_set_new(json, "gpus", gpus);
}

static int on_timer(sd_event_source *source, uint64_t us, void *context)
{
    (void)source;
    (void)us;
    struct lane *lane = context;
    lane_step *step = lane->timer_step;
    lane_cancel_timer(lane);
    step(lane);
    return 0;
}

void lane_after(struct lane *lane, uint64_t us, lane_step *step)
{
    lane_cancel_timer(lane);
    lane->timer_step = step;
    int code = sd_event_add_time_relative(lane->runner->loop, &lane->timer, CLOCK_MONOTONIC, us, TIMER_ACCURACY_US,
                                          on_timer, lane);
    if (code >= 0)
        return;
    /* Without timers nothing can be waited for: the lane is given up, and lane_fini kills what is left. */
    struct err err;
    err_set(&err, "cannot set a timer (error %d)", -code);
    lane->phase = LANE_FINISHED;
    runner_break(lane->runner, &err);
    runner_lane_finished(lane->runner);
}

void lane_cancel_timer(struct lane *lane)
{
    lane->timer = sd_event_source_disable_unref(lane->timer);
    lane->timer_step = NULL;
}

static json_t *pause_json(const struct lane *lane, double seconds, const char *why)
{
    json_t *json = json_object();
    json_object_set_new(json, "seconds", json_real(seconds * lane->runner->time_scale));
    if (why)
        json_object_set_new(json, "why", json_string(why));
    lane_add_number(lane, json);
    return json;
}

void lane_finish(struct lane *lane)
{
    struct runner *runner = lane->runner;
    lane->experiment = NULL;
    lane->phase = LANE_FINISHED;
    if (lane->gauge)
        gauge_rest(lane->gauge);
    /* One that another lane gave back meanwhile. */
    if (!lane->retired && !runner_halted(runner) && runner_has_more(runner))
        lane_start(lane);
    else
        runner_lane_finished(runner);
}

void lane_give_back(struct lane *lane)
{
    const struct plan_experiment *experiment = lane->experiment;
    lane->experiment = NULL;
    runner_return(lane->runner, experiment);
    lane_finish(lane);
}

bool lane_is_over(const struct lane *lane)
{
    return lane->lost || runner_halted(lane->runner);
}

void lane_wake(struct lane *lane)
{
    if (lane->phase == LANE_WAITING || (lane->phase == LANE_FINISHED && !lane->retired && !runner_halted(lane->runner)))
        lane_start(lane);
}

static void write_results(struct lane *lane)
{
    lane->ran_one = true;
    lane->last_entry = lane->experiment->entry;
    runner_write_results(lane->runner, lane->experiment->number, lane, lane_start);
}

static void end_experiment(struct lane *lane, enum outcome outcome)
{
    lane->phase = LANE_STEPPING;
    lane->runner->stopped |= outcome == OUTCOME_FAILED && lane->runner->request->stop_at_failure;
    /* The last of the failures was not tried again. */
    int64_t retries = outcome == OUTCOME_FAILED ? lane->failed - 1 : lane->failed;
    json_t *data = experiment_ended_json(outcome, retries > 0 ? retries : 0, lane->last_attempt);
    lane_record(lane, EVENT_EXPERIMENT_ENDED, data, write_results);
}

/* The GPUs are free, or the attempt begins all the same. */
static void make_attempt(struct lane *lane)
{
    struct runner *runner = lane->runner;
    struct err err = {0};
    lane->phase = LANE_STEPPING;
    if (lane_is_over(lane)) {
        end_experiment(lane, OUTCOME_INTERRUPTED);
        return;
    }
    int64_t before = store_experiment(runner->request->store, lane->experiment->number)->attempts;
    attempt_init(&lane->attempt, ladder_experiment(lane), before + 1);
    lane->attempt.environment = lane->means ? &lane->means->environment : NULL;
    /* One that is alone on the machine has all of it. */
    lane->attempt.cpus = lane->means && !lane->experiment->exclusive ? lane->means->cpus : NULL;
    if (!attempt_make_folder(&lane->attempt, runner->request->dir, &err)) {
        attempt_fini(&lane->attempt);
        runner_break_disk(runner, &err);
        end_experiment(lane, OUTCOME_INTERRUPTED);
        return;
    }
    json_t *data = json_object();
    json_object_set_new(data, "folder", json_string(lane->experiment->id));
    ladder_prepared(lane, data);
    lane_record(lane, EVENT_ATTEMPT_PREPARED, data, lane_job_start);
}

static void prepare_attempt(struct lane *lane)
{
    lane_checks_begin(lane);
    lane_guard_preflight(lane, make_attempt);
}

void lane_prepare(struct lane *lane)
{
    prepare_attempt(lane);
}

void lane_after_attempt(struct lane *lane)
{
    bool again = lane->once_more;
    lane_load_fini(lane);
    lane_background_fini(lane);
    attempt_fini(&lane->attempt);
    lane->once_more = false;
    if (lane->outcome == OUTCOME_FAILED) {
        lane->failed++;
        again = lane->failed <= lane->experiment->max_retries && !lane->ladder.given_up;
    }
    if (again)
        prepare_attempt(lane);
    else
        end_experiment(lane, lane->outcome);
}

static void retry_pause(struct lane *lane)
{
    if (runner_halted(lane->runner)) {
        lane_after_attempt(lane);
        return;
    }
    lane->phase = LANE_RETRY_WAIT;
    lane_guard_pause(lane, lane->runner->plan->timing.before_retry_s, lane_after_attempt);
}

/* Once a run: the training cannot know why. */
static void say_setuid(struct lane *lane)
{
    const char *hint = lane->runner->setuid_said ? NULL : attempt_setuid_hint(&lane->attempt);
    if (!hint)
        return;
    lane->runner->setuid_said = true;
    lane_say(lane, mem_printf("%s: %s", lane->experiment->id, hint));
}

/* Who stops a run may send the same signal to all of its processes at once, as Slurm does: the training may have had it
 * first. */
static bool had_our_signal(const struct lane *lane)
{
    const struct job_exit *end = &lane->attempt.exit;
    int number = lane->runner->signal_number;
    return number != 0 && lane->attempt.reason == STOP_EXITED && end->ended &&
           end->code == (end->signalled ? number : 128 + number);
}

/* Once more at the end: whoever can take a lock away does it while it is held. */
static void check_gpu_locks(struct lane *lane)
{
    const struct run_gpu_locks *gpu = &lane->runner->request->gpu_locks;
    struct err err = {0};
    if (lane->attempt.end_ns != 0 && gpu->locks && !gpu_locks_check(gpu->locks, &err))
        lane_evidence(lane, "gpu_lock_untrusted", mem_strdup(err.text));
}

/* What the machine failed is none of the training's retries. It is tried once more after the pause, then left to a resume;
 * where attempt after attempt comes to that, the rest of the plan would be gone through in vain. */
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
    AUTO_FREE char *typed = shell_words_path(lane->runner->run_dir);
    err_set(&err,
            "%s: %s; it was attempt %d in a row that the machine interrupted: fix that, then go on with --resume %s",
            lane->experiment->id, error, lane->machine_failures, typed);
    runner_break(lane->runner, &err);
    return false;
}

void lane_attempt_ended(struct lane *lane)
{
    struct runner *runner = lane->runner;
    AUTO_FREE char *error = NULL;
    struct failure failure;
    lane->phase = LANE_STEPPING;
    lane_governor_check(lane);
    check_gpu_locks(lane);
    if (had_our_signal(lane))
        lane->attempt.reason = STOP_INTERRUPTED;
    attempt_blame_machine(&lane->attempt);
    lane->outcome = attempt_judge(&lane->attempt, &runner->plan->limits, &error, &failure);
    if (lane->lost && lane->outcome == OUTCOME_FAILED) {
        /* It failed for want of its GPU, as far as anybody can tell. */
        lane_lost_detail(lane);
        lane->attempt.reason = STOP_GPU_LOST;
        free(steal_ptr(error));
        lane->outcome = attempt_judge(&lane->attempt, &runner->plan->limits, &error, &failure);
    }
    if (lane->outcome == OUTCOME_FAILED)
        say_setuid(lane);
    char *old = lane->outcome == OUTCOME_SUCCEEDED ? checkpoints_read(lane->attempt.checkpoints) : NULL;
    if (old)
        lane_evidence(lane, "old_checkpoint", old);
    json_t *data = attempt_ended_json(&lane->attempt, lane->outcome, error);
    json_object_set_new(data, "failure", failure_json(&failure));
    if (lane->experiment->parallel)
        json_object_set_new(data, "parallel", lane_shares_take(lane));
    json_object_set_new(data, "energy", lane_energy_take(lane));
    json_object_set_new(data, "memory", lane_memory_take(lane));
    lane_guard_ended(lane, json_object_get(data, "energy"), json_object_get(data, "memory"));
    struct gpu_memory_told told = gpu_memory_told(json_object_get(data, "memory"));
    gpu_memory_judge(lane, &lane->attempt, &told);
    json_object_set_new(data, "gpu_memory", gpu_memory_json(&lane->attempt));
    json_object_set_new(data, "snapshot", snapshot_take(&lane->attempt));
    json_object_set_new(data, "checks", lane_checks_take(lane, data));
    json_decref(lane->last_attempt);
    lane->last_attempt = json_incref(data);
    bool again = lane->outcome == OUTCOME_FAILED && lane->failed < lane->experiment->max_retries && !lane_is_over(lane);
    lane->once_more = is_excused(lane, error);
    again = ladder_judge(lane, data, again) || lane->once_more;
    lane_record(lane, EVENT_ATTEMPT_ENDED, data, again ? NULL : lane_after_attempt);
    if (again)
        lane_record(lane, EVENT_RETRY_PAUSE, pause_json(lane, runner->plan->timing.before_retry_s, NULL), retry_pause);
}

static void begin_experiment(struct lane *lane)
{
    lane->phase = LANE_STEPPING;
    if (runner_halted(lane->runner)) {
        lane_finish(lane);
        return;
    }
    if (lane->lost) {
        lane_give_back(lane);
        return;
    }
    const struct store_history *before =
        &store_experiment(lane->runner->request->store, lane->experiment->number)->history;
    lane->failed = before->failed;
    lane->machine_excused = false;
    json_decref(lane->last_attempt);
    lane->last_attempt = json_incref(before->last_ended);
    ladder_begin(lane, before->ladder);
    json_t *data = json_object();
    json_object_set_new(data, "id", json_string(lane->experiment->id));
    lane_add_number(lane, data);
    lane_record(lane, EVENT_EXPERIMENT_STARTED, data, lane_governor_set);
}

static void pause_before(struct lane *lane)
{
    if (runner_halted(lane->runner)) {
        lane_finish(lane);
        return;
    }
    const struct timing *timing = &lane->runner->plan->timing;
    bool same = lane->experiment->entry == lane->last_entry;
    lane->phase = LANE_PAUSING;
    lane_guard_pause(lane, same ? timing->between_runs_s : timing->between_configurations_s, begin_experiment);
}

/* How long it waits for other lanes. */
static void count_wait(struct lane *lane, bool waits)
{
    struct lane_tally *tally = &lane->tally;
    int64_t now_ns = clock_monotonic_ns();
    if (tally->waits_ns)
        tally->waited_s += (double)(now_ns - tally->waits_ns) / (double)NS_PER_S;
    tally->waits_ns = waits ? now_ns : 0;
}

void lane_start(struct lane *lane)
{
    const struct timing *timing = &lane->runner->plan->timing;
    const struct plan_experiment *former = lane->experiment;
    bool waits = false;
    lane->phase = LANE_STEPPING;
    lane->experiment = NULL;
    lane->retired = lane->retired || lane_guard_refuses(lane);
    if (!lane->retired && !runner_halted(lane->runner))
        lane->experiment = runner_take(lane->runner, &waits);
    if (waits)
        lane->phase = LANE_WAITING;
    count_wait(lane, waits);
    if (former && lane->lost && !runner_halted(lane->runner) &&
        !runner_experiment_ended(lane->runner, former->number)) {
        runner_return(lane->runner, former);
    } else if (former) {
        runner_wake(lane->runner);
    }
    if (waits)
        return; /* and it may have been woken already */
    if (!lane->experiment) {
        lane_guard_close(lane, lane_finish);
        return;
    }
    bool same = lane->experiment->entry == lane->last_entry;
    double seconds = same ? timing->between_runs_s : timing->between_configurations_s;
    if (!lane->ran_one || seconds <= 0) {
        begin_experiment(lane);
        return;
    }
    const char *why = same ? "between_runs" : "between_configurations";
    lane_record(lane, EVENT_PAUSE, pause_json(lane, seconds, why), pause_before);
}

void lane_halt(struct lane *lane)
{
    switch (lane->phase) {
    case LANE_GUARDING:
        lane_guard_cancel(lane);
        break;
    case LANE_PAUSING:
        lane_guard_cancel(lane);
        lane_finish(lane);
        break;
    case LANE_WAITING:
        lane_finish(lane);
        break;
    case LANE_RETRY_WAIT:
        lane_guard_cancel(lane);
        lane_after_attempt(lane);
        break;
    case LANE_LOADING:
    case LANE_RUNNING:
        lane_stop(lane, STOP_INTERRUPTED);
        break;
    case LANE_STOPPING:
        if (lane->runner->kill_now)
            lane_kill(lane);
        break;
    default:
        break; /* a step that is on its way looks by itself */
    }
}
