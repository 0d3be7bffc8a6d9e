#include "base/cleanup.h"
#include "base/clock.h"
#include "doctor/clean.h"
#include "session/command.h"
#include "session/commits.h"
#include "session/run_resources.h"
#include "session/message.h"
#include "session/registration.h"
#include "machine/contain/sys.h"
#include "tare_build.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What is killed may take a while to be gone on a machine that is busy; what is stuck in the kernel never goes. */
static const double RECOVERY_S = 10;
static const int64_t TAGGED_NS = 10 * NS_PER_S;
enum { NAMES_SHOWN = 3, PASS_MS = 20, GRACE_MS = 10000, KILL_MS = 10000 };

static bool was_there(const struct leftovers *before, const struct census_process *process)
{
    const struct census_process *old = census_find(&before->census, process->stat.pid);
    return old && old->stat.start_time == process->stat.start_time;
}

static bool may_end(const struct clean *clean, uid_t uid)
{
    uid_t caller;
    return clean->all_users || uid == geteuid() || (clean_caller_known(&caller) && uid == caller);
}

/* What the passes did. */
struct sweep {
    const struct clean *clean;
    struct leftovers before; /* what the last pass saw */
    size_t killed, others;   /* others: of other users, left alone */
    struct text names;
};

/* One pass: how many are left. What was not there before is counted and named. */
static size_t kill_tagged(struct sweep *sweep, const struct leftovers *now)
{
    size_t left = 0;
    sweep->others = 0;
    for (size_t i = 0; i < now->count; i++) {
        const struct census_process *process = now->items[i].process;
        if (now->items[i].kind != LEFTOVER_TAGGED)
            continue;
        if (!may_end(sweep->clean, process->uid)) {
            sweep->others++;
            continue;
        }
        left++;
        if (!leftover_kill(&sweep->clean->roots, &now->items[i], NULL) || was_there(&sweep->before, process))
            continue;
        if (sweep->killed++ < NAMES_SHOWN)
            text_addf(&sweep->names, "%s%s (pid %d)", sweep->killed > 1 ? ", " : "", process->stat.comm,
                      (int)process->stat.pid);
    }
    return left;
}

static void say_swept(const struct sweep *sweep)
{
    if (sweep->killed > 0)
        cli_note("ended %zu process%s that a dead run left, which one is not known: %s%s", sweep->killed,
                 sweep->killed == 1 ? "" : "es", text_get(&sweep->names), sweep->killed > NAMES_SHOWN ? ", ..." : "");
    if (sweep->others > 0)
        cli_note("left alone %zu process%s of other users: --all-users ends what their dead runs left, too",
                 sweep->others, sweep->others == 1 ? "" : "es");
}

static bool end_tagged(const struct clean *clean, struct err *err)
{
    int64_t deadline = clock_monotonic_ns() + TAGGED_NS;
    struct sweep sweep = {.clean = clean};
    bool looked;
    for (;;) {
        struct leftovers now;
        looked = leftovers_find(clean->state, &clean->roots, &now, err);
        if (!looked)
            break;
        size_t left = kill_tagged(&sweep, &now);
        leftovers_fini(&sweep.before);
        sweep.before = now;
        if (left == 0 || clock_monotonic_ns() >= deadline)
            break;
        poll(NULL, 0, PASS_MS);
    }
    say_swept(&sweep);
    leftovers_fini(&sweep.before);
    text_fini(&sweep.names);
    return looked;
}

bool clean_end_own(const struct clean *clean, struct err *err)
{
    clean_caller_recover(clean->caller);
    struct err governor_err = {0};
    if (clean->state && !governing_recover(state_folder(clean->state), &governor_err))
        cli_warning("%s", governor_err.text);
    if (clean->state)
        worktrees_recover(state_folder(clean->state));
    return (!clean->state || state_recover(clean->state, RECOVERY_S, registration_say, NULL, err)) &&
           end_tagged(clean, err);
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
    return message_ask("End it? Type yes: ", answer, sizeof answer) && strcmp(answer, "yes") == 0;
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

static int end_shown(const struct clean *clean, const struct leftover *leftover, bool yes)
{
    struct err err = {0};
    pid_t pid = leftover->process->stat.pid;
    AUTO_FREE char *text = clean_describe(leftover);
    /* From here on it cannot be mistaken for another, however long the answer takes. */
    AUTO_CLOSE int pidfd = census_hold(&clean->roots, leftover->process, &err);
    if (pidfd < 0)
        return cli_failed(CLI_SOME_FAILED, &err);
    cli_note("%s", text);
    if (!yes && !confirmed()) {
        cli_note("nothing was ended");
        return CLI_SOME_FAILED;
    }
    return end_held(pidfd, pid);
}

int clean_end_one(const struct clean *clean, pid_t pid, uint64_t start_time, bool yes)
{
    struct err err = {0};
    AUTO(clean_view_fini) struct clean_view view = {0};
    int code = CLI_USAGE;
    if (!yes && !isatty(STDIN_FILENO)) {
        cli_error("--pid asks before it ends a process, and standard input is no terminal; --yes goes without");
        return CLI_USAGE;
    }
    if (!clean_look(clean, &view, &err))
        return cli_failed(CLI_BROKEN, &err);
    const struct leftover *leftover = find(&view.leftovers, pid);
    if (!leftover)
        cli_error("process %d is none that is listed here: no leftover, and no GPU open that can be seen", (int)pid);
    else if (start_time && leftover->process->stat.start_time != start_time)
        cli_error("process %d is another one: its start time is %llu", (int)pid,
                  (unsigned long long)leftover->process->stat.start_time);
    else if (leftover->kind == LEFTOVER_LIVE_GPU)
        cli_error("process %d belongs to a live run of %s: stop that run", (int)pid, TARE_NAME);
    else
        code = end_shown(clean, leftover, yes);
    return code;
}
