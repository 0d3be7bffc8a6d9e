#include "run/smoke.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "machine/contain/guardian.h"
#include "machine/state/state.h"
#include "run/attempt.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

enum { LINES_SHOWN = 5, LONGEST_LINE = 300, POLL_MS = 20 };

/* What is kept of a log that nobody keeps. */
static const uint64_t LOG_CAP = 64u << 20;

struct start {
    struct attempt attempt;
    const struct plan *plan;
    int64_t end_ns; /* when its time is over */
    int64_t ran_ns; /* until it was to end */
    int signals;
    int interrupted; /* the signal; 0: none */
};

void smoke_fini(struct smoke *smoke)
{
    free(smoke->repo);
    free(smoke->model);
    free(smoke->command);
    free(smoke->why);
    strv_fini(&smoke->seen);
    strv_fini(&smoke->log);
    *smoke = (struct smoke){0};
}

bool smoke_is_good(const struct smoke *smoke)
{
    return smoke->state == SMOKE_ENDED || smoke->state == SMOKE_RAN;
}

const char *smoke_state_name(enum smoke_state state)
{
    static const char *const names[] = {
        [SMOKE_NOT_STARTED] = "not started",
        [SMOKE_FAILED] = "failed",
        [SMOKE_NO_METRIC] = "no metric",
        [SMOKE_ENDED] = "ended",
        [SMOKE_RAN] = "ran",
        [SMOKE_INTERRUPTED] = "interrupted",
    };
    return names[state];
}

/* Whether one came that ends a program. */
static bool take_signals(struct start *start)
{
    struct signalfd_siginfo info;
    bool any = false;
    while (start->signals >= 0 && read(start->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        int number = (int)info.ssi_signo;
        if (number != SIGTERM && number != SIGINT && number != SIGHUP && number != SIGQUIT)
            continue;
        start->interrupted = number;
        any = true;
    }
    return any;
}

/* Reads the log and the exit. A log that cannot be written (a full disk) is still matched. */
static void step(struct start *start)
{
    struct attempt *attempt = &start->attempt;
    struct err err = {0};
    struct pollfd wait[] = {{.fd = attempt->pipe, .events = POLLIN},
                            {.fd = job_fd(attempt->job), .events = attempt->exit.ended ? 0 : POLLIN},
                            {.fd = start->signals, .events = POLLIN}};
    poll(wait, sizeof wait / sizeof *wait, POLL_MS);
    if (wait[0].revents && joblog_read(attempt->log, attempt->pipe, clock_monotonic_ns(), &err) == -1) {
        close(attempt->pipe);
        attempt->pipe = -1;
    }
    attempt_take_exit(attempt);
}

static void wait_for_end(struct start *start)
{
    while (!start->attempt.exit.ended && !take_signals(start) && clock_monotonic_ns() < start->end_ns)
        step(start);
    start->ran_ns = clock_monotonic_ns() - start->attempt.start_ns;
    attempt_take_exit(&start->attempt);
    start->attempt.reason = start->attempt.exit.ended ? STOP_EXITED
                            : start->interrupted      ? STOP_INTERRUPTED
                                                      : STOP_TIMEOUT;
}

/* As a run ends a job: TERM to all of it, KILL after the grace, and the proof. */
static bool end_all(struct start *start, struct err *err)
{
    struct attempt *attempt = &start->attempt;
    int64_t until_ns = clock_monotonic_ns() + (int64_t)(start->plan->timing.stop_grace_s * (double)NS_PER_S);
    if (!attempt_is_quiet(attempt)) {
        job_signal(attempt->job, SIGTERM);
        job_signal(attempt->job, SIGCONT);
        while (clock_monotonic_ns() < until_ns && !take_signals(start) && !attempt_is_quiet(attempt))
            step(start);
    }
    attempt_kill(attempt);
    int64_t killed_ns = clock_monotonic_ns();
    while (!attempt_prove(attempt)) {
        if (clock_monotonic_ns() - killed_ns > JOB_PROOF_MAX_S * NS_PER_S) {
            AUTO_FREE char *names = attempt_members_text(attempt->survivors, attempt->survivor_count);
            return err_set(err, "still alive after SIGKILL: %s", names);
        }
        struct pollfd end = {.fd = job_end_fd(attempt->job), .events = POLLIN};
        poll(&end, 1, POLL_MS);
    }
    attempt_take_exit(attempt);
    return true;
}

/* Of training.log. */
static void read_tail(const struct attempt *attempt, struct strv *lines)
{
    AUTO_TEXT struct text text = {0};
    if (!fs_read_at(attempt->folder, "training.log", LOG_CAP + 1, &text, NULL))
        return;
    const char *begin = text_get(&text), *at = begin + text.length;
    char *found[LINES_SHOWN];
    size_t count = 0;
    while (at > begin && count < LINES_SHOWN) {
        const char *end = at;
        while (at > begin && at[-1] != '\n' && at[-1] != '\r')
            at--;
        size_t length = (size_t)(end - at);
        char line[LONGEST_LINE];
        utf8_copy_legible(at, length, line, sizeof line);
        if (line[strspn(line, " \t")])
            found[count++] = mem_strdup(line);
        at -= at > begin;
    }
    while (count > 0)
        strv_add_owned(lines, found[--count]);
}

/* The first error pattern that matched; NULL: none. */
static const struct joblog_result *find_result(const struct attempt *attempt, enum joblog_role role, bool matched)
{
    for (size_t i = 0; i < joblog_result_count(attempt->log); i++) {
        const struct joblog_result *result = joblog_result(attempt->log, i);
        if (result->role == role && (result->matches > 0) == matched)
            return result;
    }
    return NULL;
}

static void find_metrics(const struct attempt *attempt, struct smoke *out)
{
    for (size_t i = 0; i < joblog_result_count(attempt->log); i++) {
        const struct joblog_result *result = joblog_result(attempt->log, i);
        if (result->role != JOBLOG_METRIC)
            continue;
        out->metrics++;
        if (result->has_number)
            strv_add_owned(&out->seen, mem_printf("%s %g", result->name, result->number));
    }
}

static bool ended_well(const struct attempt *attempt)
{
    return attempt->exit.ended && !attempt->exit.exec_failed && !attempt->exit.signalled && attempt->exit.code == 0 &&
           !find_result(attempt, JOBLOG_ERROR, true) && !find_result(attempt, JOBLOG_SUCCESS, false);
}

static void judge_exit(struct start *start, struct smoke *out)
{
    struct attempt *attempt = &start->attempt;
    struct failure failure;
    attempt_blame_machine(attempt);
    out->exited = attempt->exit.ended && !attempt->exit.exec_failed;
    out->signalled = attempt->exit.signalled;
    out->code = attempt->exit.code;
    if (ended_well(attempt) && out->metrics > 0 && out->seen.count == 0) {
        out->state = SMOKE_NO_METRIC;
        return;
    }
    enum outcome outcome = attempt_judge(attempt, &start->plan->limits, &out->why, &failure);
    out->state = outcome == OUTCOME_SUCCEEDED ? SMOKE_ENDED : SMOKE_FAILED;
    out->cause = failure.cause == FAILURE_NONE ? NULL : failure_cause_name(failure.cause);
}

static void judge(struct start *start, struct smoke *out)
{
    const struct joblog_result *error = find_result(&start->attempt, JOBLOG_ERROR, true);
    bool exited = start->attempt.reason == STOP_EXITED;
    find_metrics(&start->attempt, out);
    out->seconds = exited ? attempt_duration_s(&start->attempt, &exited) : ns_to_s(start->ran_ns);
    if (start->attempt.reason == STOP_EXITED) {
        judge_exit(start, out);
    } else if (start->interrupted) {
        out->state = SMOKE_INTERRUPTED;
        out->signal_number = start->interrupted;
    } else if (error) {
        out->state = SMOKE_FAILED;
        out->cause = failure_cause_name(FAILURE_PATTERN);
        out->why = mem_printf("it went on, but log line %llu matches the error pattern '%s': %s",
                              (unsigned long long)error->line, error->name, error->text);
    } else {
        out->state = SMOKE_RAN;
    }
    read_tail(&start->attempt, &out->log);
}

static bool begin(struct start *start, const struct run_request *request, double seconds, struct err *err)
{
    struct attempt *attempt = &start->attempt;
    struct limits limits = start->plan->limits;
    limits.log_bytes = LOG_CAP;
    if (!attempt_make_folder(attempt, request->dir, err) || !attempt_open_files(attempt, err) ||
        !attempt_start_job(attempt, request, &limits, request->dir_path, err))
        return false;
    if (request->guardian && !guardian_watch(request->guardian, job_identity(attempt->job), err))
        return false;
    if (request->state)
        state_job_born(request->state, job_identity(attempt->job), NULL);
    if (!attempt_open_gate(attempt, &limits, NULL, NULL, NULL, err))
        return false;
    start->end_ns = attempt->start_ns + (int64_t)(seconds * (double)NS_PER_S);
    return true;
}

bool smoke_start(const struct run_request *request, const struct plan *plan, size_t index, double seconds, int signals,
                 struct smoke *out, struct err *err)
{
    const struct plan_job *job = &plan->experiments[index].foreground;
    struct start start = {.plan = plan, .signals = signals};
    *out =
        (struct smoke){.repo = mem_strdup(job->repo), .model = mem_strdup(job->model), .command = plan_job_shell(job)};
    attempt_init(&start.attempt, &plan->experiments[index], 1);
    bool good = begin(&start, request, seconds, err);
    if (good) {
        wait_for_end(&start);
        good = end_all(&start, err);
    }
    if (good) {
        attempt_job_gone(request, start.attempt.job);
        attempt_close_log(&start.attempt);
        judge(&start, out);
    }
    attempt_fini(&start.attempt);
    return good;
}
