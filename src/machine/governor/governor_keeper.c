#include "machine/governor/governor_keeper.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "machine/contain/sys.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STOP_MS = 15000 };

enum order_kind { WANT = 1, STOP };

struct order {
    int32_t kind;
    uint32_t number;
    char governor[GOVERNOR_NAME_MAX]; /* "": what was before */
};

struct answer {
    uint32_t number;
    int32_t ok;
    char text[sizeof((struct err *)NULL)->text];
};

struct governor_keeper {
    pid_t pid;
    int socket;
    uint32_t number; /* of the last order */
};

/* The child's side. */
struct keep {
    int socket, runner, folder;
    const char *sysroot;
    struct governor_hold hold;
};

static bool set_ordered_governor(struct keep *keep, const struct order *order, struct err *err)
{
    if (keep->hold.file >= 0 && strcmp(keep->hold.wanted, order->governor) == 0)
        return true;
    if (!governor_hold_end(&keep->hold, err))
        return false;
    return order->governor[0] == '\0' ||
           governor_hold_take(keep->folder, keep->sysroot, order->governor, &keep->hold, err);
}

/* False: the socket is closed. */
static bool handle_keeper_order(struct keep *keep)
{
    struct order order;
    struct err err = {0};
    ssize_t got;
    do
        got = recv(keep->socket, &order, sizeof order, 0);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof order)
        return false;
    order.governor[GOVERNOR_NAME_MAX - 1] = '\0'; /* from a process with fewer rights than ours */
    if (order.kind == STOP)
        order.governor[0] = '\0';
    struct answer answer = {.number = order.number, .ok = set_ordered_governor(keep, &order, &err)};
    memcpy(answer.text, err.text, sizeof answer.text);
    send(keep->socket, &answer, sizeof answer, MSG_NOSIGNAL);
    return order.kind != STOP;
}

static _Noreturn void keep_governor(struct keep *keep)
{
    /* Without pidfds (old kernels) the socket's end tells that the runner is dead. */
    struct pollfd wait[] = {{.fd = keep->socket, .events = POLLIN},
                            {.fd = keep->runner, .events = POLLIN}};
    for (bool goes_on = true; goes_on;) {
        if (poll(wait, 2, -1) < 0)
            continue;
        goes_on = wait[1].revents == 0 && handle_keeper_order(keep);
    }
    _exit(governor_hold_end(&keep->hold, NULL) ? 0 : 1);
}

static int out_of_the_way(int fd)
{
    return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 10);
}

/* Nothing of the caller's stays open, above all no pipe that somebody waits on. */
static _Noreturn void keeper_main(const struct keep *from)
{
    struct keep keep = *from;
    sys_signals_block_all();
    sys_signals_default();
    prctl(PR_SET_NAME, TARE_NAME "-governor", 0, 0, 0);
    setsid();
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int socket = out_of_the_way(from->socket), folder = out_of_the_way(from->folder);
    int runner = out_of_the_way(from->runner);
    for (int fd = 0; fd <= 2; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            close(fd);
    if (socket < 0 || folder < 0 || dup3(socket, 3, O_CLOEXEC) < 0 ||
        dup3(folder, 4, O_CLOEXEC) < 0 || chdir("/") != 0)
        _exit(1);
    keep.socket = 3;
    keep.folder = 4;
    keep.runner = runner < 0 ? -1 : dup3(runner, 5, O_CLOEXEC);
    sys_close_range(keep.runner < 0 ? 5 : 6, UINT_MAX);
    keep_governor(&keep);
}

struct governor_keeper *governor_keeper_start(int folder, const char *sysroot, struct err *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        err_sys(err, "start the keeper of the CPU governor: socketpair");
        return NULL;
    }
    AUTO_CLOSE int mine = pair[0], theirs = pair[1];
    AUTO_CLOSE int runner = sys_pidfd_open(getpid());
    struct keep keep = {theirs, runner, folder, sysroot, {.file = -1}};
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0)
        keeper_main(&keep);
    int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid < 0) {
        errno = error;
        err_sys(err, "start the keeper of the CPU governor: fork");
        return NULL;
    }
    struct governor_keeper *keeper = mem_alloc(sizeof *keeper);
    *keeper = (struct governor_keeper){.pid = pid, .socket = steal_fd(&mine)};
    return keeper;
}

static bool send_to_keeper(struct governor_keeper *keeper, enum order_kind kind,
                           const char *governor, struct err *err)
{
    struct order order = {.kind = (int32_t)kind, .number = ++keeper->number};
    if (governor && strlen(governor) >= sizeof order.governor)
        return err_set(err, "\"%s\" is no name of a CPU frequency governor", governor);
    if (governor)
        memcpy(order.governor, governor, strlen(governor));
    return sys_send(keeper->socket, &order, sizeof order) ||
           err_sys(err, "ask the keeper of the CPU governor");
}

bool governor_keeper_want(struct governor_keeper *keeper, const char *governor, struct err *err)
{
    return send_to_keeper(keeper, WANT, governor, err);
}

int governor_keeper_fd(const struct governor_keeper *keeper)
{
    return keeper->socket;
}

enum governor_answer governor_keeper_answer(struct governor_keeper *keeper, struct err *err)
{
    struct answer answer;
    for (;;) {
        ssize_t got = recv(keeper->socket, &answer, sizeof answer, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return GOVERNOR_PENDING;
        if (got != (ssize_t)sizeof answer) {
            err_set(err, "the process that keeps the CPU frequency governor is gone");
            return GOVERNOR_FAILED;
        }
        if (answer.number != keeper->number)
            continue; /* of an order that was given up */
        if (answer.ok)
            return GOVERNOR_DONE;
        err_set(err, "%.*s", (int)sizeof answer.text - 1, answer.text);
        return GOVERNOR_FAILED;
    }
}

bool governor_keeper_stop(struct governor_keeper *keeper, struct err *err)
{
    if (!keeper)
        return true;
    int64_t until_ns = clock_monotonic_ns() + STOP_MS * NS_PER_MS, left_ms = STOP_MS;
    enum governor_answer answer =
        send_to_keeper(keeper, STOP, NULL, err) ? GOVERNOR_PENDING : GOVERNOR_FAILED;
    while (answer == GOVERNOR_PENDING && left_ms > 0) {
        poll(&(struct pollfd){.fd = keeper->socket, .events = POLLIN}, 1, (int)left_ms);
        answer = governor_keeper_answer(keeper, err);
        left_ms = (until_ns - clock_monotonic_ns()) / NS_PER_MS;
    }
    if (answer == GOVERNOR_PENDING)
        err_set(err, "the kernel has not taken it back within %d s", STOP_MS / 1000);
    /* It has nothing more to do than to end; one that hangs in the kernel is left to it. */
    if (answer == GOVERNOR_DONE)
        waitpid(keeper->pid, NULL, 0);
    else
        waitpid(keeper->pid, NULL, WNOHANG);
    close(keeper->socket);
    free(keeper);
    return answer == GOVERNOR_DONE;
}

pid_t governor_keeper_pid(const struct governor_keeper *keeper)
{
    return keeper->pid;
}
