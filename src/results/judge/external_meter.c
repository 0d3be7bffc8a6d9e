#include "results/judge/external_meter.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "stats/describe.h"
#include "stats/interval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A slope needs powers that differ by so much of the highest. */
static const double least_spread = 0.1;
enum { LEAST_FIT = 3 };

/* The one GPU whose UUID begins so. */
static bool find_gpu(const struct dataset *dataset, const char *of, char **uuid, struct err *err)
{
    const char *found = NULL;
    for (size_t i = 0; i < dataset->count; i++)
        for (size_t k = 0; k < dataset->items[i].board_count; k++) {
            const char *own = dataset->items[i].boards[k].uuid;
            if (strncmp(own, of, strlen(of)) != 0)
                continue;
            if (found && strcmp(found, own) != 0)
                return err_set(err, "--external-meter-of: both %s and %s begin with %s; write more of it", found, own,
                               of);
            found = own;
        }
    if (!found)
        return err_set(err,
                       "--external-meter-of: no experiment was measured on a GPU %s; experiment.json has the UUIDs "
                       "(tare.energy.devices)",
                       of);
    *uuid = mem_strdup(found);
    return true;
}

static struct reading standard(struct reading half_width)
{
    return (struct reading){half_width.value / HALF_WIDTH_DEVIATIONS, half_width.valid};
}

static void take_gpu(const struct external_meter *meter, const struct dataset_experiment *experiment,
                     struct external_meter_row *row)
{
    if (!meter->uuid) {
        row->gpu_j = experiment->gpu.energy_j;
        row->gpu_u_j = standard(experiment->gpu.half_width_j);
        return;
    }
    for (size_t i = 0; i < experiment->board_count; i++)
        if (strcmp(experiment->boards[i].uuid, meter->uuid) == 0) {
            row->gpu_j = (struct reading){experiment->boards[i].energy_j, true};
            row->gpu_u_j = standard(experiment->boards[i].half_width_j);
        }
}

static int64_t end_ns(const struct dataset_experiment *experiment)
{
    return experiment->start_utc_ns + llround(experiment->duration_s.value * NS_PER_S);
}

/* A meter of the machine sees all that runs on it. */
static bool ran_alone(const struct dataset *dataset, size_t item)
{
    const struct dataset_experiment *one = &dataset->items[item];
    for (size_t i = 0; i < dataset->count; i++) {
        const struct dataset_experiment *other = &dataset->items[i];
        if (i != item && other->has_start && other->duration_s.valid && other->start_utc_ns < end_ns(one) &&
            one->start_utc_ns < end_ns(other))
            return false;
    }
    return true;
}

static void compare_one(const struct dataset *dataset, const struct meter_csv *csv, const struct external_meter *meter,
                        struct external_meter_row *row)
{
    const struct dataset_experiment *experiment = &dataset->items[row->item];
    if (!experiment->has_start || !experiment->duration_s.valid)
        row->why = "when it began is not recorded to a fraction of a second";
    else if (!(row->gpu_j.value > 0))
        row->why = "its GPU energy is 0";
    else if (!meter->uuid && !ran_alone(dataset, row->item))
        row->why = "another experiment ran at the same time, and the meter saw both";
    else
        row->meter_j = meter_csv_energy(csv, experiment->start_utc_ns, end_ns(experiment), &row->meter_u_j, &row->why);
    if (!row->why && !(row->meter_j.value > 0))
        row->why = "the meter showed 0 W all the time";
}

static void add(struct budget *budget, const char *name, const char *source, enum budget_type type, struct reading u,
                double df)
{
    budget_add(budget, (struct budget_component){.name = name,
                                                 .source = source,
                                                 .type = type,
                                                 .unit = "1",
                                                 .known = u.valid,
                                                 .u = u.value,
                                                 .sensitivity = 1,
                                                 .df = df});
}

/* The ratio of the sums, with the scatter of the experiments about it (Cochran, Sampling Techniques, 1977, 6.3). */
static void find_gain(struct external_meter *meter)
{
    bool read = true;
    double gpu_j = 0, meter_j = 0, read_j = 0, meter_variance = 0, squares = 0, n = (double)meter->compared;
    for (size_t i = 0; i < meter->count; i++) {
        const struct external_meter_row *row = &meter->rows[i];
        if (row->why)
            continue;
        gpu_j += row->gpu_j.value;
        meter_j += row->meter_j.value;
        read &= row->gpu_u_j.valid;
        read_j += row->gpu_u_j.value; /* of a sensor that misreads a load, each time alike */
        meter_variance += row->meter_u_j * row->meter_u_j;
    }
    meter->has_gain = true;
    meter->gain = gpu_j / meter_j;
    for (size_t i = 0; i < meter->count; i++) {
        double off_j = meter->rows[i].gpu_j.value - meter->gain * meter->rows[i].meter_j.value;
        squares += meter->rows[i].why ? 0 : off_j * off_j;
    }
    if (meter->compared >= 2)
        add(&meter->budget, "scatter", "experiments", BUDGET_A,
            (struct reading){sqrt(n * squares / (n - 1)) / gpu_j, true}, n - 1);
    add(&meter->budget, "read_out", "the experiments' budgets", BUDGET_B, (struct reading){read_j / gpu_j, read},
        INFINITY);
    add(&meter->budget, "meter_readings", "the meter's file", BUDGET_B,
        (struct reading){sqrt(meter_variance) / meter_j, true}, INFINITY);
    add(&meter->budget, "meter_accuracy",
        meter->options.accuracy.valid ? "--external-meter-accuracy" : "not said (--external-meter-accuracy)", BUDGET_B,
        (struct reading){meter->options.accuracy.value / sqrt(3), meter->options.accuracy.valid}, INFINITY);
    meter->sum = budget_combine(&meter->budget, STATS_CONFIDENCE);
}

/* Least squares of mean powers. */
static void find_fit(const struct dataset *dataset, struct external_meter *meter)
{
    double n = (double)meter->compared, x = 0, y = 0, xx = 0, xy = 0, yy = 0, least = INFINITY, most = 0;
    if (meter->compared < LEAST_FIT)
        return;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < meter->count; i++) {
            const struct external_meter_row *row = &meter->rows[i];
            if (row->why)
                continue;
            double seconds = dataset->items[row->item].duration_s.value;
            double gpu_w = row->gpu_j.value / seconds, meter_w = row->meter_j.value / seconds;
            if (pass == 0) {
                x += gpu_w / n;
                y += meter_w / n;
                least = fmin(least, gpu_w);
                most = fmax(most, gpu_w);
                continue;
            }
            xx += (gpu_w - x) * (gpu_w - x);
            xy += (gpu_w - x) * (meter_w - y);
            yy += (meter_w - y) * (meter_w - y);
        }
    if (!(most - least >= least_spread * most))
        return;
    meter->has_fit = true;
    meter->slope = xy / xx;
    meter->base_w = y - meter->slope * x;
    double error = sqrt(fmax(yy - xy * xy / xx, 0) / (n - 2) / xx);
    meter->slope_half = special_t_quantile(0.5 + STATS_CONFIDENCE / 2, n - 2) * error;
}

bool external_meter_compare(const struct dataset *dataset, const struct meter_csv *csv,
                            const struct external_meter_options *options, struct external_meter *out, struct err *err)
{
    *out = (struct external_meter){.options = *options, .readings = csv->count};
    if (strcmp(options->of, "machine") != 0 && !find_gpu(dataset, options->of, &out->uuid, err))
        return false;
    out->rows = mem_array(dataset->count + 1, sizeof *out->rows);
    for (size_t i = 0; i < dataset->count; i++) {
        struct external_meter_row row = {.item = i};
        take_gpu(out, &dataset->items[i], &row);
        if (!row.gpu_j.valid)
            continue;
        compare_one(dataset, csv, out, &row);
        out->compared += !row.why;
        out->rows[out->count++] = row;
    }
    if (out->compared > 0 && out->uuid)
        find_gain(out);
    if (!out->uuid)
        find_fit(dataset, out);
    return true;
}

/* What was drawn is what the sensor showed over the gain. An error that is known and not corrected counts in full beside the
 * uncertainty (GUM, F.2.4.5). */
double external_meter_bound(const struct external_meter *meter)
{
    return fabs(1 / meter->gain - 1) + meter->sum.expanded / meter->gain;
}

void external_meter_fini(struct external_meter *meter)
{
    free(meter->uuid);
    free(meter->rows);
    *meter = (struct external_meter){0};
}

static json_t *row_json(const struct dataset *dataset, const struct external_meter_row *row)
{
    const struct dataset_experiment *experiment = &dataset->items[row->item];
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "folder",
                     json_text_or_null(dataset->folders[experiment->folder].path), "experiment_id",
                     json_text_or_null(experiment->id), "gpu_energy_j", json_reading_or_null(row->gpu_j), "gpu_u_j",
                     json_reading_or_null(row->gpu_u_j), "meter_energy_j", json_reading_or_null(row->meter_j),
                     "meter_u_j", json_reading_or_null((struct reading){row->meter_u_j, row->meter_j.valid}),
                     "left_out", json_text_or_null(row->why));
}

static json_t *gain_json(const struct external_meter *meter)
{
    json_t *out = json_object(), *components = json_array();
    struct reading known = {1, meter->sum.complete};
    for (size_t i = 0; i < meter->budget.count; i++) {
        const struct budget_component *component = &meter->budget.items[i];
        json_t *row = json_object();
        json_object_set_new(row, "component", json_string(component->name));
        json_object_set_new(row, "type", json_string(component->type == BUDGET_A ? "A" : "B"));
        json_set_reading(row, "u", (struct reading){component->u, component->known});
        json_set_reading(row, "degrees_of_freedom", (struct reading){component->df, component->known});
        json_object_set_new(row, "source", json_string(component->source));
        json_array_append_new(components, row);
    }
    json_object_set_new(out, "sensor_over_meter", json_finite(meter->gain));
    json_set_reading(out, "u", (struct reading){meter->sum.u, known.valid});
    json_set_reading(out, "degrees_of_freedom", (struct reading){meter->sum.df, known.valid});
    json_set_reading(out, "k", (struct reading){meter->sum.k, known.valid});
    json_set_reading(out, "expanded", (struct reading){meter->sum.expanded, known.valid});
    json_object_set_new(out, "components", components);
    return out;
}

json_t *external_meter_json(const struct dataset *dataset, const struct external_meter *meter)
{
    json_t *out = json_object(), *rows = json_array();
    json_object_set_new(out, "file", json_text_or_null(meter->options.file));
    json_object_set_new(out, "of", json_text_or_null(meter->uuid ? meter->uuid : "machine"));
    json_set_reading(out, "accuracy", meter->options.accuracy);
    json_set_count(out, "readings", meter->readings);
    json_set_count(out, "compared", meter->compared);
    for (size_t i = 0; i < meter->count; i++)
        json_array_append_new(rows, row_json(dataset, &meter->rows[i]));
    json_object_set_new(out, "experiments", rows);
    json_object_set_new(out, "gain", meter->has_gain ? gain_json(meter) : json_null());
    json_object_set_new(out, "fit",
                        meter->has_fit
                            ? json_pack("{s:o, s:o, s:o}", "base_w", json_finite(meter->base_w), "slope",
                                        json_finite(meter->slope), "slope_half_width", json_finite(meter->slope_half))
                            : json_null());
    return out;
}
