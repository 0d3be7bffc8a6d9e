#include "run/lane_job.h"
#include "machine/contain/job.h"
#include "machine/contain/prove.h"
#include "run/attempt_json.h"
#include "run/observers/marks.h"
#include "run/observers/stopped.h"
#include "run/runner_guardian.h"

#include "base/mem.h"
#include "machine/contain/cgroup.h"
#include "run/aftermath.h"
#include "run/observers/guard.h"
#include "tare_build.h"

#include <signal.h>
#include <string.h>

/* A shorter stop has no effect on the command. */
static const int64_t JOB_STOPPED_NS = 100 * NS_PER_MS;

void lane_job_sources_fini(struct lane *lane)
{
    step_cancel(&lane->log_source);
    step_cancel(&lane->job_source);
    step_cancel(&lane->timeout);
}

static void on_metric(void *context, const char *name, double number)
{
    lane_report(context, EVENT_METRIC,
                json_pack("{s:s, s:o}", "name", name, "value", json_from_reading(number)));
}

void lane_job_lose_log(struct lane *lane, const struct attempt *attempt, const struct err *cause)
{
    struct err err = *cause;
    AUTO_FREE char *name = attempt_log_name(attempt);
    err_wrap(&err, "%s: %s cannot be kept", lane->experiment->id, name);
    /* Set the attempt's reason first: the halt then finds the lane stopping. */
    if (lane->phase == PHASE_RUNNING || lane->phase == PHASE_LOADING) {
        attempt_set_detail(&lane->attempt, mem_strdup(err.text));
        lane_stop_attempt(lane, STOP_LOG_ERROR);
    }
    runner_break_disk(lane->runner, &err);
}

void lane_job_read_log(struct lane *lane, struct attempt *attempt, struct step_source *source)
{
    struct err err = {0};
    int got = joblog_read(attempt->log, attempt->pipe, attempt_log_now_ns(attempt), &err);
    if (got == -1)
        step_cancel(source);
    if (got != -2 || attempt->log_failed)
        return;
    attempt->log_failed = true;
    attempt->log_err = err;
    lane_job_lose_log(lane, attempt, &err);
}

static void read_job_log(struct lane *lane)
{
    lane_job_read_log(lane, &lane->attempt, &lane->log_source);
}

static void handle_command_end(struct lane *lane)
{
    struct attempt *attempt = &lane->attempt;
    step_cancel(&lane->job_source);
    if (lane->phase != PHASE_RUNNING)
        return;
    attempt->leftover_count = job_members(attempt->job, attempt->leftovers, ATTEMPT_MEMBERS_MAX);
    if (attempt->exit.stopped_ns >= JOB_STOPPED_NS)
        lane_stopped_record(lane, "its main process", attempt->exit.stopped_ns);
    if (attempt->exit.init_stopped)
        lane_add_evidence(lane, "runner_stopped",
                          "the job's init was stopped for a while: its times may be wrong by that");
    lane_stop_attempt(lane, STOP_EXITED);
}

static void handle_job_exit(struct lane *lane)
{
    attempt_read_exit(&lane->attempt);
    if (lane->attempt.exit.ended)
        handle_command_end(lane);
}

static void time_out(struct lane *lane)
{
    struct attempt *attempt = &lane->attempt;
    if (lane->phase != PHASE_RUNNING)
        return;
    /* It may have ended in time while this process was stopped. */
    attempt_read_exit(attempt);
    bool in_time = attempt->exit.ended && (double)(attempt->end_ns - attempt->start_ns) <
                                              lane->experiment->timeout_s * (double)NS_PER_S;
    if (in_time)
        handle_command_end(lane);
    else
        lane_stop_attempt(lane, STOP_TIMEOUT);
}

/* The machine failed, except where the settings want private resources that it cannot provide. */
static void handle_start_failure(struct lane *lane, const struct err *err)
{
    const struct limits *limits = &lane->runner->plan->limits;
    bool wished =
        (limits->own.shm || limits->own.ipc || limits->own.tmp) && !err_is_shortage(err->code);
    attempt_set_detail(&lane->attempt, mem_printf("cannot start: %s", err->text));
    lane_stop_attempt(lane, wished ? STOP_NOT_STARTED : STOP_MACHINE);
}

static bool watch_job(struct lane *lane, struct err *err)
{
    double timeout_s = lane->experiment->timeout_s;
    int code = step_on_input(lane, &lane->log_source, lane->attempt.pipe, read_job_log);
    if (code >= 0)
        code = step_on_input(lane, &lane->job_source, job_fd(lane->attempt.job), handle_job_exit);
    if (code >= 0)
        code = lane_marks_watch(lane);
    if (code >= 0 && timeout_s > 0)
        code = step_on_time(lane, &lane->timeout, (uint64_t)(timeout_s * 1e6), time_out);
    return code >= 0 || err_set(err, "cannot watch the job (error %d)", -code);
}

static void report_memory_limit(struct lane *lane)
{
    struct runner *runner = lane->runner;
    const char *leaf = job_identity(lane->attempt.job)->cgroup;
    uint64_t asked = runner->plan->limits.job.memory_bytes;
    if (asked == 0 || runner->memory_limit_reported || (leaf && cgroup_has_memory_limit(leaf)))
        return;
    runner->memory_limit_reported = true;
    lane_note(lane,
              "the memory limit of %.6g MiB cannot be held here: jobs have no cgroup with a memory "
              "controller; they run without it",
              (double)asked / (double)(1 << 20));
}

/* CPU affinity is not enforced either. */
static void note_refused_cpus(struct lane *lane)
{
    struct runner *runner = lane->runner;
    int code;
    if (job_cpus(lane->attempt.job, &code) != JOB_CPUS_REFUSED || runner->cpus_reported)
        return;
    runner->cpus_reported = true;
    lane_note(lane, "the job cannot be kept on its slot's processors (%s); it runs on all",
              strerror(code));
}

/* Without a pid namespace the session reports it. */
static void note_hidden_records(struct lane *lane)
{
    struct runner *runner = lane->runner;
    const struct job *job = lane->attempt.job;
    if (job_records_errno(job) == 0 || !job_layers(job)->pidns || runner->records_reported)
        return;
    runner->records_reported = true;
    lane_note(lane,
              "the run's folder cannot be made read-only for its jobs (%s): one experiment may "
              "write to the results of another",
              strerror(job_records_errno(job)));
}

/* The journal names the job, so a resume can find it. */
void phase_gate(struct lane *lane)
{
    struct err err = {0};
    if (lane_is_over(lane)) {
        lane_stop_attempt(lane, lane_stop_reason(lane));
        return;
    }
    runner_guardian_watch_job(lane, lane->attempt.job);
    report_memory_limit(lane);
    note_refused_cpus(lane);
    note_hidden_records(lane);
    OBSERVE(lane, ready);
    if (!attempt_open_gate(&lane->attempt, &lane->runner->plan->limits, on_metric, lane_marks_add,
                           lane, &err) ||
        !watch_job(lane, &err)) {
        handle_start_failure(lane, &err);
        return;
    }
    lane_enter_next(lane);
}

void phase_running(struct lane *lane)
{
    runner_tick_soon(lane->runner);
    OBSERVE(lane, begin);
    lane_record(lane, EVENT_ATTEMPT_STARTED,
                json_pack("{s:I}", "start_ns", (json_int_t)lane->attempt.start_ns), NULL);
    OBSERVE(lane, started);
}

void phase_job_event(struct lane *lane, enum lane_event event)
{
    if (event == LANE_LOST)
        lane_set_lost_detail(lane);
    lane_stop_attempt(lane, event == LANE_LOST ? STOP_GPU_LOST : lane_stop_reason(lane));
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
        handle_start_failure(lane, &err);
        return;
    }
    if (!opened) {
        runner_break_disk(runner, &err);
        lane->attempt.reason = STOP_INTERRUPTED;
        lane_enter(lane, PHASE_JUDGING);
        return;
    }
    lane_enter_next(lane);
}

void phase_birth(struct lane *lane)
{
    struct runner *runner = lane->runner;
    struct err err = {0};
    OBSERVE(lane, prepare);
    if (!attempt_start_job(&lane->attempt, runner->request, &runner->plan->limits, runner->run_dir,
                           &err)) {
        handle_start_failure(lane, &err);
        return;
    }
    lane_record(lane, EVENT_JOB_BORN, attempt_born_json(&lane->attempt), lane_enter_next);
}

#define PROOF_MAX_NS (JOB_PROOF_MAX_S * NS_PER_S)

enum {
    PROOF_POLL_US = 500,
    PROOF_POLL_MAX_US = 50000,
    GRACE_POLL_US = 5000,
    GRACE_POLL_MAX_US = 100000,
};

static void release_guardian(struct lane *lane, const struct attempt *attempt)
{
    if (attempt->job && attempt->survivor_count == 0 && !attempt->unproven)
        attempt_forget_job(lane->runner->request, attempt->job);
}

void lane_job_break_unkillable(struct lane *lane, const struct attempt *attempt)
{
    struct err err;
    AUTO_FREE char *names = attempt_members_text(attempt->survivors, attempt->survivor_count);
    err_set(&err,
            "%s: still alive after SIGKILL: %s; '" TARE_NAME
            " clean' shows what is left, go on with --resume %s when it is gone",
            lane->experiment->id, names, lane->runner->typed_dir);
    runner_break(lane->runner, &err);
}

static void record_members(struct lane *lane, const struct attempt *attempt)
{
    if (attempt->leftover_count > 0 && attempt->loop == 0) {
        AUTO_FREE char *names = attempt_members_text(attempt->leftovers, attempt->leftover_count);
        lane_add_evidence(lane, "leftover_processes",
                          "the command ended and left %zu process%s, ended by " TARE_NAME ": %s",
                          attempt->leftover_count, attempt->leftover_count == 1 ? "" : "es", names);
    }
    if (attempt->survivor_count > 0) {
        AUTO_FREE char *names = attempt_members_text(attempt->survivors, attempt->survivor_count);
        lane_add_evidence(lane, "unkillable", "still alive %d s after SIGKILL: %s", JOB_PROOF_MAX_S,
                          names);
        lane_job_break_unkillable(lane, attempt);
    }
    if (attempt->unproven)
        lane_add_evidence(lane, "not_proven",
                          "no process of the job is seen, but its cgroup cannot be removed");
}

static bool is_of_another_lane(void *context, pid_t pid)
{
    const struct lane *lane = context;
    EACH (other, lane->runner->lanes, lane->runner->lane_count) {
        if (other != lane &&
            ((other->attempt.job && job_has_member(other->attempt.job, pid)) ||
             (other->background.loop.job && job_has_member(other->background.loop.job, pid))))
            return true;
    }
    return false;
}

/* Processes of another lane, or one that only reads sensors. */
static bool is_explained(void *context, pid_t pid)
{
    return is_of_another_lane(context, pid) || lane_guard_is_monitor(context, pid);
}

/* Not of the job, as far as is known: reported, never ended. */
static void record_aftermath(struct lane *lane)
{
    const struct run_request *request = lane->runner->request;
    const struct attempt *attempt = &lane->attempt;
    if (attempt->log_held)
        lane_add_evidence(lane, "log_pipe_held", "%s", attempt->log_held);
    AUTO_FREE char *changes = attempt_log_changes(attempt);
    if (changes)
        lane_add_evidence(lane, "log_changed", "%s", changes);
    if (attempt->survivor_count > 0 || lane->background.loop.survivor_count > 0 ||
        !attempt->gate_open)
        return;
    struct job_identity job = *job_identity(attempt->job);
    if (lane_background_was_born(lane))
        job.start_time = lane->background.first_start_time;
    AUTO_FREE char *holders = aftermath_gpu_holders(
        request->roots, &job, request->change_user ? request->uid : geteuid(), is_explained, lane);
    if (holders)
        lane_add_evidence(lane, "gpu_held", "%s", holders);
    int64_t now_ns = clock_realtime_ns();
    AUTO_FREE char *left =
        aftermath_memory_left(request->change_user ? request->uid : geteuid(),
                              now_ns - (clock_monotonic_ns() - attempt->start_ns), now_ns);
    if (left)
        lane_add_evidence(lane, "left_outside", "%s", left);
}

/* Reports what the log does not explain. */
static void note_log_problems(struct lane *lane)
{
    const struct attempt *attempt = &lane->attempt;
    if (!attempt->log || attempt->reason != STOP_EXITED)
        return;
    for (size_t i = 0; i < joblog_result_count(attempt->log); i++) {
        const struct joblog_result *result = joblog_result(attempt->log, i);
        bool is_mark = result->role == JOBLOG_MARK_START || result->role == JOBLOG_MARK_END;
        if (is_mark && result->matches == 0)
            lane_note(lane, "mark '%s' was on no line of the log", result->name);
        if (result->role != JOBLOG_METRIC || result->has_number)
            continue;
        if (result->is_ambiguous) {
            lane_note(
                lane,
                "metric '%s' is unknown: '%s' at log line %llu is one of several numbers that "
                "could be meant; write a pattern for it into log_patterns of the registry",
                result->name, result->text, (unsigned long long)result->line);
            continue;
        }
        if (result->matches > 0) {
            lane_note(lane, "metric '%s' matched '%s', which is no number", result->name,
                      result->text);
            continue;
        }
        /* Listeners that show metrics use the key "metric". */
        AUTO_FREE char *text = mem_printf("%s: metric '%s' was on no line of the log",
                                          lane->experiment->id, result->name);
        lane_report(lane, EVENT_NOTE,
                    json_pack("{s:s, s:s}", "text", text, "metric", result->name));
    }
    lane_marks_warn(lane);
    const struct joblog_totals totals = joblog_totals(attempt->log);
    if (totals.is_utf16)
        lane_note(lane, "the log is UTF-16, in which no pattern matches: let the training print "
                        "UTF-8 (PYTHONIOENCODING=utf-8)");
    if (totals.cut_lines)
        lane_note(lane,
                  "%llu lines of the log are longer than %d KiB: only their beginning was searched "
                  "for metrics",
                  (unsigned long long)totals.cut_lines, JOBLOG_LINE_MAX >> 10);
    if (totals.capped)
        lane_note(lane, "the log reached its cap; what came behind was matched but not kept");
}

static void finish_proof(struct lane *lane, double seconds)
{
    struct attempt *attempt = &lane->attempt;
    attempt_read_exit(attempt);
    if (attempt->end_ns == 0)
        attempt->end_ns = clock_monotonic_ns();
    attempt_update_usage(attempt);
    release_guardian(lane, attempt);
    release_guardian(lane, &lane->background.loop);
    lane_job_sources_fini(lane);
    if (!attempt_close_log(attempt))
        lane_job_lose_log(lane, attempt, &attempt->log_err);
    if (!lane->runner->request->is_task) /* it shows which start had the last attempt */
        attempt_remove_empty_output(attempt);
    lane_marks_close(lane);
    note_log_problems(lane);
    if (attempt->job) {
        lane_record(lane, EVENT_JOB_EXITED, attempt_exited_json(attempt), NULL);
        lane_record(lane, EVENT_JOB_PROVEN, attempt_proven_json(attempt, seconds), NULL);
    }
    lane_background_close(lane, seconds);
    record_members(lane, attempt);
    record_members(lane, &lane->background.loop);
    record_aftermath(lane);
    if (attempt->gate_open && lane->runner->unguarded_ns)
        runner_guardian_record_absence(lane, lane->runner->unguarded_ns);
    lane_enter_next(lane);
}

/* One proof covers both jobs of a parallel experiment. */
static void check_proof(struct lane *lane)
{
    bool foreground = attempt_prove(&lane->attempt),
         background = attempt_prove(&lane->background.loop);
    int64_t took_ns = clock_monotonic_ns() - lane->proof_start_ns;
    if ((foreground && background) || took_ns > PROOF_MAX_NS) {
        finish_proof(lane, ns_to_s(took_ns));
        return;
    }
    lane_enter_after(lane, lane->poll_us, check_proof);
    lane->poll_us = lane->poll_us * 2 > PROOF_POLL_MAX_US ? PROOF_POLL_MAX_US : lane->poll_us * 2;
}

void phase_proving(struct lane *lane)
{
    step_cancel(&lane->timer);
    attempt_kill(&lane->attempt);
    attempt_kill(&lane->background.loop);
    lane->proof_start_ns = clock_monotonic_ns();
    lane->poll_us = PROOF_POLL_US;
    check_proof(lane);
}

static void check_grace(struct lane *lane)
{
    bool over = lane->runner->kill_now || clock_monotonic_ns() >= lane->grace_end_ns;
    bool foreground = attempt_is_quiet(&lane->attempt),
         background = attempt_is_quiet(&lane->background.loop);
    if (over || (foreground && background)) {
        lane_enter(lane, PHASE_PROVING);
        return;
    }
    lane_enter_after(lane, lane->poll_us, check_grace);
    lane->poll_us = lane->poll_us * 2 > GRACE_POLL_MAX_US ? GRACE_POLL_MAX_US : lane->poll_us * 2;
}

static void end_job(struct lane *lane)
{
    struct attempt *attempt = &lane->attempt;
    if (lane->phase != PHASE_STOPPING)
        return; /* killed by a second signal */
    struct attempt *background = &lane->background.loop;
    bool none_left = attempt->reason == STOP_EXITED && attempt->leftover_count == 0;
    bool foreground = attempt->gate_open && !none_left;
    bool beside = background->job && background->gate_open;
    if ((!foreground && !beside) || lane->runner->kill_now) {
        lane_enter(lane, PHASE_PROVING);
        return;
    }
    if (foreground)
        job_signal(attempt->job, SIGTERM);
    if (beside)
        job_signal(background->job, SIGTERM);
    lane->grace_end_ns = clock_monotonic_ns() +
                         (int64_t)(lane->runner->plan->timing.stop_grace_s * (double)NS_PER_S);
    lane->poll_us = GRACE_POLL_US;
    check_grace(lane);
}

void phase_stopping(struct lane *lane)
{
    OBSERVE(lane, stop);
    if (!lane->attempt.job && !lane_background_was_born(lane)) {
        lane_enter(lane, PHASE_JUDGING);
        return;
    }
    step_cancel(&lane->timeout);
    lane_report_command_end(lane);
    lane_record(lane, EVENT_ATTEMPT_STOPPING,
                json_pack("{s:s}", "reason", stop_reason_name(lane->attempt.reason)), end_job);
}

void phase_stopping_event(struct lane *lane, enum lane_event event)
{
    if (event == LANE_HALTED && lane->runner->kill_now)
        lane_enter(lane, PHASE_PROVING);
}
