#include "run/runner.h"

#include "base/mem.h"
#include "run/attempt.h"
#include "run/ladder.h"

#include <string.h>

#define RECOVER_TIMEOUT_S 10

static bool end_job(struct runner *runner, size_t number, const struct store_attempt *attempt, const char *role,
                    struct err *err)
{
    const struct store_job *job = strcmp(role, "background") == 0 ? &attempt->background : &attempt->job;
    struct job_identity identity = {
        .pid = (pid_t)job->pid, .start_time = job->start_time, .cgroup = job->cgroup, .tag = job->tag};
    size_t killed = 0;
    enum experiment_state after;
    snprintf(identity.boot_id, sizeof identity.boot_id, "%s", job->boot_id ? job->boot_id : "");
    if (!job_recover(&identity, RECOVER_TIMEOUT_S, &killed, err))
        return err_wrap(err, "%s: its job of an earlier session", runner->plan->experiments[number - 1].id);
    /* Where the way is at its end already, the processes were all that was left to settle. */
    if (!state_next(store_experiment(runner->request->store, number)->state, EVENT_JOB_PROVEN, &after))
        return true;
    json_t *data = json_pack("{s:s, s:[], s:[], s:I, s:n}", "role", role, "leftovers", "survivors",
                             "recovered", (json_int_t)killed, "seconds");
    runner_record(runner, EVENT_JOB_PROVEN, (int64_t)number, attempt->number, data);
    return true;
}

static void close_attempt(struct runner *runner, size_t number, const struct store_attempt *attempt)
{
    json_t *data = json_pack("{s:s, s:n, s:n, s:n, s:n, s:s, s:s, s:{}, s:n, s:n}",
                             "outcome", outcome_name(OUTCOME_INTERRUPTED), "duration_s", "end_ns", "exit_code",
                             "signal", "reason", "interrupted", "error", "the session died", "metrics", "log",
                             "failure");
    runner_record(runner, EVENT_ATTEMPT_ENDED, (int64_t)number, attempt->number, data);
}

/* The last attempt decided the experiment, but the session died before it wrote that down. */
static void close_experiment(struct runner *runner, size_t number, enum outcome outcome)
{
    const struct store_history *before = &store_experiment(runner->request->store, number)->history;
    int64_t retries = outcome == OUTCOME_FAILED ? before->failed - 1 : before->failed;
    runner_record(runner, EVENT_EXPERIMENT_ENDED, (int64_t)number, 0,
                  experiment_ended_json(outcome, retries > 0 ? retries : 0, before->last_ended));
    runner_write_results(runner, number, NULL, NULL);
}

static bool settle(struct runner *runner, size_t number, struct err *err)
{
    const struct store_experiment *experiment = store_experiment(runner->request->store, number);
    const struct store_attempt *last = &experiment->last;
    const struct plan_experiment *planned = &runner->plan->experiments[number - 1];
    if (last->number == 0)
        return true;
    if (last->job.born && !last->job.proven && !end_job(runner, number, last, "foreground", err))
        return false;
    if (last->background.born && !last->background.proven && !end_job(runner, number, last, "background", err))
        return false;
    if (experiment->state == STATE_DONE)
        return true;
    const struct store_history *history = &experiment->history;
    bool over = history->failed > planned->max_retries || ladder_gave_up(history->ladder);
    /* It was to be done again, and came to no attempt of its own: the last one is of the result that stands till then. */
    if (last->outcome != OUTCOME_NONE && !history->last_ended)
        return true;
    if (last->outcome == OUTCOME_NONE)
        close_attempt(runner, number, last);
    else if (last->outcome == OUTCOME_SUCCEEDED)
        close_experiment(runner, number, OUTCOME_SUCCEEDED);
    else if (last->outcome == OUTCOME_FAILED && over)
        close_experiment(runner, number, OUTCOME_FAILED);
    return true;
}

bool recover_run(struct runner *runner, struct err *err)
{
    for (size_t number = 1; number <= runner->plan->count; number++)
        if (!settle(runner, number, err))
            return false;
    if (store_flush(runner->request->store, err))
        return true;
    /* What was lost is known to the runner already, with the way to go on. */
    if (runner->broken)
        *err = runner->err;
    return false;
}
