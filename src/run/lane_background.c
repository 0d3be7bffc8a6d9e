
#include "base/mem.h"
#include "machine/contain/job.h"
#include "machine/contain/prove.h"
#include "run/attempt_json.h"
#include "run/lane.h"
#include "run/lane_job.h"
#include "run/observers/gpu_memory.h"
#include "run/observers/load.h"
#include "run/runner_guardian.h"
#include "tare_build.h"

enum { PROOF_POLL_US = 500, PROOF_POLL_MAX_US = 50000, LOOPS_LISTED_MAX = 100 };

#define PROOF_MAX_NS (JOB_PROOF_MAX_S * NS_PER_S)

enum background_next lane_background_count_loop(struct background_tally *tally,
                                                enum outcome outcome, bool beside)
{
    if (outcome == OUTCOME_SUCCEEDED) {
        tally->succeeded++;
        tally->failed_in_a_row = 0;
        return BACKGROUND_AGAIN;
    }
    tally->failed++;
    tally->failed_in_a_row++;
    tally->failed_beside += beside;
    tally->gave_up =
        tally->failed_in_a_row >= (beside ? BACKGROUND_TRIES_BESIDE : BACKGROUND_TRIES_BEFORE);
    if (tally->gave_up)
        return BACKGROUND_GIVE_UP;
    return beside && tally->failed_beside == BACKGROUND_FAILURES_REPORTED ? BACKGROUND_REPORT
                                                                          : BACKGROUND_AGAIN;
}

static void init_background(struct lane *lane)
{
    lane->background = (struct lane_background){0};
    attempt_init(&lane->background.loop, NULL, 0);
}

static void sources_fini(struct lane_background *background)
{
    step_cancel(&background->log_source);
    step_cancel(&background->job_source);
}

static void clear_background(struct lane *lane)
{
    struct lane_background *background = &lane->background;
    step_cancel(&background->timer);
    sources_fini(background);
    attempt_fini(&background->loop);
    json_decref(background->loops);
    init_background(lane);
}

static void set_background_timer(struct lane *lane, uint64_t us, lane_step *step)
{
    lane_set_timer(lane, &lane->background.timer, us, step);
}

static bool is_before_foreground(const struct lane *lane)
{
    return lane->phase == PHASE_LOADING;
}

static double foreground_seconds(const struct lane *lane)
{
    int64_t start_ns = lane->attempt.start_ns;
    return start_ns ? ns_to_s(clock_monotonic_ns() - start_ns) : 0;
}

static void keep_loop(struct lane *lane, enum outcome outcome, const char *error)
{
    struct lane_background *background = &lane->background;
    const struct attempt *loop = &background->loop;
    if (!background->loops)
        background->loops = json_array();
    if (json_array_size(background->loops) >= LOOPS_LISTED_MAX) {
        background->loops_more++;
        return;
    }
    AUTO_FREE char *log = attempt_log_name(loop);
    json_t *json = json_pack(
        "{s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:o*}", "number", (json_int_t)loop->loop,
        "outcome", outcome == OUTCOME_INTERRUPTED ? "stopped" : outcome_name(outcome), "exit_code",
        attempt_exit_json(loop, false), "signal", attempt_exit_json(loop, true), "error",
        outcome == OUTCOME_FAILED ? json_text_or_null(error) : json_null(), "start_ns",
        loop->gate_open ? json_integer(loop->start_ns) : json_null(), "end_ns",
        loop->gate_open ? json_integer(loop->end_ns) : json_null(), "log", log, "gpu_memory",
        gpu_memory_json(loop));
    json_array_append_new(background->loops, json);
}

bool lane_background_was_born(const struct lane *lane)
{
    return lane->background.first_start_time != 0;
}

json_t *lane_background_json(const struct lane *lane)
{
    const struct lane_background *background = &lane->background;
    const struct background_tally *tally = &background->tally;
    return json_pack("{s:I, s:I, s:I, s:I, s:b, s:o, s:I}", "started", (json_int_t)tally->started,
                     "succeeded", (json_int_t)tally->succeeded, "failed", (json_int_t)tally->failed,
                     "failed_beside_foreground", (json_int_t)tally->failed_beside, "gave_up",
                     tally->gave_up, "loops",
                     background->loops ? json_deep_copy(background->loops) : json_array(),
                     "loops_not_listed", (json_int_t)background->loops_more);
}

static void report_held_log(struct lane *lane)
{
    struct lane_background *background = &lane->background;
    const struct attempt *loop = &background->loop;
    if (loop->log_held && !background->log_held_reported) {
        background->log_held_reported = true;
        lane_add_evidence(lane, "log_pipe_held", "the background's loop %lld: %s",
                          (long long)loop->loop, loop->log_held);
    }
    if (loop->leftover_count == 0 || background->leftovers_reported)
        return;
    background->leftovers_reported = true;
    AUTO_FREE char *names = attempt_members_text(loop->leftovers, loop->leftover_count);
    lane_add_evidence(
        lane, "leftover_processes",
        "the background's loop %lld ended and left %zu process%s, which were ended: %s",
        (long long)loop->loop, loop->leftover_count, loop->leftover_count == 1 ? "" : "es", names);
}

/* Journals the loop, after its tree is gone or its survivors are reported. */
static enum outcome close_loop(struct lane *lane, char **error)
{
    struct lane_background *background = &lane->background;
    struct attempt *loop = &background->loop;
    struct failure failure;
    if (loop->end_ns == 0)
        loop->end_ns = clock_monotonic_ns();
    sources_fini(background);
    bool kept = attempt_close_log(loop);
    if (!lane->runner->request->is_task)
        attempt_remove_empty_output(loop);
    enum outcome outcome = attempt_judge(loop, &lane->runner->plan->limits, error, &failure);
    json_t *data = attempt_loop_json(loop, outcome, *error);
    json_object_set_new(data, "failure", failure_json(&failure));
    lane_record(lane, EVENT_JOB_EXITED, data, NULL);
    keep_loop(lane, outcome, *error);
    struct gpu_memory_reported told = lane_load_loop_peak(lane);
    gpu_memory_judge(lane, loop, &told);
    report_held_log(lane);
    if (loop->gate_open && lane->energy_meters)
        energy_meters_beside_end(lane->energy_meters, background->energy_meters_number,
                                 &loop->usage);
    if (!kept)
        lane_job_lose_log(lane, loop, &loop->log_err);
    return outcome;
}

/* Not a failure of the background. */
static void stop_for_machine(struct lane *lane, char *why)
{
    attempt_set_detail(&lane->attempt, why);
    lane_stop_attempt(lane, STOP_MACHINE);
}

static void start_loop(struct lane *lane);

static void give_up_background(struct lane *lane, const char *error)
{
    struct lane_background *background = &lane->background;
    background->phase = BACKGROUND_OVER;
    if (is_before_foreground(lane)) {
        lane_add_evidence(
            lane, "background_died",
            "the background failed %zu times in a row before the foreground could start",
            background->tally.failed_in_a_row);
        attempt_set_detail(
            &lane->attempt,
            mem_printf("the background training does not run: it failed %zu times in a row: %s",
                       background->tally.failed_in_a_row, error ? error : "unknown"));
        lane_stop_attempt(lane, STOP_NOT_STARTED);
        return;
    }
    lane_add_evidence_span(
        lane, "background_stopped_early",
        (struct reading){foreground_seconds(lane), lane->attempt.gate_open}, (struct reading){0},
        "the background failed %zu times in a row and was not started again, %.1f s after the "
        "foreground's start: %s",
        background->tally.failed_in_a_row, foreground_seconds(lane), error ? error : "unknown");
    lane_note(lane, "the rest of the foreground runs without its background");
}

static void record_background_deaths(struct lane *lane, const char *error)
{
    const struct lane_background *background = &lane->background;
    lane_add_evidence_span(
        lane, "background_died",
        (struct reading){background->first_death_s, lane->attempt.gate_open}, (struct reading){0},
        "the background failed %zu times beside the foreground, the last time %.1f s after the "
        "foreground's start: %s",
        background->tally.failed_beside, foreground_seconds(lane), error ? error : "unknown");
}

static void continue_after_loop(struct lane *lane, enum outcome outcome, const char *error)
{
    struct lane_background *background = &lane->background;
    double delay_s = lane->runner->plan->parallel.restart_delay_s * lane->runner->time_scale;
    enum background_next next =
        lane_background_count_loop(&background->tally, outcome, !is_before_foreground(lane));
    if (background->tally.failed_beside == 1 && outcome == OUTCOME_FAILED)
        background->first_death_s = foreground_seconds(lane);
    if (background->halted)
        return;
    if (next == BACKGROUND_GIVE_UP) {
        give_up_background(lane, error);
        return;
    }
    if (outcome == OUTCOME_FAILED)
        lane_note(lane, "loop %zu of the background failed: %s; again in %g s",
                  background->tally.started, error ? error : "unknown", delay_s);
    if (next == BACKGROUND_REPORT)
        record_background_deaths(lane, error);
    background->phase = BACKGROUND_PAUSING;
    set_background_timer(lane, (uint64_t)(delay_s * 1e6), start_loop);
}

static void prove_loop(struct lane *lane)
{
    struct lane_background *background = &lane->background;
    struct attempt *loop = &background->loop;
    bool gone = attempt_prove(loop);
    if (!gone && clock_monotonic_ns() - background->proof_start_ns <= PROOF_MAX_NS) {
        set_background_timer(lane, background->poll_us, prove_loop);
        background->poll_us = background->poll_us * 2 > PROOF_POLL_MAX_US ? PROOF_POLL_MAX_US
                                                                          : background->poll_us * 2;
        return;
    }
    if (!gone && !loop->unproven) {
        lane_job_break_unkillable(lane, loop);
        return;
    }
    AUTO_FREE char *error = NULL;
    attempt_update_usage(loop);
    enum outcome outcome = close_loop(lane, &error);
    if (gone)
        attempt_forget_job(lane->runner->request, loop->job);
    else if (!background->unproven_reported) {
        background->unproven_reported = true;
        lane_add_evidence(lane, "not_proven",
                          "no process of the background is seen, but its cgroup cannot be removed");
    }
    attempt_fini(loop);
    continue_after_loop(lane, outcome, error);
}

static void end_loop(struct lane *lane, enum stop_reason reason)
{
    struct lane_background *background = &lane->background;
    struct attempt *loop = &background->loop;
    background->phase = BACKGROUND_ENDING;
    step_cancel(&background->job_source);
    loop->reason = reason;
    attempt_kill(loop);
    background->proof_start_ns = clock_monotonic_ns();
    background->poll_us = PROOF_POLL_US;
    prove_loop(lane);
}

static void read_background_log(struct lane *lane)
{
    lane_job_read_log(lane, &lane->background.loop, &lane->background.log_source);
}

static void handle_background_exit(struct lane *lane)
{
    struct attempt *loop = &lane->background.loop;
    attempt_read_exit(loop);
    if (!loop->exit.ended)
        return;
    step_cancel(&lane->background.job_source);
    if (lane->background.phase != BACKGROUND_RUNNING || lane->background.halted)
        return;
    if (loop->exit.init_killed && (lane->phase == PHASE_RUNNING || lane->phase == PHASE_LOADING)) {
        stop_for_machine(
            lane,
            mem_printf(
                "the init of the background's loop %lld (pid %d) was killed, and the loop with it",
                (long long)loop->loop, (int)job_identity(loop->job)->pid));
        return;
    }
    loop->leftover_count = job_members(loop->job, loop->leftovers, ATTEMPT_MEMBERS_MAX);
    end_loop(lane, STOP_EXITED);
}

static bool open_loop_gate(struct lane *lane, struct err *err)
{
    struct lane_background *background = &lane->background;
    struct attempt *loop = &background->loop;
    if (!attempt_open_gate(loop, &lane->runner->plan->limits, NULL, NULL, lane, err))
        return false;
    int code = step_on_input(lane, &background->log_source, loop->pipe, read_background_log);
    if (code >= 0)
        code =
            step_on_input(lane, &background->job_source, job_fd(loop->job), handle_background_exit);
    return code >= 0 || err_set(err, "cannot watch the background (error %d)", -code);
}

static void open_loop(struct lane *lane)
{
    struct lane_background *background = &lane->background;
    struct err err = {0};
    if (background->halted || runner_is_halted(lane->runner))
        return; /* the stop ends it at its gate */
    runner_guardian_watch_job(lane, background->loop.job);
    if (!open_loop_gate(lane, &err)) {
        stop_for_machine(lane, mem_printf("cannot start the background: %s", err.text));
        return;
    }
    background->phase = BACKGROUND_RUNNING;
    runner_tick_soon(lane->runner);
    if (lane->energy_meters)
        background->energy_meters_number =
            energy_meters_beside(lane->energy_meters, job_identity(background->loop.job));
    lane_load_begin(lane);
}

static void start_loop(struct lane *lane)
{
    struct lane_background *background = &lane->background;
    struct runner *runner = lane->runner;
    struct attempt *loop = &background->loop;
    struct err err = {0};
    attempt_init_loop(loop, lane->experiment, lane->attempt.number,
                      (int64_t)++background->tally.started);
    loop->environment = lane->attempt.environment;
    loop->cpus = lane->attempt.cpus;
    if (!attempt_open_loop(loop, lane->attempt.folder, &err)) {
        lane_job_lose_log(lane, loop, &err);
        return;
    }
    if (!attempt_start_job(loop, runner->request, &runner->plan->limits, runner->run_dir, &err)) {
        attempt_fini(loop);
        stop_for_machine(lane, mem_printf("cannot start the background: %s", err.text));
        return;
    }
    background->phase = BACKGROUND_BORN;
    if (background->first_start_time == 0)
        background->first_start_time = job_identity(loop->job)->start_time;
    lane_record(lane, EVENT_JOB_BORN, attempt_born_json(loop), open_loop);
}

void phase_loading(struct lane *lane)
{
    if (!lane->experiment->parallel) {
        lane_enter_next(lane);
        return;
    }
    lane_load_prepare(lane);
    start_loop(lane);
}

static void check_background_limit(struct lane *lane)
{
    struct lane_background *background = &lane->background;
    double limit_s = lane->runner->plan->limits.job.cpu_time_s;
    if (background->phase == BACKGROUND_RUNNING && !background->halted &&
        attempt_is_over_cpu_limit(&background->loop, limit_s))
        end_loop(lane, STOP_LIMIT);
}

static void stop_background(struct lane *lane)
{
    struct lane_background *background = &lane->background;
    background->halted = true;
    step_cancel(&background->timer);
    if (background->loop.job && background->loop.reason == STOP_NONE)
        background->loop.reason = STOP_INTERRUPTED;
}

void lane_background_close(struct lane *lane, double seconds)
{
    struct attempt *loop = &lane->background.loop;
    if (!lane_background_was_born(lane))
        return;
    if (loop->job) {
        AUTO_FREE char *error = NULL;
        attempt_read_exit(loop);
        attempt_update_usage(loop);
        close_loop(lane, &error);
    } else {
        attempt_init_loop(loop, lane->experiment, lane->attempt.number,
                          (int64_t)lane->background.tally.started);
    }
    json_t *data = attempt_proven_json(loop, seconds);
    if (!loop->job)
        json_object_del(data, "leftovers"); /* reported when the loop ended */
    lane_record(lane, EVENT_JOB_PROVEN, data, NULL);
}

const struct observer background_observer = {
    .init = init_background,
    .fini = clear_background,
    .tick = check_background_limit,
    .stop = stop_background,
    .recorded = clear_background,
};
