#include "machine/contain/guardian.h"
#include "machine/contain/job.h"

#include "base/clock.h"
#include "base/mem.h"
#include "machine/contain/job_private.h"
#include "machine/contain/sys.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* Jobs are ended in turns, so that one that is stuck does not keep the guardian from the others;
 * then it is given up. */
static const double TURN_S = 1;
static const int64_t GIVE_UP_NS = 60 * NS_PER_S;

/* Calls of guardian_check that it may leave unanswered; how long a new one is waited for. Counted,
 * not timed: a runner that was stopped itself has no right to be impatient. */
enum { SILENT_MAX = 3, READY_MS = 1000 };

/* ASK is answered by a byte. */
enum message_kind { WATCH = 1, RELEASE, STOP, ASK };

struct message {
    int32_t kind;
    int32_t pid;
    uint64_t start_time;
    char boot_id[40];
    char tag[80];
    char cgroup[4096]; /* "": none */
};

struct watch {
    struct message *jobs;
    size_t count;
};

/* The runner's side. */
struct guardian {
    pid_t pid;          /* 0: there is none */
    int pidfd, socket;  /* -1: there is none */
    struct watch watch; /* what it was told, for the next one */
    int64_t heard_ns;   /* when it was last known to be there */
    int unanswered;     /* calls since it was asked; 0: it is not asked */
};

static void watch_add(struct watch *watch, const struct message *job)
{
    MEM_ADD(watch->jobs, watch->count) = *job;
}

static void watch_remove(struct watch *watch, const char *tag)
{
    for (size_t i = 0; i < watch->count; i++)
        if (strcmp(watch->jobs[i].tag, tag) == 0)
            watch->jobs[i--] = watch->jobs[--watch->count];
}

static void end_guarded_jobs(struct watch *watch)
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
            if (job_end_orphaned(&identity, true, NULL, TURN_S, &killed, NULL))
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
        } else if (message.kind == ASK) {
            (void)!send(socket, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        } else {
            watch_add(watch, &message);
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
        /* looked at before the socket: what was said before death is heard */
        bool dead = wait[1].revents != 0;
        if (!listen_to_runner(socket, &watch) || dead)
            break;
    }
    end_guarded_jobs(&watch);
    _exit(0);
}

/* The child's side: nothing of the caller's stays open, above all no pipe that somebody waits
 * on. */
static _Noreturn void guardian_main(int socket, int runner)
{
    sys_signals_block_all(); /* for good: how the caller had set them does not matter */
    prctl(PR_SET_NAME, TARE_NAME "-guardian", 0, 0, 0);
    setsid();
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int high_socket = fcntl(socket, F_DUPFD_CLOEXEC, 10),
        high_runner = fcntl(runner, F_DUPFD_CLOEXEC, 10);
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

/* Forks one that knows nothing yet. */
static bool fork_guardian(struct guardian *guardian, struct err *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return err_sys(err, "start the guardian: socketpair");
    AUTO_CLOSE int mine = pair[0], theirs = pair[1];
    AUTO_CLOSE int runner = sys_pidfd_open(getpid());
    if (runner < 0)
        return err_sys(err, "start the guardian: pidfd_open");
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
        return err_sys(err, "start the guardian: fork");
    }
    guardian->pid = pid;
    guardian->pidfd = sys_pidfd_open(pid);
    guardian->socket = steal_fd(&mine);
    guardian->heard_ns = clock_monotonic_ns();
    guardian->unanswered = 0;
    return true;
}

struct guardian *guardian_start(struct err *err)
{
    struct guardian *guardian = mem_alloc(sizeof *guardian);
    *guardian = (struct guardian){.pidfd = -1, .socket = -1};
    if (!fork_guardian(guardian, err))
        free(steal_ptr(guardian));
    return guardian;
}

/* Never waits: a stopped guardian would stop the runner with it. */
static bool send_to_guardian(struct guardian *guardian, const struct message *message,
                             struct err *err)
{
    return sys_send(guardian->socket, message, sizeof *message) ||
           err_sys(err, "tell the guardian");
}

static bool job_message(enum message_kind kind, const struct job_identity *identity,
                        struct message *out, struct err *err)
{
    size_t tag = strlen(identity->tag), cgroup = identity->cgroup ? strlen(identity->cgroup) : 0;
    *out = (struct message){
        .kind = (int32_t)kind, .pid = identity->pid, .start_time = identity->start_time};
    if (tag >= sizeof out->tag || cgroup >= sizeof out->cgroup)
        return err_set(err, "the job's identity is too long for the guardian");
    memcpy(out->boot_id, identity->boot_id, sizeof out->boot_id);
    memcpy(out->tag, identity->tag, tag);
    if (cgroup)
        memcpy(out->cgroup, identity->cgroup, cgroup);
    return true;
}

bool guardian_watch(struct guardian *guardian, const struct job_identity *identity, struct err *err)
{
    struct message message;
    if (!job_message(WATCH, identity, &message, err))
        return false;
    watch_add(&guardian->watch, &message);
    return send_to_guardian(guardian, &message, err);
}

void guardian_release(struct guardian *guardian, const struct job_identity *identity)
{
    struct message message;
    if (!job_message(RELEASE, identity, &message, NULL))
        return;
    watch_remove(&guardian->watch, message.tag);
    send_to_guardian(guardian, &message, NULL);
}

static void end_guardian(struct guardian *guardian)
{
    struct pollfd end = {.fd = guardian->pidfd, .events = POLLIN};
    cleanup_close(&guardian->socket);
    guardian->socket = -1;
    if (guardian->pid <= 0)
        return;
    if (guardian->pidfd >= 0)
        sys_pidfd_signal(guardian->pidfd, SIGKILL);
    else
        kill(guardian->pid, SIGKILL); /* our own child, not reaped */
    poll(&end, 1, end.fd >= 0 ? READY_MS : 0);
    waitpid(guardian->pid, NULL, WNOHANG);
    cleanup_close(&guardian->pidfd);
    guardian->pidfd = -1;
    guardian->pid = 0;
}

/* False: it is dead. */
static bool receive_guardian_answers(struct guardian *guardian)
{
    char answer;
    for (;;) {
        ssize_t got = recv(guardian->socket, &answer, sizeof answer, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 && errno == EAGAIN;
        guardian->heard_ns = clock_monotonic_ns();
        guardian->unanswered = 0;
    }
}

static bool ping_guardian(struct guardian *guardian, struct err *err)
{
    return send_to_guardian(guardian, &(struct message){.kind = ASK}, err);
}

/* Sends the new guardian all that the previous one knew, and waits for its answer. */
static bool replace_guardian(struct guardian *guardian, struct err *err)
{
    int64_t heard_ns = guardian->heard_ns;
    end_guardian(guardian);
    if (!fork_guardian(guardian, err))
        return false;
    struct pollfd answer = {.fd = guardian->socket, .events = POLLIN};
    bool told = true;
    for (size_t i = 0; told && i < guardian->watch.count; i++)
        told = send_to_guardian(guardian, &guardian->watch.jobs[i], err);
    bool ready =
        told && ping_guardian(guardian, err) &&
        (poll(&answer, 1, READY_MS) == 1 || err_set(err, "the new guardian does not answer")) &&
        (receive_guardian_answers(guardian) || err_set(err, "the new guardian is dead"));
    if (!ready) {
        end_guardian(guardian);
        guardian->heard_ns = heard_ns;
    }
    return ready;
}

int guardian_fd(const struct guardian *guardian)
{
    return guardian->pidfd;
}

enum guardian_state guardian_check(struct guardian *guardian, int64_t *since_ns, struct err *err)
{
    bool there = guardian->socket >= 0 && receive_guardian_answers(guardian);
    *since_ns = guardian->heard_ns;
    if (there && guardian->unanswered == 0)
        there = ping_guardian(guardian, err);
    if (there && guardian->unanswered++ < SILENT_MAX)
        return GUARDIAN_THERE;
    return replace_guardian(guardian, err) ? GUARDIAN_REPLACED : GUARDIAN_ABSENT;
}

void guardian_stop(struct guardian *guardian)
{
    if (!guardian)
        return;
    struct pollfd end = {.fd = guardian->pidfd, .events = POLLIN};
    if (guardian->socket >= 0 && send_to_guardian(guardian, &(struct message){.kind = STOP}, NULL))
        poll(&end, 1, end.fd >= 0 ? READY_MS : 0);
    end_guardian(guardian);
    free(guardian->watch.jobs);
    free(guardian);
}

pid_t guardian_pid(const struct guardian *guardian)
{
    return guardian->pid;
}
