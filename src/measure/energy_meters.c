#include "measure/energy_meters.h"
#include "machine/contain/job.h"
#include "machine/contain/usage.h"
#include "machine/sensors/host_others.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "machine/gpu/vendor.h"
#include "measure/energy_meters_private.h"

#include <math.h>
#include <string.h>
#include <sys/epoll.h>

/* What is kept from before a job: for the slope at its start. */
static const int64_t KEPT_NS = 3 * NS_PER_S;

/* Marks that come so soon after each other share a reading. */
static const int64_t MARKS_APART_NS = NS_PER_MS;

/* Ticks of one energy_meters are a second apart: with a little less, each finds a reading that is
 * new to it. */
static const int64_t SHARED_NS = 900 * NS_PER_MS;

enum { ORDERS_MAX = 8, TAKES_MAX = 64 };

/* Orders are distinguished by their number: those that somebody waits for, and the others. */
enum { ORDER_TICK = 1, ORDER_EDGE = 2, ORDER_USERS = 3 };

static bool any_counts(const struct host_meter *host)
{
    const struct rapl *rapl = host ? host_meter_rapl(host) : NULL;
    for (size_t i = 0; rapl && i < rapl->count; i++)
        if (rapl->domains[i].available && rapl->domains[i].scope != RAPL_PLATFORM)
            return true;
    return false;
}

bool energy_meters_useful(const struct energy_meters_options *options)
{
    return options->gpu_count > 0 || any_counts(options->host);
}

char *energy_meters_missing_text(const struct energy_meters_options *options)
{
    const struct rapl *rapl = options->host ? host_meter_rapl(options->host) : NULL;
    struct text text = {0};
    bool no_gpu = options->gpu_count == 0, no_cpu = !any_counts(options->host);
    if (!no_gpu && !no_cpu)
        return NULL;
    AUTO_FREE char *vendors = gpu_vendor_names();
    text_addf(&text, "%senergy is not measured: ",
              no_gpu && no_cpu ? ""
              : no_gpu         ? "GPU "
                               : "CPU ");
    if (no_gpu)
        text_addf(&text, "no %s GPU is seen here%s", vendors, no_cpu ? ", and " : "");
    if (no_cpu)
        text_add(&text,
                 rapl && rapl->reason ? rapl->reason : "the CPU's energy counters cannot be read");
    if (no_cpu && rapl && rapl->fix)
        text_addf(&text, "; this would help: %s", rapl->fix);
    return text_take(&text);
}

static void report_gap(void *data, const struct meter_gap *gap)
{
    struct energy_meters_meter *meter = data;
    const struct energy_meters_listener *listener = &meter->energy_meters->listener;
    if (listener->gap)
        listener->gap(listener->data, meter->label, gap);
}

static void start_meter(struct energy_meters *energy_meters, struct energy_meters_meter *meter,
                        const struct energy_meters_gpu *gpu,
                        const struct energy_meters_options *given)
{
    struct meter_options options = {.device = gpu->device,
                                    .program = given->program,
                                    .library = gpu->library,
                                    .vendor = gpu->vendor,
                                    .time_scale = given->time_scale,
                                    .gap = report_gap,
                                    .data = meter};
    *meter =
        (struct energy_meters_meter){.energy_meters = energy_meters,
                                     .label = mem_strdup(gpu->label),
                                     .vendor = gpu->vendor ? gpu->vendor : gpu_vendor_by_id(NULL)};
    meter->meter = meter_start(&options, &meter->why);
    struct epoll_event event = {.events = EPOLLIN};
    if (meter->meter &&
        epoll_ctl(energy_meters->epoll, EPOLL_CTL_ADD, meter_fd(meter->meter), &event) != 0) {
        err_sys(&meter->why, "watch the meter");
        meter_free(meter->meter);
        meter->meter = NULL;
    }
}

static void set_profile(const struct calibration *from, struct calibration_profile *out)
{
    const struct gpu_vendor *vendor = gpu_vendor_by_uuid(from->uuid, strlen(from->uuid));
    calibration_profile(from, sensor_profile_find(vendor, from->name), out);
}

static const struct gpu_identity *identity_of(const struct energy_meters *energy_meters,
                                              size_t place)
{
    const struct meter *meter =
        place < energy_meters->count ? energy_meters->meters[place].meter : NULL;
    const struct meter_description *about = meter ? meter_describe(meter) : NULL;
    return about ? &about->identity : NULL;
}

bool energy_meters_is_calibrated(const struct energy_meters *energy_meters, size_t place)
{
    const struct gpu_identity *identity = identity_of(energy_meters, place);
    EACH (item, energy_meters->calibrated, energy_meters->calibrated_count)
        if (identity && calibration_is_of(&item->from, identity))
            return true;
    return !identity;
}

bool energy_meters_calibrate(struct energy_meters *energy_meters, size_t place,
                             const struct calibration *calibration)
{
    const struct gpu_identity *identity = identity_of(energy_meters, place);
    if (!identity || !calibration_is_of(calibration, identity) ||
        energy_meters_is_calibrated(energy_meters, place))
        return false;
    set_profile(calibration, &energy_meters->calibrated[energy_meters->calibrated_count++]);
    return true;
}

struct energy_meters *energy_meters_new(const struct energy_meters_options *options,
                                        const struct energy_meters_listener *listener,
                                        struct err *err)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0) {
        err_sys(err, "start the meters");
        return NULL;
    }
    struct energy_meters *energy_meters = mem_alloc(sizeof *energy_meters);
    energy_meters->epoll = epoll;
    energy_meters->host = options->host;
    energy_meters->shares_host = options->shares_host;
    if (energy_meters->host) {
        energy_meters->reader = host_meter_reader(energy_meters->host);
        if (options->watches_others)
            energy_meters->others = host_others_new(host_meter_sysroot(energy_meters->host));
    }
    energy_meters->calibrated_count = options->calibration_count;
    /* A profile points into itself: there is room for those that come later. */
    size_t most = options->calibration_count + options->gpu_count;
    energy_meters->calibrated = mem_array(most + 1, sizeof *energy_meters->calibrated);
    for (size_t i = 0; i < energy_meters->calibrated_count; i++)
        set_profile(&options->calibrations[i], &energy_meters->calibrated[i]);
    energy_meters->listener = *listener;
    energy_meters->count = options->gpu_count;
    energy_meters->meters = mem_array(energy_meters->count + 1, sizeof *energy_meters->meters);
    for (size_t i = 0; i < energy_meters->count; i++)
        start_meter(energy_meters, &energy_meters->meters[i], &options->gpus[i], options);
    return energy_meters;
}

void energy_meters_free(struct energy_meters *energy_meters)
{
    if (!energy_meters)
        return;
    /* a gap that lasts until now is nobody's */
    energy_meters->listener = (struct energy_meters_listener){0};
    energy_meters_rest(energy_meters);
    EACH (item, energy_meters->meters, energy_meters->count) {
        meter_free(item->meter);
        free(item->label);
    }
    host_others_free(energy_meters->others);
    close(energy_meters->epoll);
    free(energy_meters->meters);
    free(energy_meters->calibrated);
    free(energy_meters->memory);
    free(energy_meters);
}

int energy_meters_fd(const struct energy_meters *energy_meters)
{
    return energy_meters->epoll;
}

static void handle_meter_response(struct energy_meters *energy_meters,
                                  struct energy_meters_meter *meter,
                                  const struct meter_response *response)
{
    const struct energy_meters_listener *listener = &energy_meters->listener;
    if (response->id == ORDER_EDGE && meter->waiting > 0)
        meter->waiting--;
    pid_t pid = meter_pid(meter->meter);
    if (energy_meters->host && pid > 0 && pid != meter->own_pid)
        host_meter_own(energy_meters->host, meter->own_pid = pid);
    if (response->has_sample && listener->sample)
        listener->sample(listener->data, meter->label, &response->sample);
    bool asked = response->kind == METER_USERS &&
                 (response->status == METER_OK || response->status == METER_FAILED);
    if (asked && listener->users)
        listener->users(listener->data, meter->label, response->ended_ns, &response->users);
}

static void report_lost_gpu(struct energy_meters *energy_meters,
                            const struct energy_meters_meter *meter, const char *reason)
{
    if (energy_meters->listener.lost && meter->meter && meter_describe(meter->meter))
        energy_meters->listener.lost(energy_meters->listener.data, meter->label, reason);
}

static void report_unavailable(struct energy_meters *energy_meters,
                               struct energy_meters_meter *meter)
{
    if (meter->told || (meter->meter && meter_state(meter->meter) != METER_UNAVAILABLE))
        return;
    meter->told = true;
    if (meter->meter)
        err_set(&meter->why, "%s", meter_reason(meter->meter));
    if (energy_meters->listener.unavailable)
        energy_meters->listener.unavailable(energy_meters->listener.data, meter->label,
                                            meter->why.text);
    report_lost_gpu(energy_meters, meter, meter->why.text);
}

void energy_meters_dispatch(struct energy_meters *energy_meters)
{
    for (size_t i = 0; i < energy_meters->count; i++) {
        struct energy_meters_meter *meter = &energy_meters->meters[i];
        struct meter_response response;
        /* Bounded: one meter that answers and answers keeps nobody else waiting. */
        for (int takes = 0;
             meter->meter && takes < TAKES_MAX && meter_take(meter->meter, &response); takes++) {
            handle_meter_response(energy_meters, meter, &response);
            if (response.status == METER_GONE)
                report_lost_gpu(energy_meters, meter, response.text);
        }
        report_unavailable(energy_meters, meter);
    }
}

bool energy_meters_starting(const struct energy_meters *energy_meters)
{
    EACH (item, energy_meters->meters, energy_meters->count)
        if (item->meter && meter_state(item->meter) == METER_STARTING)
            return true;
    return false;
}

static void order(struct energy_meters_meter *meter, enum meter_kind kind, uint64_t id)
{
    if (!meter->meter || meter_pending(meter->meter) >= ORDERS_MAX ||
        !meter_request(meter->meter, kind, id))
        return;
    if (id == ORDER_EDGE)
        meter->waiting++;
}

static void report_counters(struct energy_meters *energy_meters)
{
    const struct energy_meters_listener *listener = &energy_meters->listener;
    const struct rapl *rapl = host_meter_rapl(energy_meters->host);
    for (size_t i = 0; listener->counter && i < rapl->count; i++) {
        const struct series *series = host_meter_series(energy_meters->host, i);
        if (rapl->domains[i].available && series->counter_count > 0)
            listener->counter(listener->data, i, rapl->domains[i].name,
                              &series->counter[series->counter_count - 1]);
    }
}

static void keep_memory(struct energy_meters *energy_meters)
{
    const struct host_job_figures *figures =
        energy_meters->has_job ? host_meter_job(energy_meters->host, energy_meters->job) : NULL;
    if (!figures || !figures->memory_bytes.valid)
        return;
    MEM_ADD(energy_meters->memory, energy_meters->memory_count) =
        (struct energy_meters_memory){clock_monotonic_ns(), figures->memory_bytes.value};
}

static void tick_host(struct energy_meters *energy_meters)
{
    if (!energy_meters->shares_host ||
        clock_monotonic_ns() - host_meter_ticked_ns(energy_meters->host) > SHARED_NS)
        host_meter_tick(energy_meters->host);
}

void energy_meters_tick(struct energy_meters *energy_meters)
{
    EACH (meter, energy_meters->meters, energy_meters->count)
        order(meter, METER_TICK, ORDER_TICK);
    if (!energy_meters->host)
        return;
    tick_host(energy_meters);
    report_counters(energy_meters);
    keep_memory(energy_meters);
}

size_t energy_meters_reader(const struct energy_meters *energy_meters)
{
    return energy_meters->reader;
}

/* Whose CPU time it is. */
static size_t watched(struct energy_meters *energy_meters, size_t job)
{
    host_meter_watch_for(energy_meters->host, job, energy_meters->reader);
    return job;
}

void energy_meters_rest(struct energy_meters *energy_meters)
{
    if (energy_meters->host)
        host_meter_keep(energy_meters->host, energy_meters->reader, INT64_MAX);
}

void energy_meters_prepare(struct energy_meters *energy_meters)
{
    int64_t before_ns = clock_monotonic_ns() - KEPT_NS;
    EACH (item, energy_meters->meters, energy_meters->count) {
        if (item->meter)
            meter_forget(item->meter, before_ns);
        order(item, METER_TICK, ORDER_TICK);
    }
    energy_meters->memory_count = 0;
    if (!energy_meters->host)
        return;
    host_meter_keep(energy_meters->host, energy_meters->reader, before_ns);
    host_meter_forget(energy_meters->host, before_ns);
    tick_host(energy_meters);
}

void energy_meters_users(struct energy_meters *energy_meters)
{
    EACH (meter, energy_meters->meters, energy_meters->count)
        order(meter, METER_USERS, ORDER_USERS);
}

size_t energy_meters_beside(struct energy_meters *energy_meters, const struct job_identity *job)
{
    return energy_meters->host ? watched(energy_meters, host_meter_watch(energy_meters->host, job))
                               : 0;
}

void energy_meters_beside_end(struct energy_meters *energy_meters, size_t number,
                              const struct job_usage *usage)
{
    if (energy_meters->host)
        host_meter_end(energy_meters->host, number, usage);
}

static void order_meter_edges(struct energy_meters *energy_meters)
{
    EACH (meter, energy_meters->meters, energy_meters->count) {
        order(meter, METER_EDGE, ORDER_EDGE);
        order(meter, METER_TICK, ORDER_EDGE); /* the trace beside it */
    }
}

static void begin_stretch(struct energy_meters *energy_meters)
{
    order_meter_edges(energy_meters);
    if (!energy_meters->host)
        return;
    host_meter_edge_of(energy_meters->host, energy_meters->has_job ? energy_meters->job : SIZE_MAX,
                       &energy_meters->from);
    if (energy_meters->others)
        host_others_begin(energy_meters->others);
    energy_meters->to = energy_meters->from;
    report_counters(energy_meters);
    keep_memory(energy_meters);
}

void energy_meters_begin(struct energy_meters *energy_meters, const struct job_identity *job)
{
    energy_meters->has_job = energy_meters->host && job;
    if (energy_meters->has_job)
        energy_meters->job = watched(energy_meters, host_meter_watch(energy_meters->host, job));
    begin_stretch(energy_meters);
}

void energy_meters_begin_process(struct energy_meters *energy_meters, pid_t pid,
                                 uint64_t start_time)
{
    energy_meters->has_job = energy_meters->host != NULL;
    if (energy_meters->has_job)
        energy_meters->job = host_meter_watch_tree(energy_meters->host, pid, start_time);
    begin_stretch(energy_meters);
}

void energy_meters_mark(struct energy_meters *energy_meters)
{
    int64_t now_ns = clock_monotonic_ns();
    if (!energy_meters->host || now_ns - energy_meters->mark_ns < MARKS_APART_NS)
        return;
    energy_meters->mark_ns = now_ns;
    host_meter_counters(energy_meters->host);
}

static void see_others(struct energy_meters *energy_meters)
{
    energy_meters->to.others_s = host_others_s(energy_meters->others);
    host_others_busiest(energy_meters->others, &energy_meters->to.busiest);
}

void energy_meters_edge(struct energy_meters *energy_meters)
{
    order_meter_edges(energy_meters);
    if (!energy_meters->host)
        return;
    host_meter_edge_of(energy_meters->host, energy_meters->has_job ? energy_meters->job : SIZE_MAX,
                       &energy_meters->to);
    if (energy_meters->others)
        see_others(energy_meters);
    report_counters(energy_meters);
}

void energy_meters_end(struct energy_meters *energy_meters, const struct job_usage *usage)
{
    if (!energy_meters->host || !energy_meters->has_job)
        return;
    host_meter_end(energy_meters->host, energy_meters->job, usage);
    energy_meters->has_job = false;
    struct host_edge before = energy_meters->to;
    host_meter_edge(energy_meters->host, &energy_meters->to);
    /* Until the command's end: what its tree's end takes is the job's own. */
    energy_meters->to.others_s = before.others_s;
    energy_meters->to.busiest = before.busiest;
}

/* NULL: there is none of the last seconds. */
static const struct gpu_readings *last_readings(const struct meter *meter)
{
    size_t count = 0;
    const struct gpu_sample *samples = meter ? meter_samples(meter, &count) : NULL;
    if (count == 0 || clock_monotonic_ns() - samples[count - 1].t_ns > KEPT_NS)
        return NULL;
    return &samples[count - 1].readings;
}

struct reading energy_meters_power_w(const struct energy_meters *energy_meters)
{
    struct reading sum = {0, energy_meters->count > 0};
    EACH (item, energy_meters->meters, energy_meters->count) {
        const struct gpu_readings *last = last_readings(item->meter);
        struct reading power_w = last ? gpu_readings_power_w(last) : (struct reading){0};
        sum.value += power_w.value;
        sum.valid &= power_w.valid;
    }
    return sum;
}

struct reading energy_meters_now(const struct energy_meters *energy_meters, enum gpu_reading which,
                                 enum energy_meters_over over)
{
    struct reading out = {0, energy_meters->count > 0};
    for (size_t i = 0; i < energy_meters->count; i++) {
        const struct gpu_readings *last = last_readings(energy_meters->meters[i].meter);
        if (!last || !last->of[which].valid)
            return (struct reading){0};
        double value = last->of[which].value;
        out.value = over != ENERGY_HIGHEST ? out.value + value
                    : i > 0                ? fmax(out.value, value)
                                           : value;
    }
    if (over == ENERGY_MEAN && out.valid)
        out.value /= (double)energy_meters->count;
    return out;
}

size_t energy_meters_waiting(const struct energy_meters *energy_meters)
{
    size_t waiting = 0;
    EACH (meter, energy_meters->meters, energy_meters->count)
        waiting += meter->waiting;
    return waiting;
}

struct reading energy_meters_job_memory(const struct energy_meters *energy_meters)
{
    if (energy_meters->memory_count == 0)
        return (struct reading){0};
    return (struct reading){energy_meters->memory[energy_meters->memory_count - 1].bytes, true};
}
