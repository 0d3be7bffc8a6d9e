#include "contain/guardian.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "contain/recover.h"
#include "contain/sys.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Jobs are ended in turns, so that one that is stuck does not keep the guardian from the others; then it is given
 * up. */
static const double TURN_S = 1;
static const int64_t GIVE_UP_NS = 60 * NS_PER_S;

enum message_kind { WATCH = 1, RELEASE, STOP };

struct message {
    int32_t kind;
    int32_t pid;
    uint64_t start_time;
    char boot_id[40];
    char tag[80];
    char cgroup[4096]; /* "": none */
};

struct guardian {
    pid_t pid;
    int socket;
};

struct watch {
    struct message *jobs;
    size_t count, capacity;
};

static void watch_remove(struct watch *watch, const char *tag)
{
    for (size_t i = 0; i < watch->count; i++)
        if (strcmp(watch->jobs[i].tag, tag) == 0)
            watch->jobs[i--] = watch->jobs[--watch->count];
}

static void end_jobs(struct watch *watch)
{
    int64_t give_up = clock_monotonic_ns() + GIVE_UP_NS;
    while (watch->count > 0 && clock_monotonic_ns() < give_up) {
        for (size_t i = 0; i < watch->count; i++) {
            struct message *job = &watch->jobs[i];
            struct job_identity identity = {.pid = job->pid,
                                            .start_time = job->start_time,
                                            .tag = job->tag,
                                            .cgroup = job->cgroup[0] ? job->cgroup : NULL};
            size_t killed = 0;
            memcpy(identity.boot_id, job->boot_id, sizeof identity.boot_id);
            if (recover_job(&identity, true, TURN_S, &killed, NULL))
                watch->jobs[i--] = watch->jobs[--watch->count];
        }
    }
}

/* Everything the runner has said, also when it is dead by now. False: it is dead. */
static bool listen_to_runner(int socket, struct watch *watch)
{
    struct message message;
    for (;;) {
        ssize_t got = recv(socket, &message, sizeof message, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return true;
        if (got != (ssize_t)sizeof message)
            return false;
        if (message.kind == STOP)
            _exit(0);
        if (message.kind == RELEASE) {
            watch_remove(watch, message.tag);
        } else {
            watch->jobs = mem_room(watch->jobs, watch->count, &watch->capacity, sizeof *watch->jobs);
            watch->jobs[watch->count++] = message;
        }
    }
}

static _Noreturn void guard(int socket, int runner)
{
    struct pollfd wait[] = {{.fd = socket, .events = POLLIN}, {.fd = runner, .events = POLLIN}};
    struct watch watch = {0};
    for (;;) {
        if (poll(wait, 2, -1) < 0)
            continue;
        bool dead = wait[1].revents != 0; /* looked at before the socket: what was said before death is heard */
        if (!listen_to_runner(socket, &watch) || dead)
            break;
    }
    end_jobs(&watch);
    _exit(0);
}

/* The child's side: nothing of the caller's stays open, above all no pipe that somebody waits on. */
static _Noreturn void guardian_main(int socket, int runner)
{
    sys_signals_block_all(); /* for good: how the caller had set them does not matter */
    prctl(PR_SET_NAME, TARE_NAME "-guardian", 0, 0, 0);
    setsid();
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int high_socket = fcntl(socket, F_DUPFD_CLOEXEC, 10), high_runner = fcntl(runner, F_DUPFD_CLOEXEC, 10);
    for (int fd = 0; fd <= 2; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            close(fd);
    /* Both may be any number; 3 and 4 are free for them once they are out of the way. */
    if (high_socket < 0 || high_runner < 0 || dup3(high_socket, 3, O_CLOEXEC) < 0 ||
        dup3(high_runner, 4, O_CLOEXEC) < 0)
        _exit(1);
    sys_close_range(5, UINT_MAX);
    if (chdir("/") != 0)
        _exit(1);
    guard(3, 4);
}

struct guardian *guardian_start(struct err *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        err_sys(err, "start the guardian: socketpair");
        return NULL;
    }
    AUTO_CLOSE int mine = pair[0], theirs = pair[1];
    AUTO_CLOSE int runner = sys_pidfd_open(getpid());
    if (runner < 0) {
        err_sys(err, "start the guardian: pidfd_open");
        return NULL;
    }
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0)
        guardian_main(theirs, runner);
    int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid < 0) {
        errno = error;
        err_sys(err, "start the guardian: fork");
        return NULL;
    }
    struct guardian *guardian = mem_alloc(sizeof *guardian);
    guardian->pid = pid;
    guardian->socket = steal_fd(&mine);
    return guardian;
}

static bool say(struct guardian *guardian, enum message_kind kind, const struct job_identity *identity, struct err *err)
{
    struct message message = {.kind = (int32_t)kind};
    if (identity) {
        size_t tag = strlen(identity->tag), cgroup = identity->cgroup ? strlen(identity->cgroup) : 0;
        if (tag >= sizeof message.tag || cgroup >= sizeof message.cgroup)
            return err_set(err, "the job's identity is too long for the guardian");
        message.pid = identity->pid;
        message.start_time = identity->start_time;
        memcpy(message.boot_id, identity->boot_id, sizeof message.boot_id);
        memcpy(message.tag, identity->tag, tag);
        if (cgroup)
            memcpy(message.cgroup, identity->cgroup, cgroup);
    }
    ssize_t sent;
    do
        sent = send(guardian->socket, &message, sizeof message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof message || err_sys(err, "tell the guardian");
}

bool guardian_watch(struct guardian *guardian, const struct job_identity *identity, struct err *err)
{
    return say(guardian, WATCH, identity, err);
}

void guardian_release(struct guardian *guardian, const struct job_identity *identity)
{
    say(guardian, RELEASE, identity, NULL);
}

void guardian_stop(struct guardian *guardian)
{
    if (!guardian)
        return;
    say(guardian, STOP, NULL, NULL);
    AUTO_CLOSE int pidfd = sys_pidfd_open(guardian->pid);
    struct pollfd wait = {.fd = pidfd, .events = POLLIN};
    if (pidfd >= 0)
        poll(&wait, 1, 1000);
    waitpid(guardian->pid, NULL, WNOHANG);
    close(guardian->socket);
    free(guardian);
}

pid_t guardian_pid(const struct guardian *guardian)
{
    return guardian->pid;
}
