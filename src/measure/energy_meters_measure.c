#include "measure/energy_meters_measure.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "machine/sensors/host_window.h"
#include "measure/energy_meters_private.h"
#include "stats/interval.h"
#include "tare_build.h"

#include <math.h>
#include <string.h>

/* A mark counts when it arrives: so late at most (docs/reference/measuring.md). */
static const int64_t MARK_HALF_NS = 4 * NS_PER_MS;

/* Boards draw more than their limit for moments; a counter that rose by more than this is wrong. */
static const double LIMIT_MARGIN = 1.5;

const char *energy_meters_scope_name(enum energy_meters_scope scope)
{
    static const char *const names[] = {"GPU board", "CPU package", "DRAM", "platform"};
    return names[scope];
}

/* The time that is asked for, and how it is to be cut. */
struct stretch {
    int64_t start_ns, end_ns;
    const struct epoch *epochs;
    size_t epoch_count;
    const struct step_fold *steps;
};

static void keep_larger(struct reading *to, struct reading value)
{
    if (value.valid && (!to->valid || value.value > to->value))
        *to = value;
}

/* The figures that come once a second. */
static void fill_samples(const struct meter *meter, struct energy_meters_figures *out)
{
    size_t count = 0, summed[GPU_FIGURE_COUNT] = {0};
    const struct gpu_sample *samples = meter ? meter_samples(meter, &count) : NULL;
    size_t first = FIRST_PLACE(at, 0, count, samples[at].t_ns >= out->window.start_ns);
    for (size_t i = first; i < count && samples[i].t_ns <= out->window.end_ns; i++) {
        const struct reading *of = samples[i].readings.of;
        for (size_t k = 0; k < GPU_FIGURE_COUNT; k++) {
            struct reading *figure = &out->figures[k], value = of[gpu_figures[k].of];
            if (gpu_figures[k].how == GPU_MAX)
                keep_larger(figure, value);
            else if (value.valid)
                *figure = (struct reading){figure->value + value.value, ++summed[k]};
        }
        if (of[GPU_POWER_LIMIT_W].valid)
            out->power_limit_w = of[GPU_POWER_LIMIT_W];
        if (of[GPU_CLOCK_REASONS].valid)
            out->clock_reasons |= (unsigned)of[GPU_CLOCK_REASONS].value;
    }
    for (size_t k = 0; k < GPU_FIGURE_COUNT; k++)
        if (summed[k])
            out->figures[k].value /= (double)summed[k];
}

static struct calibration_profile *find_calibration(const struct energy_meters *energy_meters,
                                                    const struct gpu_identity *identity)
{
    EACH (item, energy_meters->calibrated, energy_meters->calibrated_count)
        if (calibration_is_of(&item->from, identity))
            return item;
    return NULL;
}

static struct window_sensor gpu_sensor(const struct gpu_vendor *vendor, const struct meter *meter,
                                       const struct sensor_profile *profile)
{
    struct window_sensor sensor = window_sensor_gpu;
    sensor.counter_source = vendor->counter_source;
    sensor.power_source = vendor->power_source;
    sensor_behaviour_apply(&profile->behaviour, &sensor);
    sensor.reading = profile->reading;
    size_t count;
    const struct gpu_sample *samples = meter_samples(meter, &count);
    EACH (sample, samples, count) {
        struct reading limit = sample->readings.of[GPU_POWER_LIMIT_W];
        if (limit.valid && limit.value > sensor.power_held_w)
            sensor.power_held_w = limit.value;
    }
    sensor.power_limit_w = sensor.power_held_w * LIMIT_MARGIN;
    return sensor;
}

static struct window_sensor rapl_sensor(const struct rapl_domain *domain)
{
    struct window_sensor sensor = window_sensor_rapl;
    sensor.counter_source = rapl_source_name(domain->source);
    if (domain->update_s.valid && domain->update_s.value > 0)
        sensor.update_period_ns = llround(domain->update_s.value * NS_PER_S);
    if (domain->quantum_j.valid && domain->quantum_j.value * 1000 > sensor.quantum_mj)
        sensor.quantum_mj = domain->quantum_j.value * 1000;
    return sensor;
}

/* Adds a device to the sum of its scope; the sum of one device is a copy of it. */
static void add_device_figures(struct energy_meters_figures *sum,
                               const struct energy_meters_figures *device)
{
    struct energy_meters_figures before = *sum;
    if (sum->devices++ == 0) {
        *sum = *device;
        sum->name = sum->uuid = NULL;
        sum->identity = NULL;
        sum->profile = NULL;
        sum->calibration = NULL;
        sum->contradiction = NULL;
        sum->contradicted_sha256 = NULL;
        sum->devices = 1;
        return;
    }
    struct window_energy *to = &sum->window;
    const struct window_energy *more = &device->window;
    bool both = to->energy_j.valid && more->energy_j.valid;
    energy_budget_add_parts(&to->parts, &more->parts);
    sum->gain =
        energy_budget_add_gain(to->energy_j.value, &sum->gain, more->energy_j.value, &device->gain);
    to->energy_j = (struct reading){to->energy_j.value + more->energy_j.value, both};
    sum->energy_mj += device->energy_mj;
    /* Different sensors: their read-outs err independently. */
    to->half_width_j = (struct reading){hypot(to->half_width_j.value, more->half_width_j.value),
                                        to->half_width_j.valid && more->half_width_j.valid};
    /* What runs on several may be in step with all of them. */
    to->aliasing_bound_j =
        (struct reading){to->aliasing_bound_j.value + more->aliasing_bound_j.value,
                         to->aliasing_bound_j.valid && more->aliasing_bound_j.valid};
    to->power_mean_w = (struct reading){to->power_mean_w.value + more->power_mean_w.value,
                                        to->power_mean_w.valid && more->power_mean_w.valid};
    to->power_max_w = to->power_min_w = to->power_cv_within = to->integral_j =
        to->integral_half_width_j = (struct reading){0};
    to->covered_share = fmin(to->covered_share, more->covered_share);
    to->longest_gap_ns =
        to->longest_gap_ns > more->longest_gap_ns ? to->longest_gap_ns : more->longest_gap_ns;
    to->disagrees |= more->disagrees;
    to->flags |= more->flags;
    if (strcmp(to->source, more->source) != 0)
        to->source = both ? "mixed" : "none";
    /* Every device counts the same; the highest is that of any one. */
    double parts = (double)before.devices;
    for (size_t i = 0; i < GPU_FIGURE_COUNT; i++) {
        struct reading *figure = &sum->figures[i], other = device->figures[i];
        if (gpu_figures[i].how == GPU_MAX)
            keep_larger(figure, other);
        else
            *figure = (struct reading){(figure->value * parts + other.value) / (parts + 1),
                                       figure->valid && other.valid};
    }
    sum->clock_reasons |= device->clock_reasons;
}

/* Epochs of one name follow each other without a gap: they are the pieces of one cut. */
static void cut_epochs_of_name(const struct window_index *index, const struct stretch *stretch,
                               size_t first, size_t count,
                               const struct energy_meters_figures *device,
                               const struct meter *meter, struct energy_meters_epoch *epochs)
{
    AUTO(cleanup_free) struct window_mark *marks = mem_array(count, sizeof *marks);
    AUTO(cleanup_free) struct window_piece *pieces = mem_array(count, sizeof *pieces);
    for (size_t i = 0; i + 1 < count; i++)
        marks[i] = (struct window_mark){stretch->epochs[first + i].end_ns, MARK_HALF_NS};
    window_cut(index, stretch->start_ns, stretch->end_ns, marks, count - 1, pieces);
    for (size_t i = 0; i < count; i++) {
        struct energy_meters_figures part = {.scope = device->scope, .window = pieces[i].window};
        part.energy_mj = pieces[i].energy_mj;
        /* What was bridged has an energy, as all pieces add up, but nobody knows how wrong it
         * is. */
        part.window.energy_j =
            (struct reading){(double)part.energy_mj / 1000, device->window.energy_j.valid};
        fill_samples(meter, &part);
        add_device_figures(&epochs[first + i].of[device->scope], &part);
    }
}

static void cut_epochs(const struct window_index *index, const struct stretch *stretch,
                       const struct energy_meters_figures *device, const struct meter *meter,
                       struct energy_meters_epoch *epochs)
{
    for (size_t first = 0, next; first < stretch->epoch_count; first = next) {
        next = first + 1;
        while (next < stretch->epoch_count &&
               strcmp(stretch->epochs[next].name, stretch->epochs[first].name) == 0)
            next++;
        cut_epochs_of_name(index, stretch, first, next - first, device, meter, epochs);
    }
}

/* When each step of the job began, and the last one's end. */
static void add_step_begins(const struct step_fold *fold, struct window_index *index)
{
    AUTO_FREE int64_t *begins = mem_array(fold->steps + 1, sizeof *begins);
    for (size_t i = 0; i < fold->steps; i++)
        begins[i] = fold->edge_ns[i * (fold->phase_count + 1)];
    if (fold->steps > 0)
        begins[fold->steps] = fold->edge_ns[fold->steps * (fold->phase_count + 1) - 1];
    window_index_steps(index, begins, fold->steps > 0 ? fold->steps + 1 : 0);
}

static void measure_device(const struct series *series, const struct window_sensor *sensor,
                           const struct stretch *stretch, const struct meter *meter,
                           struct energy_meters_figures *device, struct energy_meters_result *out)
{
    struct window_index *index = window_index_new(series, sensor);
    struct window_piece whole;
    add_step_begins(stretch->steps, index);
    window_cut(index, stretch->start_ns, stretch->end_ns, NULL, 0, &whole);
    device->window = whole.window;
    device->energy_mj = whole.energy_mj;
    /* In whole millijoules, as its epochs are: they add up to it. */
    if (device->window.energy_j.valid)
        device->window.energy_j.value = (double)device->energy_mj / 1000;
    device->devices = 1;
    fill_samples(meter, device);
    cut_epochs(index, stretch, device, meter, out->epochs);
    window_index_free(index);
    add_device_figures(&out->sums[device->scope], device);
}

/* Whether counter and samples of a calibrated sensor contradict each other over the whole
 * stretch. */
static bool stretch_disagrees(const struct series *series, const struct window_sensor *sensor,
                              const struct stretch *stretch)
{
    struct window_index *index = window_index_new(series, sensor);
    struct window_piece whole;
    add_step_begins(stretch->steps, index);
    window_cut(index, stretch->start_ns, stretch->end_ns, NULL, 0, &whole);
    window_index_free(index);
    return whole.window.disagrees;
}

static void add_missing_meter(struct energy_meters_result *out, enum energy_meters_scope scope,
                              const char *name, const char *reason)
{
    out->missing[out->missing_count++] =
        (struct energy_meters_missing){scope, name, reason ? reason : "unknown"};
}

/* By its calibration, which is not used any more once the readings contradict it: later ones may
 * only fail to show it. */
static struct window_sensor choose_sensor(const struct energy_meters_meter *meter,
                                          const struct stretch *stretch,
                                          struct energy_meters_figures *device)
{
    const struct series *series = meter_series(meter->meter);
    struct calibration_profile *found = find_calibration(meter->energy_meters, device->identity);
    if (found && !*found->contradiction) {
        struct window_sensor sensor = gpu_sensor(meter->vendor, meter->meter, &found->of);
        device->calibration = &found->from;
        device->profile = &found->of;
        device->gain = found->of.gain;
        if (!calibration_contradicted(found, series, found->contradiction,
                                      sizeof found->contradiction) &&
            !stretch_disagrees(series, &sensor, stretch))
            return sensor;
        if (!*found->contradiction)
            snprintf(found->contradiction, sizeof found->contradiction,
                     "by its calibration its counter and its power samples disagree");
    }
    device->contradiction = found ? found->contradiction : NULL;
    device->contradicted_sha256 = found ? found->from.sha256 : NULL;
    device->calibration = NULL;
    device->profile = sensor_profile_find(meter->vendor, device->identity->name);
    device->gain = device->profile->gain;
    return gpu_sensor(meter->vendor, meter->meter, device->profile);
}

static void measure_gpu(const struct energy_meters_meter *meter, const struct stretch *stretch,
                        struct energy_meters_result *out)
{
    const struct meter_description *about = meter->meter ? meter_describe(meter->meter) : NULL;
    if (!about) {
        bool starts = meter->meter && meter_state(meter->meter) == METER_STARTING;
        add_missing_meter(out, ENERGY_GPU, meter->label,
                          starts         ? "its driver has not answered yet"
                          : meter->meter ? meter_reason(meter->meter)
                                         : meter->why.text);
        return;
    }
    if (about->identity.mig == GPU_MIG_ON || about->identity.mig == GPU_MIG_PART) {
        add_missing_meter(out, ENERGY_GPU, meter->label,
                          "it is divided into parts (MIG), whose energy nobody can tell");
        return;
    }
    struct energy_meters_figures *device = &out->devices[out->device_count++];
    *device = (struct energy_meters_figures){.scope = ENERGY_GPU,
                                             .name = meter->label,
                                             .uuid = about->identity.uuid,
                                             .identity = &about->identity};
    struct window_sensor sensor = choose_sensor(meter, stretch, device);
    measure_device(meter_series(meter->meter), &sensor, stretch, meter->meter, device, out);
}

static void measure_host(const struct host_meter *host, const struct stretch *stretch,
                         struct energy_meters_result *out)
{
    static const enum energy_meters_scope scopes[] = {[RAPL_PACKAGE] = ENERGY_PACKAGE,
                                                      [RAPL_DRAM] = ENERGY_DRAM,
                                                      [RAPL_PLATFORM] = ENERGY_PLATFORM};
    const struct rapl *rapl = host_meter_rapl(host);
    for (size_t i = 0; i < rapl->count; i++) {
        const struct rapl_domain *domain = &rapl->domains[i];
        enum energy_meters_scope scope = scopes[domain->scope];
        if (!domain->available) {
            add_missing_meter(out, scope, domain->name, domain->reason);
            continue;
        }
        struct window_sensor sensor = rapl_sensor(domain);
        struct energy_meters_figures *device = &out->devices[out->device_count++];
        *device = (struct energy_meters_figures){
            .scope = scope, .name = domain->name, .gain = sensor_gain_rapl};
        measure_device(host_meter_series(host, i), &sensor, stretch, NULL, device, out);
    }
}

static void add_host_memory(const struct energy_meters *energy_meters,
                            const struct stretch *stretch, struct energy_meters_result *out)
{
    for (size_t i = 0; i < stretch->epoch_count; i++) {
        const struct epoch *epoch = &stretch->epochs[i];
        const struct energy_meters_memory *memory = energy_meters->memory;
        size_t first =
            FIRST_PLACE(at, 0, energy_meters->memory_count, memory[at].t_ns >= epoch->start_ns);
        for (size_t k = first; k < energy_meters->memory_count && memory[k].t_ns <= epoch->end_ns;
             k++)
            keep_larger(&out->epochs[i].host_memory_peak_bytes,
                        (struct reading){memory[k].bytes, true});
    }
}

/* A sum without one of its parts is none. */
static void spoil(struct energy_meters_figures *sum)
{
    struct window_energy *window = &sum->window;
    window->energy_j.valid = window->half_width_j.valid = window->power_mean_w.valid =
        window->power_max_w.valid = window->power_min_w.valid = window->power_cv_within.valid =
            false;
    window->source = "none";
}

static bool is_calibrated(const struct energy_meters *energy_meters,
                          const struct sensor_profile *profile)
{
    EACH (item, energy_meters->calibrated, energy_meters->calibrated_count)
        if (profile == &item->of)
            return true;
    return false;
}

static void measure_steps(const struct energy_meters *energy_meters, const struct step_fold *fold,
                          struct energy_meters_result *out)
{
    out->steps = mem_array(energy_meters->count + 1, sizeof *out->steps);
    EACH (item, energy_meters->meters, energy_meters->count)
        EACH (device, out->devices, out->device_count) {
            if (device->scope != ENERGY_GPU || device->name != item->label)
                continue;
            struct step_sensor sensor = {.behaviour = &device->profile->behaviour,
                                         .calibrated =
                                             is_calibrated(energy_meters, device->profile),
                                         .gain_bound = device->gain.bound,
                                         .mark_s = (double)MARK_HALF_NS / (double)NS_PER_S};
            struct energy_meters_steps *steps = &out->steps[out->step_count++];
            steps->name = device->name;
            steps->uuid = device->uuid;
            step_power_estimate(fold, meter_series(item->meter), &sensor, &steps->power);
        }
}

void energy_meters_measure(const struct energy_meters *energy_meters, int64_t start_ns,
                           int64_t end_ns, const struct epoch *epochs, size_t epoch_count,
                           struct step_marks *marks, struct energy_meters_result *out)
{
    struct step_fold fold = {0};
    if (marks && marks->count > 0)
        step_fold(marks, start_ns, end_ns, &fold);
    struct stretch stretch = {start_ns, end_ns, epochs, epoch_count, &fold};
    size_t most = energy_meters->count +
                  (energy_meters->host ? host_meter_rapl(energy_meters->host)->count : 0) + 1;
    *out = (struct energy_meters_result){
        .devices = mem_array(most, sizeof *out->devices),
        .missing = mem_array(most, sizeof *out->missing),
        .epochs = mem_array(epoch_count + 1, sizeof *out->epochs),
        .epoch_count = epoch_count,
    };
    EACH (meter, energy_meters->meters, energy_meters->count)
        measure_gpu(meter, &stretch, out);
    if (energy_meters->host) {
        measure_host(energy_meters->host, &stretch, out);
        add_host_memory(energy_meters, &stretch, out);
        host_window_between(&energy_meters->from, &energy_meters->to, &out->host);
        const struct host_job_figures *job =
            host_meter_job(energy_meters->host, energy_meters->job);
        if (job) {
            out->job = *job;
            host_window_set_job(&out->host, job);
        }
    }
    for (size_t i = 0; i < out->missing_count; i++) {
        spoil(&out->sums[out->missing[i].scope]);
        EACH (item, out->epochs, epoch_count)
            spoil(&item->of[out->missing[i].scope]);
    }
    if (marks && marks->count > 0)
        measure_steps(energy_meters, &fold, out);
    step_fold_fini(&fold);
}

const char *energy_meters_remedy(const struct energy_meters_figures *device)
{
    static const enum window_part of_profile[] = {WINDOW_PART_EDGES, WINDOW_PART_AVERAGING,
                                                  WINDOW_PART_UNSEEN, WINDOW_PART_LAG};
    const struct window_energy *window = &device->window;
    double variance = 0, half_width_j = window->half_width_j.value;
    EACH_OF (part, of_profile)
        variance += pow(HALF_WIDTH_DEVIATIONS * window->parts.j[*part], 2);
    bool is_short = window->end_ns - window->start_ns < NS_PER_S;
    bool by_profile = !is_short && variance > 0.5 * half_width_j * half_width_j;
    return device->scope == ENERGY_GPU && !device->calibration && by_profile
               ? "run '" TARE_NAME " calibrate'"
               : "measure a longer window";
}

void energy_meters_result_fini(struct energy_meters_result *result)
{
    EACH (step, result->steps, result->step_count)
        step_power_fini(&step->power);
    free(result->steps);
    free(result->devices);
    free(result->missing);
    free(result->epochs);
    *result = (struct energy_meters_result){0};
}
