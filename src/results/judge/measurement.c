#include "results/judge/measurement.h"

#include "base/json.h"
#include "base/mem.h"
#include "stats/budget.h"
#include "stats/interval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two sides whose sensors differ in weight by less than that differ by rounding. */
static const double no_weight = 1e-9;

/* Which sensors a quantity is of. */
enum sensors { SENSORS_NONE, SENSORS_GPU, SENSORS_CPU };

static enum sensors sensors_of(const char *quantity)
{
    if (strncmp(quantity, "gpu_energy", 10) == 0 || strcmp(quantity, "gpu_power_w") == 0)
        return SENSORS_GPU;
    return strcmp(quantity, "cpu_energy_j") == 0 ? SENSORS_CPU : SENSORS_NONE;
}

/* By how much a read-out may be off, as a share. */
static bool read_share(const struct dataset_experiment *experiment, enum sensors sensors,
                       double *out)
{
    struct reading energy = sensors == SENSORS_GPU ? experiment->gpu.energy_j : experiment->cpu_j;
    struct reading half =
        sensors == SENSORS_GPU ? experiment->gpu.half_width_j : experiment->cpu_half_width_j;
    if (!energy.valid || !half.valid || !(energy.value > 0) || !isfinite(half.value))
        return false;
    *out = half.value / HALF_WIDTH_DEVIATIONS / energy.value;
    return true;
}

/* How much each sensor counts. */
struct weight {
    const char *id; /* borrowed */
    double share, bound;
};

struct weights {
    struct weight *items;
    size_t count;
    bool placed;
};

static void add_weight(struct weights *weights, const char *id, double share, double bound)
{
    EACH (item, weights->items, weights->count)
        if (strcmp(item->id, id) == 0) {
            item->share += share;
            item->bound = fmin(item->bound, bound); /* 0: one of them does not know */
            return;
        }
    MEM_ADD(weights->items, weights->count) = (struct weight){id, share, bound};
}

/* The packages of a node are one sensor here: all that is measured on it is measured by all of
 * them. */
static void add_experiment(struct weights *weights, const struct dataset_experiment *experiment,
                           enum sensors sensors, double weight)
{
    double sum_j = 0;
    if (sensors == SENSORS_CPU && experiment->facts[FACT_NODE]) {
        add_weight(weights, experiment->facts[FACT_NODE], weight, 0);
        return;
    }
    for (size_t i = 0; sensors == SENSORS_GPU && i < experiment->board_count; i++)
        sum_j += experiment->boards[i].energy_j;
    weights->placed &= sum_j > 0;
    for (size_t i = 0; sum_j > 0 && i < experiment->board_count; i++)
        add_weight(weights, experiment->boards[i].uuid,
                   weight * experiment->boards[i].energy_j / sum_j,
                   experiment->boards[i].gain_bound);
}

/* alike: all sensors may err by their whole bound to one side; else each by itself. */
static void sum_up(struct weights *weights, bool alike, struct measurement *out)
{
    double sum = 0, squares = 0;
    bool known = weights->placed;
    out->placed = weights->placed;
    out->cancels = weights->placed;
    EACH (weight, weights->items, weights->count) {
        double u = fabs(weight->share) * weight->bound / sqrt(3);
        if (fabs(weight->share) < no_weight)
            continue;
        out->cancels = false;
        known &= weight->bound > 0;
        sum += u;
        squares += u * u;
    }
    free(weights->items);
    out->u_gain = (struct reading){alike ? sum : sqrt(squares), known};
    out->half_width = (struct reading){HALF_WIDTH_DEVIATIONS * out->u_read, out->valid};
}

void measurement_of_mean(const struct dataset *dataset, const char *quantity, const size_t *items,
                         size_t count, struct measurement *out)
{
    enum sensors sensors = sensors_of(quantity);
    struct weights weights = {.placed = true};
    *out = (struct measurement){.valid = sensors != SENSORS_NONE && count > 0};
    for (size_t i = 0; i < count && out->valid; i++) {
        const struct dataset_experiment *experiment = &dataset->items[items[i]];
        double share = 0;
        out->valid = read_share(experiment, sensors, &share);
        out->u_read += share / (double)count;
        add_experiment(&weights, experiment, sensors, 1 / (double)count);
    }
    sum_up(&weights, true, out);
    out->cancels = false;
}

/* Experiments of one stratum. */
struct cell {
    double count[2];
};

void measurement_of_ratio(const struct dataset *dataset, const char *quantity,
                          const struct measurement_row *rows, size_t count, size_t strata,
                          struct measurement *out)
{
    enum sensors sensors = sensors_of(quantity);
    struct weights weights = {.placed = true};
    AUTO_FREE struct cell *cells = mem_array(strata + 1, sizeof *cells);
    double whole = 0, read[2] = {0};
    *out = (struct measurement){.valid = sensors != SENSORS_NONE};
    EACH (row, rows, count)
        cells[row->stratum].count[row->is_b]++;
    EACH (entry, cells, strata)
        if (entry->count[0] > 0 && entry->count[1] > 0)
            whole += entry->count[0] * entry->count[1] / (entry->count[0] + entry->count[1]);
    out->valid &= whole > 0;
    for (size_t i = 0; i < count && out->valid; i++) {
        const struct cell *cell = &cells[rows[i].stratum];
        const struct dataset_experiment *experiment = &dataset->items[rows[i].item];
        double share = 0, other = cell->count[!rows[i].is_b];
        if (!(other > 0))
            continue;
        /* of the stratum, over those of its side */
        double weight = other / (cell->count[0] + cell->count[1]) / whole;
        out->valid = read_share(experiment, sensors, &share);
        read[rows[i].is_b] += weight * share;
        add_experiment(&weights, experiment, sensors, rows[i].is_b ? weight : -weight);
    }
    out->u_read = hypot(read[0], read[1]);
    sum_up(&weights, false, out);
}

struct stats_interval measurement_interval(const struct measurement *measurement,
                                           const struct stats_effect *effect)
{
    struct stats_interval none = {.method = STATS_NONE};
    struct budget budget = {0};
    if (!measurement->valid || !measurement->u_gain.valid || !effect->valid || !effect->has_error)
        return none;
    budget_add(&budget, (struct budget_component){.type = BUDGET_A,
                                                  .known = true,
                                                  .u = effect->error,
                                                  .sensitivity = 1,
                                                  .df = effect->df});
    budget_add(&budget, (struct budget_component){.type = BUDGET_B,
                                                  .known = true,
                                                  .u = measurement->u_read,
                                                  .sensitivity = 1,
                                                  .df = INFINITY});
    budget_add(&budget, (struct budget_component){.type = BUDGET_B,
                                                  .known = true,
                                                  .u = measurement->u_gain.value,
                                                  .sensitivity = 1,
                                                  .df = INFINITY});
    /* What is exact raises the degrees of freedom, which can outweigh what it adds: more
     * uncertainty, a narrower interval. */
    double half = fmax(budget_combine(&budget, STATS_CONFIDENCE).expanded,
                       fmax(log(effect->interval.high) - effect->log_ratio, 0));
    return (struct stats_interval){exp(effect->log_ratio - half), exp(effect->log_ratio + half),
                                   STATS_T};
}

struct stats_interval measurement_mean_interval(const struct measurement *measurement, double mean,
                                                const struct stats_interval *sampling)
{
    double half = measurement->half_width.value * fabs(mean);
    if (!measurement->valid || sampling->method == STATS_NONE)
        return (struct stats_interval){.method = STATS_NONE};
    return (struct stats_interval){mean - hypot(mean - sampling->low, half),
                                   mean + hypot(sampling->high - mean, half), sampling->method};
}

json_t *measurement_json(const struct measurement *measurement, bool ratio)
{
    if (!measurement->valid)
        return json_null();
    const char *gain = !measurement->placed         ? "not_placed"
                       : measurement->cancels       ? "cancels"
                       : !measurement->u_gain.valid ? "unknown"
                       : ratio                      ? "kept"
                                                    : "common";
    return json_pack("{s:o, s:o, s:s, s:o}", "u", json_finite(measurement->u_read), "half_width",
                     json_reading_or_null(measurement->half_width), "gain", gain, "u_gain",
                     json_reading_or_null(measurement->u_gain));
}
