/* The end of a lane's job: asked to end, killed, proven gone, written down. */
#include "run/lane.h"

#include "base/mem.h"
#include "run/aftermath.h"
#include "run/lane_guard.h"
#include "tare_build.h"

#include <signal.h>

#define PROOF_MAX_NS (JOB_PROOF_MAX_S * NS_PER_S)

enum {
    PROOF_POLL_US = 500,
    PROOF_POLL_MAX_US = 50000,
    GRACE_POLL_US = 5000,
    GRACE_POLL_MAX_US = 100000,
};

static void unguard(struct lane *lane, const struct attempt *attempt)
{
    if (attempt->job && attempt->survivor_count == 0 && !attempt->unproven)
        attempt_job_gone(lane->runner->request, attempt->job);
}

static void record_members(struct lane *lane, const struct attempt *attempt)
{
    if (attempt->leftover_count > 0 && attempt->loop == 0) {
        AUTO_FREE char *names = attempt_members_text(attempt->leftovers, attempt->leftover_count);
        lane_evidence(lane, "leftover_processes",
                      "the command ended and left %zu process%s, ended by " TARE_NAME ": %s", attempt->leftover_count,
                      attempt->leftover_count == 1 ? "" : "es", names);
    }
    if (attempt->survivor_count > 0) {
        AUTO_FREE char *names = attempt_members_text(attempt->survivors, attempt->survivor_count);
        lane_evidence(lane, "unkillable", "still alive %d s after SIGKILL: %s", JOB_PROOF_MAX_S, names);
        lane_break_unkillable(lane, attempt);
    }
    if (attempt->unproven)
        lane_evidence(lane, "not_proven", "no process of the job is seen, but its cgroup cannot be removed");
}

/* Of another lane's job, whose tag cannot be read. */
static bool is_of_another_lane(void *context, pid_t pid)
{
    const struct lane *lane = context;
    for (size_t i = 0; i < lane->runner->lane_count; i++) {
        const struct lane *other = &lane->runner->lanes[i];
        if (other != lane && ((other->attempt.job && job_has_member(other->attempt.job, pid)) ||
                              (other->background.loop.job && job_has_member(other->background.loop.job, pid))))
            return true;
    }
    return false;
}

/* Who has a GPU open and can be told from what the job left: another lane's, or one that only reads sensors (a monitor). */
static bool is_explained(void *context, pid_t pid)
{
    return is_of_another_lane(context, pid) || guard_only_open(context, pid);
}

/* What is none of the job's, as far as can be told: never ended, only named. */
static void record_aftermath(struct lane *lane)
{
    const struct run_request *request = lane->runner->request;
    const struct attempt *attempt = &lane->attempt;
    if (attempt->log_held)
        lane_evidence(lane, "log_pipe_held", "%s", attempt->log_held);
    if (attempt->survivor_count > 0 || lane->background.loop.survivor_count > 0 || !attempt->gate_open)
        return;
    struct job_identity job = *job_identity(attempt->job); /* a copy that borrows */
    if (lane_background_was_born(lane))
        job.start_time = lane->background.first_start_time;
    AUTO_FREE char *holders = aftermath_gpu_holders(
        request->roots, &job, request->change_user ? request->uid : geteuid(), is_explained, lane);
    if (holders)
        lane_evidence(lane, "gpu_held", "%s", holders);
    /* A clock that is set meanwhile only makes it see less, or more, of this user's. */
    int64_t now_ns = clock_realtime_ns();
    AUTO_FREE char *left = aftermath_left_outside(request->change_user ? request->uid : geteuid(),
                                                  now_ns - (clock_monotonic_ns() - attempt->start_ns), now_ns);
    if (left)
        lane_evidence(lane, "left_outside", "%s", left);
}

/* What a person would otherwise wonder about next morning. */
static void say_log(struct lane *lane)
{
    const struct attempt *attempt = &lane->attempt;
    if (!attempt->log || attempt->reason != STOP_EXITED)
        return;
    for (size_t i = 0; i < joblog_result_count(attempt->log); i++) {
        const struct joblog_result *result = joblog_result(attempt->log, i);
        bool is_mark = result->role == JOBLOG_MARK_START || result->role == JOBLOG_MARK_END;
        if (is_mark && result->matches == 0)
            lane_say(lane, "mark '%s' was on no line of the log", result->name);
        if (result->role != JOBLOG_METRIC || result->has_number)
            continue;
        if (result->matches > 0) {
            lane_say(lane, "metric '%s' matched '%s', which is no number", result->name, result->text);
            continue;
        }
        /* The key "metric" tells listeners that show the metrics themselves. */
        AUTO_FREE char *text = mem_printf("%s: metric '%s' was on no line of the log", lane->experiment->id, result->name);
        lane_tell(lane, EVENT_NOTE, json_pack("{s:s, s:s}", "text", text, "metric", result->name));
    }
    lane_marks_doubt(lane);
    if (joblog_totals(attempt->log).capped)
        lane_say(lane, "the log reached its cap; what came behind was matched but not kept");
}

static void proven(struct lane *lane, double seconds)
{
    struct attempt *attempt = &lane->attempt;
    attempt_take_exit(attempt);
    if (attempt->end_ns == 0)
        attempt->end_ns = clock_monotonic_ns();
    attempt_take_usage(attempt);
    unguard(lane, attempt);
    unguard(lane, &lane->background.loop);
    lane_job_sources_fini(lane);
    if (!attempt_close_log(attempt))
        lane_log_lost(lane, attempt, &attempt->log_err);
    lane_marks_end(lane);
    say_log(lane);
    if (attempt->job) {
        lane_record(lane, EVENT_JOB_EXITED, attempt_exited_json(attempt), NULL);
        lane_record(lane, EVENT_JOB_PROVEN, attempt_proven_json(attempt, seconds), NULL);
    }
    lane_background_proven(lane, seconds);
    record_members(lane, attempt);
    record_members(lane, &lane->background.loop);
    record_aftermath(lane);
    if (attempt->gate_open && lane->runner->unguarded_ns)
        lane_unguarded(lane, lane->runner->unguarded_ns);
    lane_next(lane);
}

/* Of both jobs of a parallel experiment it is one proof. */
static void prove(struct lane *lane)
{
    bool foreground = attempt_prove(&lane->attempt), background = attempt_prove(&lane->background.loop);
    int64_t took_ns = clock_monotonic_ns() - lane->proof_start_ns;
    if ((foreground && background) || took_ns > PROOF_MAX_NS) {
        proven(lane, ns_to_s(took_ns));
        return;
    }
    lane_after(lane, lane->poll_us, prove);
    lane->poll_us = lane->poll_us * 2 > PROOF_POLL_MAX_US ? PROOF_POLL_MAX_US : lane->poll_us * 2;
}

void phase_proving(struct lane *lane)
{
    step_cancel(&lane->timer);
    attempt_kill(&lane->attempt);
    attempt_kill(&lane->background.loop);
    lane->proof_start_ns = clock_monotonic_ns();
    lane->poll_us = PROOF_POLL_US;
    prove(lane);
}

/* While the grace lasts: is there still anyone to wait for? */
static void grace(struct lane *lane)
{
    bool over = lane->runner->kill_now || clock_monotonic_ns() >= lane->grace_end_ns;
    bool foreground = attempt_is_quiet(&lane->attempt), background = attempt_is_quiet(&lane->background.loop);
    if (over || (foreground && background)) {
        lane_enter(lane, PHASE_PROVING);
        return;
    }
    lane_after(lane, lane->poll_us, grace);
    lane->poll_us = lane->poll_us * 2 > GRACE_POLL_MAX_US ? GRACE_POLL_MAX_US : lane->poll_us * 2;
}

/* EVENT_ATTEMPT_STOPPING is durable. */
static void end_job(struct lane *lane)
{
    struct attempt *attempt = &lane->attempt;
    if (lane->phase != PHASE_STOPPING)
        return; /* killed meanwhile, by a second signal */
    struct attempt *background = &lane->background.loop;
    bool nobody = attempt->reason == STOP_EXITED && attempt->leftover_count == 0;
    bool foreground = attempt->gate_open && !nobody;
    bool beside = background->job && background->gate_open;
    if ((!foreground && !beside) || lane->runner->kill_now) {
        lane_enter(lane, PHASE_PROVING);
        return;
    }
    if (foreground)
        job_signal(attempt->job, SIGTERM);
    if (beside)
        job_signal(background->job, SIGTERM);
    lane->grace_end_ns = clock_monotonic_ns() + (int64_t)(lane->runner->plan->timing.stop_grace_s * (double)NS_PER_S);
    lane->poll_us = GRACE_POLL_US;
    grace(lane);
}

void phase_stopping(struct lane *lane)
{
    OBSERVE(lane, stop);
    if (!lane->attempt.job && !lane_background_was_born(lane)) {
        lane_enter(lane, PHASE_JUDGING); /* there is nothing to stop */
        return;
    }
    step_cancel(&lane->timeout);
    lane_edge(lane);
    lane_record(lane, EVENT_ATTEMPT_STOPPING, json_pack("{s:s}", "reason", stop_reason_name(lane->attempt.reason)), end_job);
}

void phase_stopping_event(struct lane *lane, enum lane_event event)
{
    if (event == LANE_HALTED && lane->runner->kill_now)
        lane_enter(lane, PHASE_PROVING);
}
