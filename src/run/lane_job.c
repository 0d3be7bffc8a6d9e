/* The middle of a lane's way: its job is born, and runs. */
#include "run/lane.h"

#include "base/mem.h"
#include "run/log/bar.h"

#include <string.h>

/* A command that was stopped for less did not feel it. */
static const int64_t JOB_STOPPED_NS = 100 * NS_PER_MS;

void lane_job_sources_fini(struct lane *lane)
{
    step_cancel(&lane->log_source);
    step_cancel(&lane->job_source);
    step_cancel(&lane->timeout);
}

static void on_metric(void *context, const char *name, double number)
{
    lane_tell(context, EVENT_METRIC, json_pack("{s:s, s:o}", "name", name, "value", json_from_reading(number)));
}

static void tell_bars(struct lane *lane)
{
    uint64_t *told = lane_state(lane, &output_observer);
    const struct bars *bars = lane->attempt.log ? joblog_bars(lane->attempt.log) : NULL;
    if (lane->phase != PHASE_RUNNING || !bars || bars->changes == *told)
        return;
    *told = bars->changes;
    json_t *list = json_array();
    for (size_t i = 0; i < bars->count; i++) {
        struct reading total = bars->items[i].total;
        json_t *bar = json_pack("{s:o*, s:o*, s:o, s:o, s:I, s:b}", "name", json_string(bars->items[i].name),
                                "first", json_string(bars->first[i]), "done", json_finite(bars->items[i].done),
                                "total", total.valid ? json_finite(total.value) : json_null(),
                                "restarts", (json_int_t)bars->restarts[i], "latest", i == bars->latest);
        json_array_append_new(list, bar);
    }
    lane_tell(lane, EVENT_METRIC, json_pack("{s:s, s:o}", "sensor", "bars", "bars", list));
}

static void begin_output(struct lane *lane)
{
    *(uint64_t *)lane_state(lane, &output_observer) = 0;
}

void lane_log_lost(struct lane *lane, const struct attempt *attempt, const struct err *cause)
{
    struct err err = *cause;
    AUTO_FREE char *name = attempt_log_name(attempt);
    err_wrap(&err, "%s: %s cannot be kept", lane->experiment->id, name);
    /* First the reason of this attempt, then the end of the run: the halt finds the lane stopping already. */
    if (lane->phase == PHASE_RUNNING || lane->phase == PHASE_LOADING) {
        free(lane->attempt.detail);
        lane->attempt.detail = mem_strdup(err.text);
        lane_stop(lane, STOP_LOG_ERROR);
    }
    runner_break_disk(lane->runner, &err);
}

void lane_read_log(struct lane *lane, struct attempt *attempt, struct step_source *source)
{
    struct err err = {0};
    int got = joblog_read(attempt->log, attempt->pipe, attempt_log_now_ns(attempt), &err);
    if (got == -1)
        step_cancel(source);
    if (got != -2 || attempt->log_failed)
        return; /* matching goes on, for the patterns' sake */
    attempt->log_failed = true;
    attempt->log_err = err;
    lane_log_lost(lane, attempt, &err);
}

static void read_log(struct lane *lane)
{
    lane_read_log(lane, &lane->attempt, &lane->log_source);
}

/* The command has ended; what it started may live on. */
static void command_ended(struct lane *lane)
{
    struct attempt *attempt = &lane->attempt;
    step_cancel(&lane->job_source);
    if (lane->phase != PHASE_RUNNING)
        return;
    attempt->leftover_count = job_members(attempt->job, attempt->leftovers, ATTEMPT_MEMBERS_MAX);
    if (attempt->exit.stopped_ns >= JOB_STOPPED_NS)
        lane_tell_stopped(lane, "its main process", attempt->exit.stopped_ns);
    if (attempt->exit.init_stopped)
        lane_evidence(lane, "runner_stopped", "the job's init was stopped for a while: its times may be wrong by that");
    lane_stop(lane, STOP_EXITED);
}

static void hear_job(struct lane *lane)
{
    attempt_take_exit(&lane->attempt);
    if (lane->attempt.exit.ended)
        command_ended(lane);
}

static void time_out(struct lane *lane)
{
    struct attempt *attempt = &lane->attempt;
    if (lane->phase != PHASE_RUNNING)
        return;
    /* It may have ended in time, and this process have been stopped. */
    attempt_take_exit(attempt);
    bool in_time = attempt->exit.ended &&
                   (double)(attempt->end_ns - attempt->start_ns) < lane->experiment->timeout_s * (double)NS_PER_S;
    if (in_time)
        command_ended(lane);
    else
        lane_stop(lane, STOP_TIMEOUT);
}

static void check_limits(struct lane *lane)
{
    double limit_s = lane->runner->plan->limits.cpu_time_s;
    if (lane->phase == PHASE_RUNNING && attempt_is_over_cpu_limit(&lane->attempt, limit_s))
        lane_stop(lane, STOP_LIMIT);
}

/* Nothing of the command was executed yet: what was not to be had is the machine's, but for what the settings make private
 * where it cannot be. */
static void could_not_start(struct lane *lane, const struct err *err)
{
    const struct limits *limits = &lane->runner->plan->limits;
    bool wished = (limits->own.shm || limits->own.ipc || limits->own.tmp) && !err_is_shortage(err->code);
    free(lane->attempt.detail);
    lane->attempt.detail = mem_printf("cannot start: %s", err->text);
    lane_stop(lane, wished ? STOP_NOT_STARTED : STOP_MACHINE);
}

static bool watch_job(struct lane *lane, struct err *err)
{
    double timeout_s = lane->experiment->timeout_s;
    int code = lane_on_input(lane, &lane->log_source, lane->attempt.pipe, read_log);
    if (code >= 0)
        code = lane_on_input(lane, &lane->job_source, job_fd(lane->attempt.job), hear_job);
    if (code >= 0)
        code = lane_marks_watch(lane);
    if (code >= 0 && timeout_s > 0)
        code = lane_on_time(lane, &lane->timeout, (uint64_t)(timeout_s * 1e6), time_out);
    return code >= 0 || err_set(err, "cannot watch the job (error %d)", -code);
}

/* A limit that nothing holds must not be believed in. */
static void say_memory(struct lane *lane)
{
    struct runner *runner = lane->runner;
    double mib = (double)runner->plan->limits.memory_bytes / 1048576;
    if (runner->plan->limits.memory_bytes == 0 || runner->memory_said || attempt_memory_held(&lane->attempt))
        return;
    runner->memory_said = true;
    lane_say(lane,
             "the memory limit of %g MiB cannot be held here: jobs have no cgroup with a memory "
             "controller; they run without it",
             mib);
}

/* Nor a fence. */
static void say_cpus(struct lane *lane)
{
    struct runner *runner = lane->runner;
    int code;
    if (job_cpus(lane->attempt.job, &code) != JOB_CPUS_REFUSED || runner->cpus_said)
        return;
    runner->cpus_said = true;
    lane_say(lane, "the job cannot be kept on its slot's processors (%s); it runs on all", strerror(code));
}

/* Without a pid namespace the session has said it. */
static void say_records(struct lane *lane)
{
    struct runner *runner = lane->runner;
    const struct job *job = lane->attempt.job;
    if (job_records_errno(job) == 0 || !job_layers(job)->pidns || runner->records_said)
        return;
    runner->records_said = true;
    lane_say(lane,
             "the run's folder cannot be made read-only for its jobs (%s): one experiment may write to the "
             "results of another",
             strerror(job_records_errno(job)));
}

/* EVENT_JOB_BORN is durable: whoever comes after us can find the job. */
void phase_gate(struct lane *lane)
{
    struct err err = {0};
    if (lane_is_over(lane)) {
        lane_stop(lane, lane_stop_reason(lane));
        return;
    }
    lane_job_watch(lane, lane->attempt.job);
    say_memory(lane);
    say_cpus(lane);
    say_records(lane);
    OBSERVE(lane, ready);
    if (!attempt_open_gate(&lane->attempt, &lane->runner->plan->limits, on_metric, lane_marks_take, lane, &err) ||
        !watch_job(lane, &err)) {
        could_not_start(lane, &err);
        return;
    }
    lane_next(lane);
}

void phase_running(struct lane *lane)
{
    runner_tick_soon(lane->runner);
    OBSERVE(lane, begin);
    lane_record(lane, EVENT_ATTEMPT_STARTED, json_pack("{s:I}", "start_ns", (json_int_t)lane->attempt.start_ns), NULL);
    OBSERVE(lane, started);
}

void phase_job_event(struct lane *lane, enum lane_event event)
{
    if (event == LANE_LOST)
        lane_lost_detail(lane);
    lane_stop(lane, event == LANE_LOST ? STOP_GPU_LOST : lane_stop_reason(lane));
}

void phase_opening(struct lane *lane)
{
    struct runner *runner = lane->runner;
    struct err err = {0};
    if (lane_is_over(lane)) {
        lane->attempt.reason = lane_stop_reason(lane);
        lane_enter(lane, PHASE_JUDGING);
        return;
    }
    bool opened = attempt_open_files(&lane->attempt, &err);
    if (!opened && err_is_shortage(err.code)) {
        could_not_start(lane, &err);
        return;
    }
    if (!opened) {
        runner_break_disk(runner, &err);
        lane->attempt.reason = STOP_INTERRUPTED;
        lane_enter(lane, PHASE_JUDGING);
        return;
    }
    lane_next(lane);
}

void phase_birth(struct lane *lane)
{
    struct runner *runner = lane->runner;
    struct err err = {0};
    OBSERVE(lane, prepare);
    if (!attempt_start_job(&lane->attempt, runner->request, &runner->plan->limits, runner->run_dir, &err)) {
        could_not_start(lane, &err);
        return;
    }
    lane_record(lane, EVENT_JOB_BORN, attempt_born_json(&lane->attempt), lane_next);
}

const struct observer limits_observer = {.tick = check_limits};
const struct observer output_observer = {.size = sizeof(uint64_t), .begin = begin_output, .tick = tell_bars};
