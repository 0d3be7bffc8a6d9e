#include "audit/judge_siblings.h"

#include "audit/judge.h"
#include "base/mem.h"
#include "stats/describe.h"

#include <math.h>
#include <string.h>

/* docs/audit.md gives the reason for each. */
enum { OTHERS_LEAST = 2 };
static const double far_share = 0.1, step_explained = 0.5, step_power_share = 0.25, step_power_least_w = 20,
                    step_utilisation_points = 20;
static const struct reading none = {0};

/* Same repository, model and mode. */
static bool are_siblings(const struct dataset_experiment *a, const struct dataset_experiment *b)
{
    return a->parallel == b->parallel && strcmp(a->repo, b->repo) == 0 && strcmp(a->model, b->model) == 0;
}

struct place {
    const struct dataset_experiment *experiment;
    size_t index;
};

static int compare_kind(const void *a, const void *b)
{
    const struct place *left = a, *right = b;
    int order = strcmp(left->experiment->repo, right->experiment->repo);
    if (!order)
        order = strcmp(left->experiment->model, right->experiment->model);
    if (!order)
        order = (int)left->experiment->parallel - (int)right->experiment->parallel;
    return order ? order : (left->index > right->index) - (left->index < right->index);
}

size_t audit_group(const struct dataset *dataset, size_t **order, size_t **groups)
{
    AUTO_FREE struct place *places = mem_array(dataset->count + 1, sizeof *places);
    size_t count = 0;
    *order = mem_array(dataset->count + 1, sizeof **order);
    *groups = mem_array(dataset->count + 1, sizeof **groups);
    for (size_t i = 0; i < dataset->count; i++)
        places[i] = (struct place){&dataset->items[i], i};
    qsort(places, dataset->count, sizeof *places, compare_kind);
    for (size_t i = 0; i < dataset->count; i++) {
        (*order)[i] = places[i].index;
        if (i == 0 || !are_siblings(places[i].experiment, places[i - 1].experiment))
            (*groups)[count++] = i;
    }
    (*groups)[count] = dataset->count;
    return count;
}

/* One kind's experiments. */
struct kind {
    struct dataset *dataset;
    const size_t *items;
    size_t count;
};

static struct dataset_experiment *member(const struct kind *kind, size_t i)
{
    return &kind->dataset->items[kind->items[i]];
}

typedef struct reading figure_fn(const struct dataset_experiment *experiment);

static struct reading per_epoch(struct reading figure, const struct dataset_experiment *experiment)
{
    struct reading epochs = dataset_epochs(experiment);
    if (!figure.valid || !epochs.valid)
        return (struct reading){0};
    return (struct reading){figure.value / epochs.value, true};
}

static struct reading energy_per_epoch(const struct dataset_experiment *experiment)
{
    return per_epoch(dataset_energy(experiment), experiment);
}

static struct reading duration_per_epoch(const struct dataset_experiment *experiment)
{
    return per_epoch(experiment->duration_s, experiment);
}

/* Only successes: a training that stopped early is no measure of one that did not. */
static void judge_outliers(const struct kind *kind, figure_fn *figure, const char *name, const char *unit)
{
    AUTO_FREE double *values = mem_array(kind->count, sizeof *values);
    AUTO_FREE size_t *who = mem_array(kind->count, sizeof *who);
    size_t n = 0;
    for (size_t i = 0; i < kind->count; i++) {
        struct reading value = figure(member(kind, i));
        if (!value.valid || !member(kind, i)->success)
            continue;
        values[n] = value.value;
        who[n++] = i;
    }
    double limit = stats_outlier_limit(n);
    struct stats_robust robust = stats_robust(values, n);
    double median = robust.median;
    for (size_t i = 0; i < n && isfinite(limit); i++) {
        if (fabs(values[i] - median) <= far_share * fabs(median))
            continue;
        struct reading z = stats_modified_z(&robust, values[i]);
        if (!z.valid || fabs(z.value) <= limit)
            continue;
        dataset_evidence(member(kind, who[i]), "outlier", none, none,
                         "%s of %.4g %s, where the median of its %zu siblings is %.4g %s (modified z %.3g, limit %.3g)",
                         name, values[i], unit, n, median, unit, z.value, limit);
    }
}

static bool matters(const struct dataset_step *step, bool power)
{
    double change = fabs(step->after - step->before);
    if (!step->found || step->explained < step_explained)
        return false;
    if (!power)
        return change >= step_utilisation_points;
    return change >= step_power_least_w && change >= step_power_share * fmax(step->before, step->after);
}

static const struct dataset_step *step_of(const struct dataset_experiment *experiment, bool power)
{
    return power ? &experiment->gpu.power_step : &experiment->gpu.utilisation_step;
}

/* A step that goes the same way and at least half as far is one that the training itself makes. */
static bool has_such(const struct dataset_experiment *sibling, const struct dataset_step *step, bool power)
{
    const struct dataset_step *other = step_of(sibling, power);
    double change = step->after - step->before, others = other->after - other->before;
    return other->found && other->explained >= 0.25 && change * others > 0 && fabs(others) >= 0.5 * fabs(change);
}

static bool judge_step(const struct kind *kind, size_t index, bool power)
{
    struct dataset_experiment *experiment = member(kind, index);
    const struct dataset_step *step = step_of(experiment, power);
    size_t others = 0;
    if (!matters(step, power))
        return false;
    for (size_t i = 0; i < kind->count; i++) {
        if (i == index || member(kind, i)->gpu.samples == 0)
            continue;
        others++;
        if (has_such(member(kind, i), step, power))
            return false;
    }
    if (others < OTHERS_LEAST)
        return false;
    dataset_evidence(experiment, "load_step", (struct reading){fmax(0, step->at_s), true}, none,
                     "%s went from %.3g to %.3g %s for good %.0f s after the start, in none of its %zu siblings",
                     power ? "power" : "utilisation", step->before, step->after, power ? "W" : "%", fmax(0, step->at_s),
                     others);
    return true;
}

/* A result that more than half of the successful siblings have. */
static void judge_lacking(const struct kind *kind, const char *metric)
{
    size_t successes = 0, with = 0;
    for (size_t i = 0; i < kind->count; i++) {
        successes += member(kind, i)->success;
        with += member(kind, i)->success && dataset_metric(member(kind, i), metric).valid;
    }
    if (with == successes || with * 2 <= successes)
        return;
    for (size_t i = 0; i < kind->count; i++)
        if (member(kind, i)->success && !dataset_metric(member(kind, i), metric).valid)
            dataset_evidence(member(kind, i), "value_missing", none, none,
                             "it succeeded without %s, which %zu of %zu siblings have", metric, with, successes);
}

static void judge_metrics(const struct kind *kind)
{
    AUTO_STRV struct strv names = {0};
    for (size_t i = 0; i < kind->count; i++)
        for (size_t m = 0; m < member(kind, i)->metric_count; m++)
            strv_add_once(&names, member(kind, i)->metrics[m].name);
    for (size_t i = 0; i < names.count; i++)
        judge_lacking(kind, names.items[i]);
}

void judge_siblings(struct dataset *dataset)
{
    AUTO_FREE size_t *order = NULL;
    AUTO_FREE size_t *groups = NULL;
    size_t count = audit_group(dataset, &order, &groups);
    for (size_t g = 0; g < count; g++) {
        struct kind kind = {dataset, order + groups[g], groups[g + 1] - groups[g]};
        judge_outliers(&kind, dataset_power, "power", "W");
        judge_outliers(&kind, energy_per_epoch, "energy per epoch", "J");
        judge_outliers(&kind, duration_per_epoch, "duration per epoch", "s");
        for (size_t i = 0; i < kind.count; i++)
            if (!judge_step(&kind, i, true))
                judge_step(&kind, i, false);
        judge_metrics(&kind);
    }
}
