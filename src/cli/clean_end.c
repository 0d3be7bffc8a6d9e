#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cli/clean.h"
#include "cli/command.h"
#include "cli/registration.h"
#include "contain/sys.h"
#include "tare_build.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What is killed may take a while to be gone on a machine that is busy; what is stuck in the kernel never goes. */
static const double RECOVERY_S = 30;
static const int64_t TAGGED_NS = 10 * NS_PER_S;
enum { PASS_MS = 20, GRACE_MS = 10000, KILL_MS = 10000 };

static bool was_there(const struct leftovers *before, const struct census_process *process)
{
    const struct census_process *old = census_find(&before->census, process->stat.pid);
    return old && old->stat.start_time == process->stat.start_time;
}

/* One pass: how many are left, and how many were killed that the pass before had not seen. */
static size_t kill_tagged(const struct leftovers *now, const struct leftovers *before, size_t *killed, struct err *err)
{
    size_t left = 0;
    for (size_t i = 0; i < now->count; i++) {
        struct err why = {0};
        if (now->items[i].kind != LEFTOVER_TAGGED)
            continue;
        left++;
        if (leftover_kill(&clean_roots, &now->items[i], &why))
            *killed += !was_there(before, now->items[i].process);
        else
            *err = why;
    }
    return left;
}

static bool end_tagged(struct state *state, struct err *err)
{
    int64_t deadline = clock_monotonic_ns() + TAGGED_NS;
    struct leftovers before = {0};
    struct err why = {0};
    size_t killed = 0;
    for (;;) {
        struct leftovers now;
        if (!leftovers_find(state, &clean_roots, &now, err)) {
            leftovers_fini(&before);
            return false;
        }
        size_t left = kill_tagged(&now, &before, &killed, &why);
        leftovers_fini(&before);
        before = now;
        if (left == 0 || clock_monotonic_ns() >= deadline)
            break;
        poll(NULL, 0, PASS_MS);
    }
    leftovers_fini(&before);
    if (killed > 0)
        cli_note("ended %zu process%s that carried the tag of a job of no live run", killed, killed == 1 ? "" : "es");
    return true;
}

bool clean_end_own(struct state *state, struct err *err)
{
    return (!state || state_recover(state, RECOVERY_S, registration_say, NULL, err)) && end_tagged(state, err);
}

static const struct leftover *find(const struct leftovers *leftovers, pid_t pid)
{
    for (size_t i = 0; i < leftovers->count; i++)
        if (leftovers->items[i].process->stat.pid == pid)
            return &leftovers->items[i];
    return NULL;
}

static bool confirmed(void)
{
    char answer[16];
    fprintf(stderr, "End it? Type yes: ");
    fflush(stderr);
    return fgets(answer, sizeof answer, stdin) && strcmp(answer, "yes\n") == 0;
}

static bool gone_within(int pidfd, int timeout_ms)
{
    struct pollfd wait = {.fd = pidfd, .events = POLLIN};
    int64_t deadline = clock_monotonic_ns() + timeout_ms * NS_PER_MS;
    for (;;) {
        int64_t left_ms = (deadline - clock_monotonic_ns()) / NS_PER_MS;
        int ready = poll(&wait, 1, left_ms > 0 ? (int)left_ms : 0);
        if (ready == 1 || left_ms <= 0)
            return ready == 1;
    }
}

static int end_held(int pidfd, pid_t pid)
{
    if (!sys_pidfd_signal(pidfd, SIGTERM) && errno != ESRCH) {
        cli_error("process %d: %s", (int)pid, strerror(errno));
        return CLI_SOME_FAILED;
    }
    sys_pidfd_signal(pidfd, SIGCONT); /* a stopped one hears it too */
    if (!gone_within(pidfd, GRACE_MS)) {
        cli_note("process %d does not heed TERM: KILL", (int)pid);
        sys_pidfd_signal(pidfd, SIGKILL);
        if (!gone_within(pidfd, KILL_MS)) {
            cli_error("process %d cannot be ended", (int)pid);
            return CLI_SOME_FAILED;
        }
    }
    cli_note("process %d is gone", (int)pid);
    return CLI_OK;
}

static int end_shown(const struct leftover *leftover, bool yes)
{
    struct err err = {0};
    pid_t pid = leftover->process->stat.pid;
    AUTO_FREE char *text = clean_describe(leftover);
    /* From here on it cannot be mistaken for another, however long the answer takes. */
    AUTO_CLOSE int pidfd = census_hold(&clean_roots, leftover->process, &err);
    if (pidfd < 0) {
        cli_error("%s", err.text);
        return CLI_SOME_FAILED;
    }
    cli_note("%s", text);
    if (!yes && !confirmed()) {
        cli_note("nothing was ended");
        return CLI_SOME_FAILED;
    }
    return end_held(pidfd, pid);
}

int clean_end_one(struct state *state, pid_t pid, uint64_t start_time, bool yes)
{
    struct err err = {0};
    struct leftovers leftovers;
    int code = CLI_USAGE;
    if (!yes && !isatty(STDIN_FILENO)) {
        cli_error("--pid asks before it ends a process, and standard input is no terminal; --yes goes without");
        return CLI_USAGE;
    }
    if (!leftovers_find(state, &clean_roots, &leftovers, &err)) {
        cli_error("%s", err.text);
        return CLI_BROKEN;
    }
    const struct leftover *leftover = find(&leftovers, pid);
    if (!leftover)
        cli_error("process %d is none that is listed here: no leftover, and no GPU open that can be seen", (int)pid);
    else if (start_time && leftover->process->stat.start_time != start_time)
        cli_error("process %d is another one: its start time is %llu", (int)pid,
                  (unsigned long long)leftover->process->stat.start_time);
    else if (leftover->kind == LEFTOVER_LIVE_GPU)
        cli_error("process %d belongs to a live run of %s: stop that run", (int)pid, TARE_NAME);
    else
        code = end_shown(leftover, yes);
    leftovers_fini(&leftovers);
    return code;
}
