#include "machine/sensors/meter.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "machine/contain/sys.h"
#include "machine/sensors/meter_private.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FREE_WAIT_MS = 200 };

/* Scaled, but what is the usual does not become less than least: the machine is no faster than
 * without a scale. */
static int64_t duration(const struct meter *meter, double seconds, double otherwise, double least)
{
    double scaled = (seconds > 0 ? seconds : otherwise) * meter->time_scale;
    if (seconds <= 0 && scaled < least)
        scaled = least;
    return (int64_t)(scaled * (double)NS_PER_S);
}

struct meter *meter_start(const struct meter_options *options, struct err *err)
{
    struct meter *meter = mem_alloc(sizeof *meter);
    struct epoll_event event = {.events = EPOLLIN};
    meter->device = mem_strdup(options->device);
    meter->program = mem_strdup(options->program);
    meter->library = mem_strdup(options->library);
    meter->vendor = options->vendor;
    meter->time_scale = options->time_scale > 0 ? options->time_scale : 1;
    meter->start_timeout_ns = duration(meter, options->start_timeout_s, 60, 10);
    meter->request_timeout_ns = duration(meter, options->request_timeout_s, 10, 3);
    meter->backoff_ns = duration(meter, options->backoff_s, 0.5, 0);
    meter->long_life_ns = duration(meter, 0, 60, 10);
    meter->tries_max = options->tries ? options->tries : 5;
    meter->gap = options->gap;
    meter->data = options->data;
    meter->socket = -1;
    meter->good_ns = clock_monotonic_ns();
    meter->epoll = epoll_create1(EPOLL_CLOEXEC);
    meter->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    bool begun = meter->epoll >= 0 && meter->timer >= 0 &&
                 epoll_ctl(meter->epoll, EPOLL_CTL_ADD, meter->timer, &event) == 0;
    if (!begun)
        err_sys(err, "start the meter of GPU %s", options->device);
    if (!begun || !meter_spawn(meter, err)) {
        meter_free(meter);
        return NULL;
    }
    meter_arm(meter);
    return meter;
}

enum meter_state meter_state(const struct meter *meter)
{
    return meter->state;
}

const char *meter_reason(const struct meter *meter)
{
    return meter->reason;
}

int meter_fd(const struct meter *meter)
{
    return meter->epoll;
}

size_t meter_pending(const struct meter *meter)
{
    return meter->pending_count + meter->lost_count;
}

pid_t meter_pid(const struct meter *meter)
{
    return meter->pid;
}

bool meter_request(struct meter *meter, enum meter_kind kind, uint64_t id)
{
    struct meter_order order = {.version = METER_VERSION, .kind = kind, .id = id};
    if (meter->socket < 0 || meter->pending_count + meter->lost_count >= METER_ORDERS_MAX)
        return false;
    if (!sys_send(meter->socket, &order, sizeof order))
        return false;
    meter->pending[meter->pending_count++] =
        (struct meter_pending){.kind = kind, .id = id, .sent_ns = clock_monotonic_ns()};
    meter_arm(meter);
    return true;
}

/* An order that its meter took with it. */
static void return_lost_order(struct meter *meter, struct meter_response *out)
{
    *out = (struct meter_response){.kind = meter->lost[0].kind,
                                   .id = meter->lost[0].id,
                                   .status = METER_LOST,
                                   .began_ns = meter->lost[0].sent_ns,
                                   .ended_ns = meter->lost_ns};
    snprintf(out->text, sizeof out->text, "%s", meter->reason);
    memmove(meter->lost, meter->lost + 1, --meter->lost_count * sizeof *meter->lost);
}

static void died(struct meter *meter)
{
    int status = 0;
    char text[METER_TEXT_SIZE];
    pid_t ended = waitpid(meter->pid, &status, WNOHANG);
    if (ended == meter->pid && WIFSIGNALED(status))
        snprintf(text, sizeof text, "the meter died of signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (ended == meter->pid)
        snprintf(text, sizeof text, "the meter ended with exit code %d", WEXITSTATUS(status));
    else
        snprintf(text, sizeof text, "the meter closed its connection");
    if (ended == meter->pid || (ended < 0 && errno == ECHILD))
        meter->pid = 0; /* reaped: the number may be another's by now */
    meter_replace(meter, text);
}

/* A meter that cannot begin at first stays unavailable; later its driver may be under repair, so it
 * is replaced. */
static void handle_refusal(struct meter *meter, const struct meter_response *response)
{
    if (meter->was_ready) {
        meter_replace(meter, response->text);
        return;
    }
    meter_drop(meter);
    meter->state = METER_UNAVAILABLE;
    snprintf(meter->reason, sizeof meter->reason, "%s", response->text);
}

static void note_response(struct meter *meter, const struct meter_response *response)
{
    meter->turn_ns = clock_monotonic_ns();
    if (response->kind == METER_HELLO && response->status == METER_REFUSED) {
        handle_refusal(meter, response);
        return;
    }
    meter->was_ready = true;
    meter->state = METER_READY;
    meter->reason[0] = '\0';
    if (response->kind == METER_USERS || response->kind == METER_GROUPS)
        return;
    if (response->status == METER_OK) {
        meter_gap_end(meter, response->began_ns);
        meter->good_ns = response->ended_ns;
    } else {
        meter_gap_begin(meter, response->text);
    }
}

/* One message, if there is one. */
static bool receive(struct meter *meter, struct meter_response *out)
{
    if (meter->socket < 0)
        return false;
    ssize_t got;
    /* Of a meter that ended with orders unread, ECONNRESET comes once, and only then what it had
     * said. */
    do
        got = recv(meter->socket, &meter->reply, sizeof meter->reply, MSG_DONTWAIT | MSG_TRUNC);
    while (got < 0 && (errno == EINTR || errno == ECONNRESET));
    if (got < 0 && errno == EAGAIN)
        return false;
    if (got <= 0) {
        died(meter);
        return false;
    }
    if (got != (ssize_t)sizeof meter->reply || !meter_accept(meter, out)) {
        meter_replace(meter, "the meter gave an answer that makes no sense");
        return false;
    }
    note_response(meter, out);
    return true;
}

bool meter_take(struct meter *meter, struct meter_response *out)
{
    meter_reap(meter);
    /* What has come is heard before deadlines are looked at: a loop that was late must not blame
     * the meter. */
    bool got = receive(meter, out);
    if (!got) {
        meter_due(meter);
        if (meter->lost_count > 0) {
            return_lost_order(meter, out);
            got = true;
        }
    }
    meter_arm(meter);
    return got;
}

const struct meter_description *meter_describe(const struct meter *meter)
{
    return meter->described ? &meter->description : NULL;
}

const struct series *meter_series(const struct meter *meter)
{
    return &meter->series;
}

const struct gpu_sample *meter_samples(const struct meter *meter, size_t *count)
{
    *count = meter->sample_count;
    return meter->samples;
}

void meter_forget(struct meter *meter, int64_t before_ns)
{
    struct series *series = &meter->series;
    size_t counter = 0, power = 0, samples = 0;
    while (counter < series->counter_count && series->counter[counter].after_ns < before_ns)
        counter++;
    /* The last sample stays: by it what the driver hands out again is known. */
    while (power + 1 < series->power_count && series->power[power].t_ns < before_ns)
        power++;
    while (samples < meter->sample_count && meter->samples[samples].t_ns < before_ns)
        samples++;
    series->counter_count -= counter;
    series->power_count -= power;
    meter->sample_count -= samples;
    if (counter > 0)
        memmove(series->counter, series->counter + counter,
                series->counter_count * sizeof *series->counter);
    if (power > 0)
        memmove(series->power, series->power + power, series->power_count * sizeof *series->power);
    if (samples > 0)
        memmove(meter->samples, meter->samples + samples,
                meter->sample_count * sizeof *meter->samples);
}

/* It ends when its socket is closed; one that hangs is killed and abandoned. */
static void end_meter_process(struct meter *meter)
{
    bool idle = meter->state == METER_READY && meter->pending_count == 0;
    cleanup_close(&meter->socket);
    meter->socket = -1;
    AUTO_CLOSE int pidfd = meter->pid > 0 ? sys_pidfd_open(meter->pid) : -1;
    struct pollfd wait = {.fd = pidfd, .events = POLLIN};
    if (idle && pidfd >= 0)
        poll(&wait, 1, FREE_WAIT_MS);
    if (meter->pid > 0 && waitpid(meter->pid, NULL, WNOHANG) == meter->pid)
        meter->pid = 0;
    meter_drop(meter);
    /* The kill takes a moment; one that hangs in the kernel is not waited for. */
    for (int i = 0; i < 20 && meter->abandoned_count > 0; i++) {
        poll(NULL, 0, i ? FREE_WAIT_MS / 20 : 0);
        meter_reap(meter);
    }
}

void meter_free(struct meter *meter)
{
    if (!meter)
        return;
    meter_gap_end(meter, clock_monotonic_ns());
    end_meter_process(meter);
    cleanup_close(&meter->epoll);
    cleanup_close(&meter->timer);
    series_fini(&meter->series);
    free(meter->samples);
    free(meter->abandoned);
    free(meter->device);
    free(meter->program);
    free(meter->library);
    free(meter);
}
