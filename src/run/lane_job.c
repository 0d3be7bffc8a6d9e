/* The middle of a lane's way: its job is born, and runs. */
#include "run/lane.h"

#include "base/clock.h"
#include "base/mem.h"
#include "machine/contain/cgroup.h"
#include "run/log/bar.h"
#include "run/phases.h"

#include <string.h>
#include <sys/epoll.h>
#include <time.h>

enum { TIMEOUT_ACCURACY_US = 1000 };

/* A command that was stopped for less did not feel it. */
static const int64_t JOB_STOPPED_NS = 100 * NS_PER_MS;

static void watch_log_end(struct lane *lane)
{
    lane->log_source = sd_event_source_disable_unref(lane->log_source);
}

void lane_job_sources_fini(struct lane *lane)
{
    watch_log_end(lane);
    lane->job_source = sd_event_source_disable_unref(lane->job_source);
    lane->timeout_source = sd_event_source_disable_unref(lane->timeout_source);
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

static void log_failed(struct lane *lane, const struct err *cause)
{
    struct attempt *attempt = &lane->attempt;
    if (attempt->log_failed)
        return; /* matching goes on, for the patterns' sake */
    attempt->log_failed = true;
    attempt->log_err = *cause;
    struct err err = *cause;
    err_wrap(&err, "%s: training.log cannot be kept", lane->experiment->id);
    /* First the reason of this attempt, then the end of the run: the halt finds the lane stopping already. */
    if (lane->phase == PHASE_RUNNING)
        lane_stop(lane, STOP_LOG_ERROR);
    runner_break_disk(lane->runner, &err);
}

static int on_log(sd_event_source *source, int fd, uint32_t events, void *context)
{
    (void)source;
    (void)events;
    struct lane *lane = context;
    struct err err = {0};
    int got = joblog_read(lane->attempt.log, fd, attempt_log_now_ns(&lane->attempt), &err);
    if (got == -1)
        watch_log_end(lane);
    else if (got == -2)
        log_failed(lane, &err);
    return 0;
}

/* The command has ended; what it started may live on. */
static void command_ended(struct lane *lane)
{
    struct attempt *attempt = &lane->attempt;
    lane->job_source = sd_event_source_disable_unref(lane->job_source);
    if (lane->phase != PHASE_RUNNING)
        return;
    attempt->leftover_count = job_members(attempt->job, attempt->leftovers, ATTEMPT_MEMBERS_MAX);
    if (attempt->exit.stopped_ns >= JOB_STOPPED_NS)
        lane_tell_stopped(lane, "its main process", attempt->exit.stopped_ns);
    if (attempt->exit.init_stopped)
        lane_evidence(lane, "runner_stopped", "the job's init was stopped for a while: its times may be wrong by that");
    lane_stop(lane, STOP_EXITED);
}

static int on_job(sd_event_source *source, int fd, uint32_t events, void *context)
{
    (void)source;
    (void)fd;
    (void)events;
    struct lane *lane = context;
    attempt_take_exit(&lane->attempt);
    if (lane->attempt.exit.ended)
        command_ended(lane);
    return 0;
}

static int on_timeout(sd_event_source *source, uint64_t us, void *context)
{
    (void)source;
    (void)us;
    struct lane *lane = context;
    struct attempt *attempt = &lane->attempt;
    lane->timeout_source = sd_event_source_disable_unref(lane->timeout_source);
    if (lane->phase != PHASE_RUNNING)
        return 0;
    /* It may have ended in time, and this process have been stopped. */
    attempt_take_exit(attempt);
    bool in_time = attempt->exit.ended &&
                   (double)(attempt->end_ns - attempt->start_ns) < lane->experiment->timeout_s * (double)NS_PER_S;
    if (in_time)
        command_ended(lane);
    else
        lane_stop(lane, STOP_TIMEOUT);
    return 0;
}

static void check_limits(struct lane *lane)
{
    double limit_s = lane->runner->plan->limits.job.cpu_time_s;
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
    struct attempt *attempt = &lane->attempt;
    sd_event *loop = lane->runner->loop;
    double timeout_s = lane->experiment->timeout_s;
    int code = sd_event_add_io(loop, &lane->log_source, attempt->pipe, EPOLLIN, on_log, lane);
    if (code >= 0)
        code = sd_event_add_io(loop, &lane->job_source, job_fd(attempt->job), EPOLLIN, on_job, lane);
    if (code >= 0)
        code = lane_marks_watch(lane);
    if (code >= 0 && timeout_s > 0)
        code = sd_event_add_time_relative(loop, &lane->timeout_source, CLOCK_MONOTONIC, (uint64_t)(timeout_s * 1e6),
                                          TIMEOUT_ACCURACY_US, on_timeout, lane);
    return code >= 0 || err_set(err, "cannot watch the job (error %d)", -code);
}

/* A limit that nothing holds must not be believed in. */
static void say_limits(struct lane *lane)
{
    struct runner *runner = lane->runner;
    const char *leaf = job_identity(lane->attempt.job)->cgroup;
    for (size_t i = 0; i < CGROUP_LIMIT_COUNT; i++) {
        const struct cgroup_limit *limit = &cgroup_limits[i];
        uint64_t asked = runner->plan->limits.job.of_cgroup[i];
        if (asked == 0 || runner->limit_said[i] || (leaf && cgroup_limit_holds(leaf, i)))
            continue;
        runner->limit_said[i] = true;
        lane_say(lane,
                 "the %s of %.*g%s cannot be held here: jobs have no cgroup with a %s controller; they run "
                 "without it",
                 limit->name, limit->unit > 1 ? 6 : 15, (double)asked / (double)limit->unit, limit->unit_name,
                 limit->controller);
    }
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
    say_limits(lane);
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
    lane_record(lane, EVENT_ATTEMPT_STARTED, attempt_started_json(&lane->attempt), NULL);
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
