#include "measure/gauge.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "measure/gauge_private.h"

#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* What is kept from before a job: for the slope at its start. */
static const int64_t KEPT_NS = 3 * NS_PER_S;

/* Marks that come so soon after each other share a reading. */
static const int64_t MARKS_APART_NS = NS_PER_MS;

/* Ticks of one gauge are a second apart: with a little less, each finds a reading that is new to it. */
static const int64_t SHARED_NS = 900 * NS_PER_MS;

enum { ORDERS_MAX = 8, TAKES_MAX = 64 };

/* Orders are told apart by their number: those that somebody waits for, and the others. */
enum { ORDER_TICK = 1, ORDER_EDGE = 2, ORDER_USERS = 3 };

static bool counts(const struct rapl_domain *domain)
{
    return domain->available && domain->scope != RAPL_PLATFORM;
}

static bool any_counts(const struct host_meter *host)
{
    const struct rapl *rapl = host ? host_meter_rapl(host) : NULL;
    for (size_t i = 0; rapl && i < rapl->count; i++)
        if (counts(&rapl->domains[i]))
            return true;
    return false;
}

bool gauge_useful(const struct gauge_options *options)
{
    return options->gpu_count > 0 || any_counts(options->host);
}

char *gauge_missing_text(const struct gauge_options *options)
{
    const struct rapl *rapl = options->host ? host_meter_rapl(options->host) : NULL;
    struct text text = {0};
    bool no_gpu = options->gpu_count == 0, no_cpu = !any_counts(options->host);
    if (!no_gpu && !no_cpu)
        return NULL;
    text_addf(&text, "%senergy is not measured: ", no_gpu && no_cpu ? "" : no_gpu ? "GPU " : "CPU ");
    if (no_gpu)
        text_addf(&text, "no NVIDIA GPU is seen here%s", no_cpu ? ", and " : "");
    if (no_cpu)
        text_add(&text, rapl && rapl->reason ? rapl->reason : "the CPU's energy counters cannot be read");
    if (no_cpu && rapl && rapl->fix)
        text_addf(&text, "; this would help: %s", rapl->fix);
    return text_take(&text);
}

static void tell_gap(void *data, const struct meter_gap *gap)
{
    struct gauge_meter *meter = data;
    const struct gauge_listener *listener = &meter->gauge->listener;
    if (listener->gap)
        listener->gap(listener->data, meter->label, gap);
}

static void start_meter(struct gauge *gauge, struct gauge_meter *meter, const struct gauge_gpu *gpu,
                        const struct gauge_options *given)
{
    struct meter_options options = {.device = gpu->device,
                                    .program = given->program,
                                    .library = gpu->library,
                                    .vendor = gpu->vendor,
                                    .time_scale = given->time_scale,
                                    .link = given->link,
                                    .gap = tell_gap,
                                    .data = meter};
    *meter = (struct gauge_meter){.gauge = gauge,
                                  .label = mem_strdup(gpu->label),
                                  .vendor = gpu->vendor ? gpu->vendor : gpu_vendor_by_id(NULL)};
    meter->meter = meter_start(&options, &meter->why);
    struct epoll_event event = {.events = EPOLLIN};
    if (meter->meter && epoll_ctl(gauge->epoll, EPOLL_CTL_ADD, meter_fd(meter->meter), &event) != 0) {
        err_sys(&meter->why, "watch the meter");
        meter_free(meter->meter);
        meter->meter = NULL;
    }
}

struct gauge *gauge_new(const struct gauge_options *options, const struct gauge_listener *listener, struct err *err)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0) {
        err_sys(err, "start the meters");
        return NULL;
    }
    struct gauge *gauge = mem_alloc(sizeof *gauge);
    gauge->epoll = epoll;
    gauge->host = options->host;
    gauge->gains = options->gains;
    gauge->shares_host = options->shares_host;
    if (gauge->host) {
        gauge->reader = host_meter_reader(gauge->host);
        if (options->watches_others)
            gauge->others = host_others_new(host_meter_sysroot(gauge->host));
    }
    gauge->calibrated_count = options->calibration_count;
    gauge->calibrated = mem_array(gauge->calibrated_count + 1, sizeof *gauge->calibrated);
    for (size_t i = 0; i < gauge->calibrated_count; i++) {
        const struct calibration *one = &options->calibrations[i];
        const struct gpu_vendor *vendor = gpu_vendor_by_uuid(one->uuid, strlen(one->uuid));
        calibration_profile(one, sensor_profile_find(vendor, one->name), &gauge->calibrated[i]);
    }
    gauge->listener = *listener;
    gauge->count = options->gpu_count;
    gauge->meters = mem_array(gauge->count + 1, sizeof *gauge->meters);
    for (size_t i = 0; i < gauge->count; i++)
        start_meter(gauge, &gauge->meters[i], &options->gpus[i], options);
    return gauge;
}

void gauge_free(struct gauge *gauge)
{
    if (!gauge)
        return;
    gauge->listener = (struct gauge_listener){0}; /* a gap that lasts until now is nobody's */
    gauge_rest(gauge);
    for (size_t i = 0; i < gauge->count; i++) {
        meter_free(gauge->meters[i].meter);
        free(gauge->meters[i].label);
    }
    host_others_free(gauge->others);
    close(gauge->epoll);
    free(gauge->meters);
    free(gauge->calibrated);
    free(gauge->memory);
    free(gauge);
}

int gauge_fd(const struct gauge *gauge)
{
    return gauge->epoll;
}

static void take(struct gauge *gauge, struct gauge_meter *meter, const struct meter_response *response)
{
    const struct gauge_listener *listener = &gauge->listener;
    if (response->id == ORDER_EDGE && meter->waiting > 0)
        meter->waiting--;
    pid_t pid = meter_pid(meter->meter);
    if (gauge->host && pid > 0 && pid != meter->own_pid)
        host_meter_own(gauge->host, meter->own_pid = pid);
    if (response->has_sample && listener->sample)
        listener->sample(listener->data, meter->label, &response->sample);
    bool asked = response->kind == METER_USERS && (response->status == METER_OK || response->status == METER_FAILED);
    if (asked && listener->users)
        listener->users(listener->data, meter->label, response->ended_ns, &response->users);
}

static void tell_lost(struct gauge *gauge, const struct gauge_meter *meter, const char *reason)
{
    if (gauge->listener.lost && meter->meter && meter_describe(meter->meter))
        gauge->listener.lost(gauge->listener.data, meter->label, reason);
}

static void tell_unavailable(struct gauge *gauge, struct gauge_meter *meter)
{
    if (meter->told || (meter->meter && meter_state(meter->meter) != METER_UNAVAILABLE))
        return;
    meter->told = true;
    if (meter->meter)
        err_set(&meter->why, "%s", meter_reason(meter->meter));
    if (gauge->listener.unavailable)
        gauge->listener.unavailable(gauge->listener.data, meter->label, meter->why.text);
    tell_lost(gauge, meter, meter->why.text);
}

void gauge_dispatch(struct gauge *gauge)
{
    for (size_t i = 0; i < gauge->count; i++) {
        struct gauge_meter *meter = &gauge->meters[i];
        struct meter_response response;
        /* Bounded: one meter that answers and answers keeps nobody else waiting. */
        for (int takes = 0; meter->meter && takes < TAKES_MAX && meter_take(meter->meter, &response); takes++) {
            take(gauge, meter, &response);
            if (response.status == METER_GONE)
                tell_lost(gauge, meter, response.text);
        }
        tell_unavailable(gauge, meter);
    }
}

bool gauge_starting(const struct gauge *gauge)
{
    for (size_t i = 0; i < gauge->count; i++)
        if (gauge->meters[i].meter && meter_state(gauge->meters[i].meter) == METER_STARTING)
            return true;
    return false;
}

static void order(struct gauge_meter *meter, enum meter_kind kind, uint64_t id)
{
    if (!meter->meter || meter_pending(meter->meter) >= ORDERS_MAX || !meter_request(meter->meter, kind, id))
        return;
    if (id == ORDER_EDGE)
        meter->waiting++;
}

static void tell_counters(struct gauge *gauge)
{
    const struct gauge_listener *listener = &gauge->listener;
    const struct rapl *rapl = host_meter_rapl(gauge->host);
    for (size_t i = 0; listener->counter && i < rapl->count; i++) {
        const struct series *series = host_meter_series(gauge->host, i);
        if (rapl->domains[i].available && series->counter_count > 0)
            listener->counter(listener->data, i, rapl->domains[i].name, &series->counter[series->counter_count - 1]);
    }
}

static void keep_memory(struct gauge *gauge)
{
    const struct host_job_figures *figures = gauge->has_job ? host_meter_job(gauge->host, gauge->job) : NULL;
    if (!figures || !figures->memory_bytes.valid)
        return;
    gauge->memory = mem_room(gauge->memory, gauge->memory_count, &gauge->memory_capacity, sizeof *gauge->memory);
    gauge->memory[gauge->memory_count++] = (struct gauge_memory){clock_monotonic_ns(), figures->memory_bytes.value};
}

static void tick_host(struct gauge *gauge)
{
    if (!gauge->shares_host || clock_monotonic_ns() - host_meter_ticked_ns(gauge->host) > SHARED_NS)
        host_meter_tick(gauge->host);
}

void gauge_tick(struct gauge *gauge)
{
    for (size_t i = 0; i < gauge->count; i++)
        order(&gauge->meters[i], METER_TICK, ORDER_TICK);
    if (!gauge->host)
        return;
    tick_host(gauge);
    tell_counters(gauge);
    keep_memory(gauge);
}

size_t gauge_reader(const struct gauge *gauge)
{
    return gauge->reader;
}

/* Whose CPU time it is. */
static size_t watched(struct gauge *gauge, size_t job)
{
    host_meter_watch_for(gauge->host, job, gauge->reader);
    return job;
}

void gauge_rest(struct gauge *gauge)
{
    if (gauge->host)
        host_meter_keep(gauge->host, gauge->reader, INT64_MAX);
}

void gauge_prepare(struct gauge *gauge)
{
    int64_t before_ns = clock_monotonic_ns() - KEPT_NS;
    for (size_t i = 0; i < gauge->count; i++) {
        if (gauge->meters[i].meter)
            meter_forget(gauge->meters[i].meter, before_ns);
        order(&gauge->meters[i], METER_TICK, ORDER_TICK);
    }
    gauge->memory_count = 0;
    if (!gauge->host)
        return;
    host_meter_keep(gauge->host, gauge->reader, before_ns);
    host_meter_forget(gauge->host, before_ns);
    tick_host(gauge);
}

void gauge_users(struct gauge *gauge)
{
    for (size_t i = 0; i < gauge->count; i++)
        order(&gauge->meters[i], METER_USERS, ORDER_USERS);
}

size_t gauge_beside(struct gauge *gauge, const struct job_identity *job)
{
    return gauge->host ? watched(gauge, host_meter_watch(gauge->host, job)) : 0;
}

void gauge_beside_end(struct gauge *gauge, size_t number, const struct job_usage *usage)
{
    if (gauge->host)
        host_meter_end(gauge->host, number, usage);
}

static void order_edges(struct gauge *gauge)
{
    for (size_t i = 0; i < gauge->count; i++) {
        order(&gauge->meters[i], METER_EDGE, ORDER_EDGE);
        order(&gauge->meters[i], METER_TICK, ORDER_EDGE); /* the trace beside it */
    }
}

static void begin(struct gauge *gauge)
{
    order_edges(gauge);
    if (!gauge->host)
        return;
    host_meter_edge_of(gauge->host, gauge->has_job ? gauge->job : SIZE_MAX, &gauge->from);
    if (gauge->others)
        host_others_begin(gauge->others);
    gauge->to = gauge->from;
    tell_counters(gauge);
    keep_memory(gauge);
}

void gauge_begin(struct gauge *gauge, const struct job_identity *job)
{
    gauge->has_job = gauge->host && job;
    if (gauge->has_job)
        gauge->job = watched(gauge, host_meter_watch(gauge->host, job));
    begin(gauge);
}

void gauge_begin_process(struct gauge *gauge, pid_t pid, uint64_t start_time)
{
    gauge->has_job = gauge->host != NULL;
    if (gauge->has_job)
        gauge->job = host_meter_watch_tree(gauge->host, pid, start_time);
    begin(gauge);
}

void gauge_mark(struct gauge *gauge)
{
    int64_t now_ns = clock_monotonic_ns();
    if (!gauge->host || now_ns - gauge->mark_ns < MARKS_APART_NS)
        return;
    gauge->mark_ns = now_ns;
    host_meter_counters(gauge->host);
}

void gauge_edge(struct gauge *gauge)
{
    order_edges(gauge);
    if (!gauge->host)
        return;
    host_meter_edge_of(gauge->host, gauge->has_job ? gauge->job : SIZE_MAX, &gauge->to);
    if (gauge->others)
        gauge->to.others_s = host_others_s(gauge->others);
    tell_counters(gauge);
}

void gauge_end(struct gauge *gauge, const struct job_usage *usage)
{
    if (!gauge->host || !gauge->has_job)
        return;
    host_meter_end(gauge->host, gauge->job, usage);
    gauge->has_job = false;
    struct reading others_s = gauge->to.others_s;
    host_meter_edge(gauge->host, &gauge->to);
    gauge->to.others_s = others_s; /* until the command's end: what its tree's end takes is nobody else's */
}

/* NULL: there is none of the last seconds. */
static const struct reading *last_readings(const struct meter *meter)
{
    size_t count = 0;
    const struct gpu_sample *samples = meter ? meter_samples(meter, &count) : NULL;
    if (count == 0 || clock_monotonic_ns() - samples[count - 1].t_ns > KEPT_NS)
        return NULL;
    return samples[count - 1].readings.of;
}

struct reading gauge_power_w(const struct gauge *gauge)
{
    struct reading sum = {0, gauge->count > 0};
    for (size_t i = 0; i < gauge->count; i++) {
        const struct reading *of = last_readings(gauge->meters[i].meter);
        struct reading power_w = {0};
        if (of)
            power_w = of[GPU_POWER_INSTANT_W].valid ? of[GPU_POWER_INSTANT_W] : of[GPU_POWER_AVERAGE_W];
        sum.value += power_w.value;
        sum.valid &= power_w.valid;
    }
    return sum;
}

struct reading gauge_utilisation_percent(const struct gauge *gauge)
{
    struct reading mean = {0, gauge->count > 0};
    for (size_t i = 0; i < gauge->count; i++) {
        const struct reading *of = last_readings(gauge->meters[i].meter);
        mean.valid = mean.valid && of && of[GPU_UTILISATION_PERCENT].valid;
        if (mean.valid)
            mean.value += of[GPU_UTILISATION_PERCENT].value / (double)gauge->count;
    }
    return mean;
}

size_t gauge_waiting(const struct gauge *gauge)
{
    size_t waiting = 0;
    for (size_t i = 0; i < gauge->count; i++)
        waiting += gauge->meters[i].waiting;
    return waiting;
}

struct reading gauge_job_memory(const struct gauge *gauge)
{
    if (gauge->memory_count == 0)
        return (struct reading){0};
    return (struct reading){gauge->memory[gauge->memory_count - 1].bytes, true};
}
