/* Starting, giving up and replacing the meter process. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "machine/gpu/vendor.h"
#include "machine/sensors/meter_private.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { METER_FD = 3 }; /* its end, in the meter process */

static int spawn_meter(const struct meter *meter, int socket, pid_t *pid)
{
    char fd_text[] = {'0' + METER_FD, '\0'}, scale_text[32];
    const char *program = meter->program ? meter->program : "/proc/self/exe";
    const char *argv[14] = {TARE_NAME, "meter", "--device", meter->device, "--fd", fd_text};
    size_t count = 6;
    if (meter->library) {
        argv[count++] = "--library";
        argv[count++] = meter->library;
    }
    if (meter->time_scale < 1) {
        snprintf(scale_text, sizeof scale_text, "%.17g", meter->time_scale);
        argv[count++] = "--time-scale";
        argv[count++] = scale_text;
    }
    if (meter->vendor) {
        argv[count++] = "--vendor";
        argv[count++] = meter->vendor->id;
    }
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0); /* a Ctrl-C is for the runner */
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    for (int fd = 0; fd <= 2; fd++)
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, socket, METER_FD);
    int error =
        posix_spawn(pid, program, &actions, &attributes, (char *const *)(void *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

bool meter_spawn(struct meter *meter, struct err *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return err_sys(err, "start the meter of GPU %s: socketpair", meter->device);
    AUTO_CLOSE int mine = pair[0];
    /* never METER_FD itself, which would stay close-on-exec */
    AUTO_CLOSE int theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, 10);
    close(pair[1]);
    struct epoll_event event = {.events = EPOLLIN};
    if (theirs < 0 || epoll_ctl(meter->epoll, EPOLL_CTL_ADD, mine, &event) != 0)
        return err_sys(err, "start the meter of GPU %s", meter->device);
    int error = spawn_meter(meter, theirs, &meter->pid);
    if (error) {
        errno = error;
        meter->pid = 0;
        return err_sys(err, "start the meter of GPU %s", meter->device);
    }
    meter->socket = steal_fd(&mine);
    meter->state = METER_STARTING;
    meter->spawned_ns = meter->turn_ns = clock_monotonic_ns();
    return true;
}

void meter_reap(struct meter *meter)
{
    for (size_t i = 0; i < meter->abandoned_count; i++) {
        pid_t ended = waitpid(meter->abandoned[i], NULL, WNOHANG);
        if (ended > 0 || (ended < 0 && errno != EINTR))
            meter->abandoned[i--] = meter->abandoned[--meter->abandoned_count];
    }
}

void meter_drop(struct meter *meter)
{
    cleanup_close(&meter->socket); /* which takes it out of the epoll set */
    meter->socket = -1;
    if (meter->pid > 0) {
        kill(meter->pid, SIGKILL); /* not reaped: the pid is its own */
        MEM_ADD(meter->abandoned, meter->abandoned_count) = meter->pid;
    }
    meter->pid = 0;
    meter->lost_ns = clock_monotonic_ns();
    for (size_t i = 0; i < meter->pending_count && meter->lost_count < METER_ORDERS_MAX; i++)
        meter->lost[meter->lost_count++] = meter->pending[i];
    meter->pending_count = 0;
}

void meter_gap_begin(struct meter *meter, const char *reason)
{
    if (meter->gap_open)
        return;
    meter->gap_open = true;
    meter->gap_start_ns = meter->good_ns;
    snprintf(meter->gap_reason, sizeof meter->gap_reason, "%s", reason);
    if (meter->gap)
        meter->gap(meter->data, &(struct meter_gap){.start_ns = meter->gap_start_ns,
                                                    .reason = meter->gap_reason});
}

void meter_gap_end(struct meter *meter, int64_t end_ns)
{
    if (!meter->gap_open)
        return;
    meter->gap_open = false;
    if (meter->gap)
        meter->gap(meter->data, &(struct meter_gap){.start_ns = meter->gap_start_ns,
                                                    .end_ns = end_ns,
                                                    .reason = meter->gap_reason});
}

void meter_replace(struct meter *meter, const char *reason)
{
    int64_t now_ns = clock_monotonic_ns();
    char text[METER_TEXT_SIZE];
    snprintf(text, sizeof text, "%s", reason);
    if (meter->state == METER_READY && now_ns - meter->spawned_ns > meter->long_life_ns)
        meter->tries = 0;
    meter_drop(meter);
    if (meter->was_ready)
        meter_gap_begin(meter, text);
    if (meter->tries >= meter->tries_max) {
        meter->state = METER_UNAVAILABLE;
        snprintf(meter->reason, sizeof meter->reason, "given up after %u replacements: %.180s",
                 meter->tries, text);
        return;
    }
    meter->state = METER_DOWN;
    snprintf(meter->reason, sizeof meter->reason, "%s", text);
    unsigned doublings = meter->tries < 16 ? meter->tries : 16;
    meter->retry_ns = now_ns + (meter->backoff_ns << doublings);
    meter->tries++;
}

static const char *kind_name(enum meter_kind kind)
{
    static const char *const names[] = {
        [METER_HELLO] = "describe", [METER_TICK] = "tick",   [METER_EDGE] = "edge",
        [METER_POWER] = "power",    [METER_USERS] = "users", [METER_GROUPS] = "groups",
        [METER_END] = "end"};
    return names[kind];
}

/* When what is awaited now is given up; INT64_MAX: nothing is awaited. */
static int64_t deadline_ns(const struct meter *meter)
{
    if (meter->state == METER_DOWN)
        return meter->retry_ns;
    if (meter->state == METER_STARTING)
        return meter->spawned_ns + meter->start_timeout_ns;
    if (meter->state != METER_READY || meter->pending_count == 0)
        return INT64_MAX;
    int64_t sent_ns = meter->pending[0].sent_ns;
    return (sent_ns > meter->turn_ns ? sent_ns : meter->turn_ns) + meter->request_timeout_ns;
}

void meter_due(struct meter *meter)
{
    struct err err = {0};
    char text[METER_TEXT_SIZE];
    if (clock_monotonic_ns() < deadline_ns(meter))
        return;
    if (meter->state == METER_DOWN) {
        if (!meter_spawn(meter, &err))
            meter_replace(meter, err.text);
        return;
    }
    if (meter->state == METER_STARTING)
        snprintf(text, sizeof text,
                 "the meter hung in the driver at its start (no answer for %.3g s)",
                 (double)meter->start_timeout_ns / (double)NS_PER_S);
    else
        snprintf(text, sizeof text, "the meter hung in the driver (no answer to %s for %.3g s)",
                 kind_name(meter->pending[0].kind),
                 (double)meter->request_timeout_ns / (double)NS_PER_S);
    meter_replace(meter, text);
}

void meter_arm(struct meter *meter)
{
    uint64_t expirations;
    int64_t at_ns = deadline_ns(meter);
    struct itimerspec when = {0};
    while (read(meter->timer, &expirations, sizeof expirations) < 0 && errno == EINTR)
        ;
    if (meter->lost_count > 0)
        at_ns = 1; /* answers wait: at once */
    /* The killed ones are looked for now and then, so that none stays a zombie for long. */
    int64_t look_ns = clock_monotonic_ns() + NS_PER_S;
    if (meter->abandoned_count > 0 && look_ns < at_ns)
        at_ns = look_ns;
    if (at_ns != INT64_MAX) {
        when.it_value.tv_sec = at_ns / NS_PER_S;
        when.it_value.tv_nsec = at_ns % NS_PER_S;
    }
    timerfd_settime(meter->timer, TFD_TIMER_ABSTIME, &when, NULL);
}
