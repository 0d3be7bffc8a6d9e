#include "results/judge/study_energy.h"
#include "base/mem.h"
#include "results/judge/bins.h"
#include "results/judge/numeric_cell.h"
#include "results/judge/power.h"
#include "results/judge/trace.h"

#include "base/clock.h"
#include "base/fs.h"

#include <fcntl.h>
#include <math.h>

enum {
    ZONE_S = 900,         /* zones differ by quarters of an hour */
    PERF_LIMIT = 1 << 20, /* bytes of a text that is a few hundred long */
    /* no training has loaded its program and data and uses the GPU that soon */
    EARLY_S = 2,
    STEP_LEAST_S = 10
};
static const double idle_percent = 5, most_watts = 10000, coldest = -50, hottest = 150;

struct context {
    struct dataset_experiment *experiment;
    struct power power;
    struct bins bins;
    struct perf perf;
    bool begun;
    double start_s, window_end_s; /* since the first sample; not finite: not known */
    int64_t *zone_s;
    bool *has_zone;
    size_t absent, impossible;
    /* utilisation */
    size_t rows, idle;
    double sum, highest, early;
    bool has_early;
    unsigned decimals; /* of the power samples, as they were printed */
    double early_w;    /* lowest power of the first seconds; not finite: none */
    int64_t idle_since_s, longest_idle_s, first_s;
    bool is_idle;
    struct dataset_trace *trace;
    struct trace_sketch times; /* of the utilisation */
    /* of power; within its spans utilisation; within those temperature */
    struct still_spans still[3];
};

/* The zone in which the experiment's start is nearest to the first sample; then its window. Seconds
 * count from the first sample: as fractions of whole ones since 1970 they would lose digits. */
static void find_window(struct context *context, int64_t first_s)
{
    const struct dataset_experiment *experiment = context->experiment;
    context->begun = true;
    context->start_s = context->window_end_s = NAN;
    context->first_s = first_s;
    trace_sketch_begin(&context->trace->power, first_s);
    trace_sketch_begin(&context->times, first_s);
    double duration_s = experiment->duration_s.value;
    if (!experiment->has_end || !experiment->duration_s.valid || duration_s <= 0)
        return;
    int64_t end_local_s = experiment->end_local_ns / NS_PER_S;
    double fraction_s = (double)(experiment->end_local_ns % NS_PER_S) / (double)NS_PER_S;
    double zone =
        nearbyint(((double)(end_local_s - first_s) + fraction_s - duration_s) / ZONE_S) * ZONE_S;
    if (fabs(zone) > 16 * 3600.0)
        return; /* no zone on earth: the samples are of another time */
    *context->zone_s = (int64_t)zone;
    *context->has_zone = true;
    if (dataset_has_evidence(experiment, "duration_differs"))
        return; /* how long it took is in dispute: what the samples span is not */
    context->window_end_s = (double)(end_local_s - (int64_t)zone - first_s) + fraction_s;
    context->start_s = context->window_end_s - duration_s;
}

/* The command ended when perf did; what the study's script did behind it is none of the
 * training's. */
static void take_power_window(struct context *context)
{
    struct dataset_experiment *experiment = context->experiment;
    const struct reading elapsed = context->perf.elapsed_s;
    double end_s = context->window_end_s;
    experiment->gpu.window_from = isfinite(end_s) ? "duration" : "trace";
    if (isfinite(end_s) && elapsed.valid && elapsed.value > 0 &&
        elapsed.value <= experiment->duration_s.value) {
        end_s = context->start_s + elapsed.value;
        experiment->gpu.window_from = "perf";
    }
    power_begin(&context->power, context->start_s, end_s);
}

/* The values of a batch's first column that can be, with their moments since the first sample; the
 * others are counted. */
struct kept {
    size_t count;
    int64_t t_s[TRACE_ROWS];
    double values[TRACE_ROWS];
};

static void keep_possible(struct context *context, const struct trace_rows *rows, double low,
                          double high, struct kept *kept)
{
    const struct trace_column *column = &rows->columns[0];
    kept->count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        double value = column->values[i];
        if (column->kinds[i] == FIGURE_ABSENT) {
            context->absent++;
        } else if (value < low || value > high) {
            context->impossible++;
        } else {
            kept->t_s[kept->count] = rows->t_s[i] - context->first_s;
            kept->values[kept->count++] = value;
        }
    }
}

static void each_power(void *at, const struct trace_rows *rows)
{
    struct context *context = at;
    struct kept kept;
    if (!context->begun) {
        find_window(context, rows->t_s[0]);
        take_power_window(context);
    }
    keep_possible(context, rows, 0, most_watts, &kept);
    double early_before_s = (isfinite(context->start_s) ? floor(context->start_s) : 0) + EARLY_S;
    for (size_t i = 0; i < kept.count && (double)kept.t_s[i] < early_before_s; i++)
        context->early_w = fmin(context->early_w, kept.values[i]);
    EACH (value, kept.values, kept.count)
        context->decimals = numeric_decimals(*value, context->decimals);
    power_add_all(&context->power, kept.t_s, kept.values, kept.count);
    still_spans_add(&context->still[0], kept.t_s, kept.values, kept.count);
    trace_sketch_add(&context->trace->power, kept.t_s, kept.values, kept.count);
    trace_intervals_add(&context->trace->intervals, kept.t_s, kept.values, kept.count);
    bins_add_all(&context->bins, kept.t_s, kept.values, kept.count);
}

/* Utilisation in the first seconds; how long it was idle at a stretch. */
static void watch_idle(struct context *context, int64_t t_s, double percent, double early_before_s)
{
    if ((double)t_s < early_before_s && (!context->has_early || percent > context->early)) {
        context->early = percent;
        context->has_early = true;
    }
    bool idle = percent < idle_percent;
    if (idle && !context->is_idle)
        context->idle_since_s = t_s;
    if (context->is_idle && t_s - context->idle_since_s > context->longest_idle_s)
        context->longest_idle_s = t_s - context->idle_since_s;
    context->is_idle = idle;
    context->idle += idle;
}

static void add_up(struct context *context, const struct kept *kept)
{
    double sum = context->sum, highest = context->highest;
    EACH (value, kept->values, kept->count) {
        sum += *value;
        highest = *value > highest ? *value : highest;
    }
    context->sum = sum;
    context->highest = highest;
    context->rows += kept->count;
}

static void each_utilisation(void *at, const struct trace_rows *rows)
{
    struct context *context = at;
    struct kept kept;
    if (!context->begun)
        find_window(context, rows->t_s[0]);
    keep_possible(context, rows, 0, 100, &kept);
    double early_before_s = (isfinite(context->start_s) ? floor(context->start_s) : 0) + EARLY_S;
    for (size_t i = 0; i < kept.count; i++)
        watch_idle(context, kept.t_s[i], kept.values[i], early_before_s);
    add_up(context, &kept);
    still_spans_add(&context->still[1], kept.t_s, kept.values, kept.count);
    trace_sketch_add(&context->times, kept.t_s, kept.values, kept.count);
    bins_add_all(&context->bins, kept.t_s, kept.values, kept.count);
}

static void each_temperature(void *at, const struct trace_rows *rows)
{
    struct context *context = at;
    struct kept kept;
    keep_possible(context, rows, coldest, hottest, &kept);
    if (context->rows == 0 && kept.count)
        context->early = context->highest = kept.values[0];
    add_up(context, &kept);
    still_spans_add(&context->still[2], kept.t_s, kept.values, kept.count);
}

static void take_file(struct context *context, const char *name, const struct trace_file *file,
                      unsigned missing, const char *what)
{
    struct dataset_experiment *experiment = context->experiment;
    if (file->missing) {
        experiment->gpu.missing |= missing;
        return;
    }
    if (file->empty || (file->rows == 0 && !file->damaged && !file->backwards && !file->cut))
        dataset_evidence(experiment, "file_damaged", "energy/%s %s", name,
                         file->empty ? "is empty" : "has a header and no samples");
    if (file->cut)
        dataset_evidence(experiment, "file_damaged",
                         "energy/%s is cut off: its last line has no end and is left out", name);
    if (file->damaged)
        dataset_evidence(experiment, "file_damaged",
                         "energy/%s: %zu line%s cannot be read as samples", name, file->damaged,
                         file->damaged == 1 ? "" : "s");
    if (file->backwards)
        dataset_evidence(experiment, "time_backwards",
                         "energy/%s: %zu sample%s stamped before one before %s and left out", name,
                         file->backwards, file->backwards == 1 ? " is" : "s are",
                         file->backwards == 1 ? "it" : "them");
    if (context->impossible)
        dataset_evidence(experiment, "value_impossible", "energy/%s: %zu impossible value%s of %s",
                         name, context->impossible, context->impossible == 1 ? "" : "s", what);
    if (context->absent && missing != MISSING_TEMPERATURE)
        dataset_evidence(experiment, "value_missing", "energy/%s: %zu of %zu samples have no %s",
                         name, context->absent, file->rows, what);
    context->impossible = context->absent = 0;
}

/* False: it cannot be read at all, which is said. */
static bool read_file(struct context *context, int dir, const char *name, size_t columns,
                      char *buffer, trace_each_fn *each, struct trace_file *file)
{
    struct err err;
    bins_begin(&context->bins);
    if (trace_read(dir, name, columns, buffer, each, context, file, &err))
        return true;
    dataset_evidence(context->experiment, "file_damaged", "energy/%s", err.text);
    return false;
}

static struct dataset_step step_of(const struct context *context, struct bins_step step)
{
    double start_s = isfinite(context->start_s) ? context->start_s : 0;
    return (struct dataset_step){step.found, (double)step.at_s - start_s, step.before, step.after,
                                 step.explained};
}

static void take_power(struct context *context, const struct trace_file *file,
                       struct power_energy *out)
{
    struct dataset_gpu *gpu = &context->experiment->gpu;
    take_file(context, "gpu_power.csv", file, MISSING_POWER, "power");
    if (file->missing)
        return;
    gpu->source = "samples";
    gpu->samples = context->power.samples;
    if (gpu->samples == 0) {
        gpu->window_from = NULL;
        return;
    }
    struct power_energy energy = *out = power_end(&context->power);
    gpu->samples_sum_j = (struct reading){context->power.sum, true};
    gpu->samples_rounding_j = (double)gpu->samples * numeric_half_unit(context->decimals);
    gpu->power_min_w = (struct reading){context->power.lowest, true};
    gpu->power_max_w = (struct reading){context->power.highest, true};
    double mean_w = context->power.sum / (double)gpu->samples;
    if (energy.deviation_w.valid && mean_w > 0)
        gpu->power_cv_within = (struct reading){energy.deviation_w.value / mean_w, true};
    gpu->sampled_share = energy.sampled_share;
    gpu->longest_gap_s = (struct reading){energy.longest_gap_s, true};
    gpu->window_s = (struct reading){energy.window_s, true};
    gpu->early_power_w = (struct reading){context->early_w, isfinite(context->early_w)};
    gpu->first_power_w = (struct reading){context->power.first, true};
    gpu->low_power_w = bins_lowest(&context->bins);
    gpu->power_step = step_of(context, bins_find_step(&context->bins, STEP_LEAST_S));
    gpu->power_fall = step_of(context, bins_find_fall(&context->bins, STEP_LEAST_S));
}

static void take_utilisation(struct context *context, const struct trace_file *file)
{
    struct dataset_gpu *gpu = &context->experiment->gpu;
    take_file(context, "gpu_utilization.csv", file, MISSING_UTILISATION, "utilisation");
    if (context->rows == 0)
        return;
    double rows = (double)context->rows;
    gpu->utilisation_mean_percent = (struct reading){context->sum / rows, true};
    gpu->utilisation_max_percent = (struct reading){context->highest, true};
    gpu->early_utilisation_percent = (struct reading){context->early, context->has_early};
    gpu->idle_share = (struct reading){(double)context->idle / rows, true};
    gpu->longest_idle_s = (struct reading){(double)context->longest_idle_s, true};
    gpu->utilisation_step = step_of(context, bins_find_step(&context->bins, STEP_LEAST_S));
}

static void take_temperature(struct context *context, const struct trace_file *file)
{
    struct dataset_experiment *experiment = context->experiment;
    struct dataset_gpu *gpu = &experiment->gpu;
    size_t known = experiment->evidence_count;
    take_file(context, "gpu_temperature.csv", file, MISSING_TEMPERATURE, "temperature");
    for (size_t i = known; i < experiment->evidence_count; i++)
        experiment->evidence[i].of_temperature = true;
    if (context->rows == 0)
        return;
    gpu->temperature_mean_c = (struct reading){context->sum / (double)context->rows, true};
    gpu->temperature_start_c = (struct reading){context->early, true};
    gpu->temperature_max_c = (struct reading){context->highest, true};
}

/* False: it is not there. */
static bool read_perf(struct dataset_experiment *experiment, int dir, const char *name,
                      struct perf *out)
{
    AUTO_TEXT struct text text = {0};
    struct err err;
    *out = (struct perf){0};
    if (!fs_read_at(dir, name, PERF_LIMIT, &text, &err))
        return false;
    perf_parse(text_get(&text), text.length, out);
    if (text.length && text_get(&text)[text.length - 1] != '\n')
        dataset_evidence(experiment, "file_damaged",
                         "energy/%s is cut off: its last line has no end", name);
    return true;
}

static void take_perf(struct context *context, int dir)
{
    struct dataset_experiment *experiment = context->experiment;
    struct perf summed;
    if (!read_perf(experiment, dir, "cpu_energy_raw.txt", &context->perf))
        experiment->gpu.missing |= MISSING_PERF;
    if (!read_perf(experiment, dir, "cpu_energy.txt", &summed))
        experiment->gpu.missing |= MISSING_PERF_SUMS;
    if (!context->perf.package_j.valid)
        context->perf.package_j = summed.package_j;
    if (!context->perf.dram_j.valid)
        context->perf.dram_j = summed.dram_j;
    experiment->cpu_j = context->perf.package_j;
    experiment->dram_j = context->perf.dram_j;
    if (context->perf.package_j.valid && context->perf.package_j.value < 0)
        dataset_evidence(experiment, "value_impossible", "energy/cpu_energy_raw.txt: %g J",
                         context->perf.package_j.value);
}

/* perf ran for as long as the command, and from its start. */
static void check_perf(const struct context *context)
{
    struct dataset_experiment *experiment = context->experiment;
    const struct perf *perf = &context->perf;
    if (!experiment->duration_s.valid)
        return;
    double duration_s = experiment->duration_s.value, slack_s = fmax(5, 0.01 * duration_s);
    if (perf->elapsed_s.valid && fabs(perf->elapsed_s.value - duration_s) > slack_s)
        dataset_evidence(experiment, "duration_differs",
                         "it took %.6g s by its record and %.6g s by perf", duration_s,
                         perf->elapsed_s.value);
    if (!perf->has_started || !experiment->has_end)
        return;
    double apart_s = (double)perf->started_local_s -
                     ((double)experiment->end_local_ns / (double)NS_PER_S - duration_s);
    if (fabs(apart_s) > slack_s)
        dataset_evidence(experiment, "duration_differs",
                         "perf began to measure %.6g s %s the experiment's start", fabs(apart_s),
                         apart_s < 0 ? "before" : "behind");
}

/* What did not change in any of the three files. */
static void take_still(struct context *context)
{
    struct dataset_trace *trace = context->trace;
    const struct still_spans *power = &context->still[0], *utilisation = &context->still[1],
                             *temperature = &context->still[2];
    for (size_t i = 0; i < power->count; i++) {
        const struct still_span *span = &temperature->spans[i];
        if (span->samples > 0)
            trace->still[trace->still_count++] =
                (struct dataset_still){(double)span->from_s, span->samples, power->spans[i].value,
                                       utilisation->spans[i].value};
    }
}

/* A second of a monitor of one second may be missing at either edge, and so much of a slower one's
 * interval. */
static void check_span(struct dataset_experiment *experiment, const struct power_energy *power,
                       double interval_s)
{
    double duration_s = experiment->duration_s.value;
    double slack_s = fmax(5, 0.01 * duration_s) + fmax(0, interval_s - 1);
    double late_s = power->late_s.value, early_s = power->early_s.value - 1;
    if (!power->late_s.valid)
        return;
    if (late_s > slack_s || early_s > slack_s)
        dataset_evidence(experiment, "duration_differs",
                         "it took %.6g s, but its samples span %.6g s: they begin %.3g s after its "
                         "start and end %.3g s "
                         "before its end",
                         duration_s, power->span_s, late_s, early_s);
    if (power->outside)
        dataset_evidence(experiment, "duration_differs",
                         "%zu of %zu samples were taken outside of the %.6g s that it ran",
                         power->outside, experiment->gpu.samples, duration_s);
}

/* A sum of power times seconds may count each sample until the next or since the one before, and
 * may end with the samples or up to two intervals beyond them at either edge. */
static void take_integral(struct dataset_gpu *gpu, const struct power_energy *power,
                          double interval_s)
{
    if (!power->integral_low_j.valid)
        return;
    double edge_s = 2 * interval_s + 1;
    double rounding_j =
        gpu->samples_rounding_j / (double)gpu->samples * (power->span_s + 2 * edge_s);
    double first_s = power->late_s.valid ? fmin(edge_s, fmax(0, power->late_s.value + 1)) : edge_s;
    double last_s = power->early_s.valid ? fmin(edge_s, fmax(0, power->early_s.value + 1)) : edge_s;
    gpu->integral_low_j = power->integral_low_j.value - rounding_j;
    gpu->integral_high_j = power->integral_high_j.value + rounding_j + power->first_w * first_s +
                           power->last_w * last_s;
    gpu->has_integral = true;
}

void study_energy_settle(struct dataset_experiment *experiment, struct power_energy power,
                         enum power_sensor sensor, double interval_s)
{
    struct dataset_gpu *gpu = &experiment->gpu;
    if (gpu->samples == 0)
        return;
    check_span(experiment, &power, interval_s);
    take_integral(gpu, &power, interval_s);
    gpu->sensor = power_sensor_name(sensor);
    gpu->energy_unknown = power_settle(&power, sensor) ? NULL : "shorter than the sensor resolves";
    gpu->energy_j = power.energy_j;
    gpu->half_width_j = power.half_width_j;
    gpu->power_mean_w = power.mean_w;
}

void study_energy_read(struct dataset_experiment *experiment, int dir, char *buffer,
                       int64_t *zone_s, bool *has_zone, struct power_energy *power)
{
    struct context context = {
        .experiment = experiment, .zone_s = zone_s, .has_zone = has_zone, .early_w = INFINITY};
    struct trace_file file;
    AUTO_CLOSE int energy = openat(dir, "energy", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (energy < 0) {
        experiment->gpu.missing |= MISSING_ALL;
        return;
    }
    take_perf(&context, energy);
    check_perf(&context);
    experiment->trace = context.trace = mem_array(1, sizeof *context.trace);
    still_spans_begin(&context.still[0], NULL);
    if (read_file(&context, energy, "gpu_power.csv", 1, buffer, each_power, &file))
        take_power(&context, &file, power);
    trace_sketch_end(&context.trace->power);
    still_spans_end(&context.still[0]);
    still_spans_begin(&context.still[1], &context.still[0]);
    if (read_file(&context, energy, "gpu_utilization.csv", 2, buffer, each_utilisation, &file))
        take_utilisation(&context, &file);
    context.trace->utilisation_times = context.times.times;
    bool has_utilisation = context.rows > 0;
    still_spans_end(&context.still[1]);
    still_spans_begin(&context.still[2], &context.still[1]);
    context.rows = 0;
    context.sum = context.highest = 0;
    if (read_file(&context, energy, "gpu_temperature.csv", 2, buffer, each_temperature, &file))
        take_temperature(&context, &file);
    still_spans_end(&context.still[2]);
    context.trace->has_all = context.trace->power.samples && has_utilisation && context.rows > 0;
    take_still(&context);
}

bool study_energy_is_sum(const struct dataset_experiment *experiment)
{
    struct reading recorded = experiment->recorded[RECORDED_GPU_TOTAL],
                   sum = experiment->gpu.samples_sum_j;
    double rounding_j =
        experiment->gpu.samples_rounding_j + numeric_half_unit(numeric_decimals(recorded.value, 0));
    return recorded.valid && sum.valid &&
           fabs(recorded.value - sum.value) <= rounding_j + 1e-9 * fabs(sum.value);
}

bool study_energy_is_integral(const struct dataset_experiment *experiment)
{
    const struct dataset_gpu *gpu = &experiment->gpu;
    struct reading recorded = experiment->recorded[RECORDED_GPU_TOTAL];
    double rounding_j = numeric_half_unit(numeric_decimals(recorded.value, 0));
    return recorded.valid && gpu->has_integral &&
           recorded.value >= gpu->integral_low_j - rounding_j &&
           recorded.value <= gpu->integral_high_j + rounding_j;
}
