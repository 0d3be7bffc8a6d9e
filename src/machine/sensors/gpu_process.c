#include "machine/sensors/gpu_process.h"

#include "base/clock.h"
#include "base/mem.h"
#include "machine/contain/sys.h"
#include "machine/sensors/protocol.h"
#include "machine/sensors/shrink.h"
#include "machine/sensors/time_scale.h"
#include "tare_build.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* A counter that has not changed by then does not move; the slowest known period is 100 ms. */
static const int64_t EDGE_NS = 250 * NS_PER_MS;
/* Where reading the counter costs little, it is not read more often than this: the CPU belongs to
 * the training. */
static const int64_t EDGE_STEP_NS = 1 * NS_PER_MS;

/* A counter's changes come at even distances: known when one came, most of the wait for another
 * needs no reading, which costs milliseconds of CPU. Earlier by the margin and by what two clocks
 * may drift apart (1 in 20,000); not after ten minutes. */
static const int64_t BEAT_MARGIN_NS = 12 * NS_PER_MS;
static const int64_t BEAT_DRIFT = 20000;
static const int64_t BEAT_OLD_NS = 600 * NS_PER_S;
static const int64_t BEAT_NARROW_NS = 20 * NS_PER_MS;
static const int64_t BEAT_ROUND_NS = 10 * NS_PER_MS;
enum { BEAT_PERIODS = 3, BEAT_IDLE_MS = 100, BEAT_MISSES = 3 };

struct beat {
    int64_t at_ns;     /* of a change that was seen narrowly */
    int64_t period_ns; /* 0: unknown */
    bool learned;      /* as far as it can be */
    int misses;        /* in a row; then it is learned anew */
};

/* What is needed only to begin is given back then, and once more when every kind of order has
 * come. */
enum { SHRINK_AGAIN = 16 };

/* A peak of memory lasts less than the second between two ticks. Looks go on as long as ticks come,
 * at most so often, and for at most a hundredth of the time. */
enum { LOOK_MS = 50, LOOK_SLOW_MS = 1000, LOOK_SHARE = 100 };
static const int64_t LOOKS_NS = 3 * NS_PER_S;

struct looks {
    int64_t until_ns; /* 0: none are wanted */
    int every_ms;     /* 0: not decided */
    double peak_bytes;
    int64_t peak_ns;
};

struct gpu_process {
    const struct gpu_backend *backend;
    struct gpu_driver *driver;
    struct gpu_sensor *sensor;
    int fd;
    bool has_counter, has_trace;
    struct looks looks;
    struct beat beat;
    char counter_why[METER_TEXT_SIZE], trace_why[METER_TEXT_SIZE];
    struct gpu_trace trace;
    struct gpu_users users;
    struct meter_reply reply;
};

static void copy_reason(char out[METER_TEXT_SIZE], const struct err *why)
{
    snprintf(out, METER_TEXT_SIZE, "%.*s", METER_TEXT_SIZE - 1, why->text);
}

/* The GPU has no such thing, and will have none: not asked again. */
static bool never(const struct err *why)
{
    return why->code == ENOTSUP || why->code == ENOSYS;
}

static void failed(struct meter_reply *reply, const struct err *why)
{
    if (reply->status != METER_GONE)
        reply->status = why->code == ENODEV ? METER_GONE : METER_FAILED;
    copy_reason(reply->text, why);
}

static void add_power_sample(struct meter_reply *reply, int64_t t_ns, struct reading power_w)
{
    if (power_w.valid && reply->power_count < GPU_TRACE_MAX)
        reply->power[reply->power_count++] =
            (struct gpu_power_sample){.t_ns = t_ns, .power_w = power_w.value};
}

static bool read_energy_counter(struct gpu_process *process, struct counter_reading *out,
                                struct err *why)
{
    *out = (struct counter_reading){.before_ns = clock_monotonic_ns()};
    bool good = process->backend->counter(process->sensor, &out->energy_mj, why);
    out->after_ns = clock_monotonic_ns();
    return good;
}

/* Returns how many of the three kinds of figures were read. */
static int add_counter_figures(struct gpu_process *process, struct err *why)
{
    struct meter_reply *reply = &process->reply;
    struct counter_reading reading;
    if (!process->has_counter || !read_energy_counter(process, &reading, why)) {
        if (process->has_counter && never(why)) {
            process->has_counter = false;
            copy_reason(process->counter_why, why);
        }
        return 0;
    }
    reply->counter[reply->counter_count++] = reading;
    return 1;
}

static int add_trace_figures(struct gpu_process *process, struct err *why)
{
    struct meter_reply *reply = &process->reply;
    int64_t began_ns = clock_monotonic_ns();
    bool taken =
        process->has_trace && process->backend->trace(process->sensor, &process->trace, why);
    reply->trace_us = (double)(clock_monotonic_ns() - began_ns) / 1000;
    if (!taken) {
        if (process->has_trace && never(why)) {
            process->has_trace = false;
            copy_reason(process->trace_why, why);
        }
        return 0;
    }
    memcpy(reply->power, process->trace.samples, process->trace.count * sizeof *reply->power);
    reply->power_count = process->trace.count;
    reply->power_refused = process->trace.refused;
    reply->left_out = process->trace.left_out;
    return 1;
}

static void sample_memory(struct gpu_process *process)
{
    struct looks *looks = &process->looks;
    struct gpu_readings readings = {0};
    struct err why = {0};
    int64_t before_ns = clock_monotonic_ns();
    bool read = false;
    for (size_t i = 0; i < process->backend->group_count; i++)
        if (strcmp(process->backend->group_name(i), "memory") == 0)
            read = process->backend->group_read(process->sensor, i, &readings, &why);
    struct reading used = readings.of[GPU_MEMORY_USED_BYTES];
    if (!read || !used.valid) {
        looks->until_ns = 0;
        return;
    }
    int64_t after_ns = clock_monotonic_ns(),
            least_ms = LOOK_SHARE * (after_ns - before_ns) / NS_PER_MS;
    looks->every_ms = least_ms < LOOK_MS        ? LOOK_MS
                      : least_ms > LOOK_SLOW_MS ? LOOK_SLOW_MS
                                                : (int)least_ms;
    if (used.value > looks->peak_bytes) {
        looks->peak_bytes = used.value;
        looks->peak_ns = before_ns + (after_ns - before_ns) / 2;
    }
}

/* Until an order comes. */
static void sample_memory_until_order(struct gpu_process *process)
{
    struct looks *looks = &process->looks;
    struct pollfd order = {.fd = process->fd, .events = POLLIN};
    while (looks->until_ns > clock_monotonic_ns() &&
           poll(&order, 1, looks->every_ms ? looks->every_ms : LOOK_MS) == 0)
        sample_memory(process);
}

static void add_memory_peak(struct gpu_process *process)
{
    struct looks *looks = &process->looks;
    process->reply.memory_peak_bytes = looks->peak_bytes;
    process->reply.memory_peak_ns = looks->peak_ns;
    process->reply.memory_every_ms = (uint32_t)looks->every_ms;
    *looks =
        (struct looks){.until_ns = clock_monotonic_ns() + LOOKS_NS, .every_ms = looks->every_ms};
}

static int add_reply_readings(struct gpu_process *process, struct err *why)
{
    struct meter_reply *reply = &process->reply;
    struct gpu_readings readings;
    int64_t began_ns = clock_monotonic_ns();
    if (!gpu_readings_take(process->backend, process->sensor, &readings, why))
        return 0;
    reply->readings_ns = began_ns + (clock_monotonic_ns() - began_ns) / 2;
    for (int i = 0; i < GPU_READING_COUNT; i++)
        if (readings.of[i].valid) {
            reply->readings[i] = readings.of[i].value;
            reply->valid |= 1U << i;
        }
    if (reply->valid)
        reply->has |= METER_HAS_READINGS;
    /* Without a buffer of samples the trace is made of these; power is read first of all. */
    if (reply->power_count == 0 && !process->has_trace)
        add_power_sample(reply, began_ns, gpu_readings_power_w(&readings));
    return reply->valid != 0;
}

static void answer_tick(struct gpu_process *process)
{
    struct err why[3] = {{0}};
    int got = add_trace_figures(process, &why[0]);
    got += add_counter_figures(process, &why[1]);
    got += add_reply_readings(process, &why[2]);
    add_memory_peak(process);
    for (int i = 0; i < 3; i++)
        if (why[i].code == ENODEV || (got == 0 && why[i].text[0]))
            failed(&process->reply, &why[i]);
}

static void pause_until(int64_t t_ns)
{
    int64_t rest_ns = t_ns - clock_monotonic_ns();
    if (rest_ns > 0)
        nanosleep(&(struct timespec){.tv_nsec = rest_ns}, NULL);
}

static bool has_pending_order(const struct gpu_process *process)
{
    struct pollfd order = {.fd = process->fd, .events = POLLIN};
    return poll(&order, 1, 0) != 0;
}

/* Reads until the counter has changed from what *from says, or the time is over: *last before the
 * change, *next after it. What is done in idle time ends, too, when an order comes. */
static bool await_change(struct gpu_process *process, const struct counter_reading *from, bool idle,
                         struct counter_reading *last, struct counter_reading *next,
                         struct err *why)
{
    int64_t until_ns = clock_monotonic_ns() + EDGE_NS;
    *last = *next = *from;
    /* Read once more after the time is over: it may be this process that was kept waiting. */
    for (bool late = false; next->energy_mj == from->energy_mj && !late;) {
        late = clock_monotonic_ns() >= until_ns || (idle && has_pending_order(process));
        *last = *next;
        pause_until(last->before_ns + EDGE_STEP_NS);
        if (!read_energy_counter(process, next, why)) {
            *next = *last;
            return false;
        }
    }
    return true;
}

/* Shortly before the next change is due, where that is known. */
static void sleep_to_beat(const struct gpu_process *process, int64_t now_ns)
{
    const struct beat *beat = &process->beat;
    int64_t age_ns = now_ns - beat->at_ns;
    if (beat->period_ns == 0 || age_ns > BEAT_OLD_NS)
        return;
    int64_t due_ns = beat->at_ns + (age_ns / beat->period_ns + 1) * beat->period_ns;
    pause_until(due_ns - BEAT_MARGIN_NS - age_ns / BEAT_DRIFT);
}

static bool is_narrow(const struct counter_reading *last, const struct counter_reading *next)
{
    return next->energy_mj != last->energy_mj && next->after_ns - last->before_ns < BEAT_NARROW_NS;
}

static int64_t middle_ns(const struct counter_reading *last, const struct counter_reading *next)
{
    return last->before_ns + (next->after_ns - last->before_ns) / 2;
}

/* Once, while nothing is asked: how far apart changes are, a round figure on all GPUs that are
 * known. */
static void learn_beat(struct gpu_process *process)
{
    struct counter_reading from, last, next;
    struct err why = {0};
    int64_t first_ns = 0, period_ns = 0;
    if (!read_energy_counter(process, &from, &why))
        return;
    for (int i = 0; i <= BEAT_PERIODS; i++, from = next) {
        if (!await_change(process, &from, true, &last, &next, &why) || has_pending_order(process))
            return; /* another time */
        process->beat.learned = !is_narrow(&last, &next);
        if (process->beat.learned)
            return; /* the counter stands, or costs too much: edges are searched for without it */
        process->beat.at_ns = middle_ns(&last, &next);
        first_ns = i == 0 ? process->beat.at_ns : first_ns;
    }
    period_ns = (process->beat.at_ns - first_ns) / BEAT_PERIODS;
    int64_t round_ns = (period_ns + BEAT_ROUND_NS / 2) / BEAT_ROUND_NS * BEAT_ROUND_NS;
    if (round_ns >= 2 * BEAT_MARGIN_NS && llabs(round_ns - period_ns) < BEAT_ROUND_NS / 2 - 1)
        process->beat.period_ns = round_ns;
    process->beat.learned = true;
}

/* Only the reading before the change and the one after it add to the first one; the others are not
 * sent. */
static void measure_edge(struct gpu_process *process)
{
    struct meter_reply *reply = &process->reply;
    struct counter_reading first, last, next;
    struct err why = {0};
    if (!process->has_counter)
        return;
    if (!read_energy_counter(process, &first, &why)) {
        failed(reply, &why);
        return;
    }
    sleep_to_beat(process, first.after_ns);
    bool read = read_energy_counter(process, &next, &why);
    bool missed = read && next.energy_mj != first.energy_mj;
    if (missed) /* it came before it was due: the next one is waited for */
        first = next;
    process->beat.misses = missed ? process->beat.misses + 1 : 0;
    if (process->beat.misses >= BEAT_MISSES)
        process->beat = (struct beat){0};
    if (!read || !await_change(process, &first, false, &last, &next, &why)) {
        failed(reply, &why);
        last = read ? last : first;
        next = last;
    }
    reply->counter[reply->counter_count++] = first;
    if (last.before_ns != first.before_ns)
        reply->counter[reply->counter_count++] = last;
    if (next.before_ns != last.before_ns)
        reply->counter[reply->counter_count++] = next;
    if (is_narrow(&last, &next))
        process->beat.at_ns = middle_ns(&last, &next);
}

static void power(struct gpu_process *process)
{
    struct gpu_readings readings = {0};
    struct err why = {0};
    /* Only the groups that come first, up to the first that gives a figure of the power. */
    for (size_t group = 0;
         group < process->backend->group_count && !gpu_readings_power_w(&readings).valid; group++) {
        int64_t before_ns = clock_monotonic_ns();
        bool read = process->backend->group_read(process->sensor, group, &readings, &why);
        if (read || why.code == ENODEV)
            add_power_sample(&process->reply, before_ns + (clock_monotonic_ns() - before_ns) / 2,
                             gpu_readings_power_w(&readings));
        if (!read && why.code == ENODEV)
            break;
    }
    if (process->reply.power_count == 0)
        failed(&process->reply, &why);
}

static void users(struct gpu_process *process)
{
    struct meter_reply *reply = &process->reply;
    struct err why = {0};
    if (!process->backend->users(process->sensor, &process->users, &why)) {
        failed(reply, &why);
        return;
    }
    for (uint32_t i = 0; i < process->users.count; i++) {
        const struct gpu_user *user = &process->users.users[i];
        reply->users[i] =
            (struct meter_wire_user){.pid = user->pid,
                                     .bits = (user->compute ? METER_USER_COMPUTE : 0U) |
                                             (user->graphics ? METER_USER_GRAPHICS : 0U) |
                                             (user->memory_bytes.valid ? METER_USER_MEMORY : 0U) |
                                             (user->sm_percent.valid ? METER_USER_SHARE : 0U),
                                     .memory_bytes = user->memory_bytes.value,
                                     .sm_percent = user->sm_percent.value};
    }
    if (process->users.told)
        reply->has |= METER_HAS_COMPUTE;
    else
        copy_reason(reply->text, &why);
    reply->user_count = process->users.count;
    reply->left_out = process->users.left_out;
}

static void groups(struct gpu_process *process)
{
    const struct gpu_backend *backend = process->backend;
    struct meter_reply *reply = &process->reply;
    for (size_t i = 0; i < backend->group_count && i < METER_GROUPS_MAX; i++) {
        struct gpu_readings readings = {0};
        struct err why = {0};
        struct meter_group *group = &reply->groups[reply->group_count++];
        int64_t began_ns = clock_monotonic_ns();
        bool read = backend->group_read(process->sensor, i, &readings, &why);
        group->cost_us = (double)(clock_monotonic_ns() - began_ns) / 1000;
        snprintf(group->name, sizeof group->name, "%s", backend->group_name(i));
        snprintf(group->why, sizeof group->why, "%.*s", METER_WHY_SIZE - 1, read ? "" : why.text);
        if (!read && why.code == ENODEV)
            failed(reply, &why);
    }
}

static void hello(struct gpu_process *process)
{
    process->backend->identify(process->sensor, &process->reply.identity);
    answer_tick(process);
    memcpy(process->reply.counter_why, process->counter_why, METER_TEXT_SIZE);
    memcpy(process->reply.trace_why, process->trace_why, METER_TEXT_SIZE);
}

static bool answer_order(struct gpu_process *process, uint32_t kind, uint64_t id)
{
    struct meter_reply *reply = &process->reply;
    memset(reply, 0, sizeof *reply);
    reply->version = METER_VERSION;
    reply->kind = kind;
    reply->id = id;
    reply->began_ns = clock_monotonic_ns();
    if (kind == METER_HELLO)
        hello(process);
    else if (kind == METER_TICK)
        answer_tick(process);
    else if (kind == METER_EDGE)
        measure_edge(process);
    else if (kind == METER_POWER)
        power(process);
    else if (kind == METER_USERS)
        users(process);
    else if (kind == METER_GROUPS)
        groups(process);
    else
        return false;
    reply->has |= (process->has_counter ? METER_HAS_COUNTER : 0U) |
                  (process->has_trace ? METER_HAS_TRACE : 0U);
    reply->ended_ns = clock_monotonic_ns();
    return send(process->fd, reply, sizeof *reply, MSG_NOSIGNAL) == (ssize_t)sizeof *reply;
}

/* The terminal's signals are for the runner; the meter keeps none of its descriptors. */
static void set_up_meter_process(int fd)
{
    static const int ignored[] = {SIGINT,  SIGQUIT, SIGHUP,  SIGTSTP,
                                  SIGTTIN, SIGTTOU, SIGPIPE, SIGWINCH};
    /* a runner that died before this has closed its end */
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    prctl(PR_SET_NAME, TARE_NAME "-meter", 0, 0, 0);
    EACH_OF (item, ignored)
        signal(*item, SIG_IGN);
    sys_signals_unblock_all();
    sys_close_range(3, (unsigned)fd - 1);
    sys_close_range((unsigned)fd + 1, UINT_MAX);
}

static void send_refusal(struct gpu_process *process, const struct err *why)
{
    struct meter_reply *reply = &process->reply;
    reply->version = METER_VERSION;
    reply->kind = METER_HELLO;
    reply->status = METER_REFUSED;
    reply->began_ns = reply->ended_ns = clock_monotonic_ns();
    copy_reason(reply->text, why);
    send(process->fd, reply, sizeof *reply, MSG_NOSIGNAL);
}

static bool is_idle(const struct gpu_process *process)
{
    return poll(&(struct pollfd){.fd = process->fd, .events = POLLIN}, 1, BEAT_IDLE_MS) == 0;
}

static void serve_orders(struct gpu_process *process)
{
    if (!answer_order(process, METER_HELLO, 0))
        return;
    for (unsigned answers = 1;; answers++) {
        if (answers == 1 || answers == SHRINK_AGAIN)
            shrink_now();
        if (process->has_counter && !process->beat.learned && is_idle(process))
            learn_beat(process);
        sample_memory_until_order(process);
        struct meter_order order;
        ssize_t got = recv(process->fd, &order, sizeof order, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got != (ssize_t)sizeof order || order.version != METER_VERSION ||
            !answer_order(process, order.kind, order.id))
            return;
    }
}

int gpu_process_main(const struct gpu_process_options *options)
{
    /* The driver is not bid farewell, which may hang too: what it holds goes with the process. */
    static struct gpu_process serving;
    struct gpu_process *process = &serving;
    struct err err = {0};
    set_up_meter_process(options->fd);
    shrink_prepare();
    process->backend = options->backend;
    process->fd = options->fd;
    process->has_counter = process->has_trace = true;
    if (time_scale_permitted(options->time_scale, options->backend, options->library, &err))
        process->driver = options->backend->open(options->library, &err);
    if (process->driver)
        process->sensor = options->backend->sensor_open(process->driver, options->device, &err);
    bool opened = process->sensor != NULL;
    if (opened)
        serve_orders(process);
    else
        send_refusal(process, &err);
    return opened ? 0 : 1;
}
