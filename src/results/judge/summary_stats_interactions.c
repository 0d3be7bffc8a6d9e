#include "results/judge/summary_stats.h"

#include "base/mem.h"
#include "stats/effect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The settings of a group that know a quantity: a row each, the mean of its runs on the quantity's scale. */
struct design {
    size_t count, runs, params;
    double *y;
    double *x; /* count rows of params: logarithms where all are over 0, else shares of the greatest; less their mean */
    double *unit; /* what a column was divided by; 1 of logarithms */
};

static void design_fini(struct design *design)
{
    free(design->y);
    free(design->x);
    free(design->unit);
}

/* Numbers that all runs of the group have, and that differ; no seeds. */
static void find_params(const struct dataset *dataset, const struct summary_stats_group *group, struct strv *out)
{
    const struct dataset_experiment *first = group->count ? &dataset->items[group->items[0]] : NULL;
    for (size_t p = 0; first && p < first->param_count; p++) {
        const char *name = first->params[p].name;
        bool numbers = !audit_is_seed(name), differ = false;
        for (size_t i = 0; i < group->count && numbers; i++) {
            struct reading value = dataset_param_number(&dataset->items[group->items[i]], name);
            numbers = value.valid;
            differ |= value.value != dataset_param_number(first, name).value;
        }
        if (numbers && differ)
            strv_add(out, name);
    }
    strv_sort(out);
}

static void scale_column(struct design *design, size_t k)
{
    double lowest = INFINITY, most = 0, mean = 0;
    for (size_t i = 0; i < design->count; i++) {
        lowest = fmin(lowest, design->x[i * design->params + k]);
        most = fmax(most, fabs(design->x[i * design->params + k]));
    }
    design->unit[k] = lowest > 0 || !(most > 0) ? 1 : most;
    for (size_t i = 0; i < design->count; i++) {
        double *x = &design->x[i * design->params + k];
        *x = lowest > 0 ? log(*x) : *x / design->unit[k];
        mean += *x / (double)design->count;
    }
    for (size_t i = 0; i < design->count; i++)
        design->x[i * design->params + k] -= mean;
}

static enum stats_scale scale_of(const struct dataset *dataset, const struct summary_stats_group *group,
                                 const struct figure *figure)
{
    double lowest = INFINITY, highest = -INFINITY;
    for (size_t i = 0; i < group->count; i++) {
        struct reading value = summary_stats_value(&dataset->items[group->items[i]], figure->name);
        lowest = value.valid ? fmin(lowest, value.value) : lowest;
        highest = value.valid ? fmax(highest, value.value) : highest;
    }
    enum stats_scale scale = summary_stats_scale(figure->name, figure->is_metric, figure->goal, lowest, highest);
    return stats_scale_holds(scale, lowest, highest) ? scale : STATS_ANY;
}

static void design_make(const struct dataset *dataset, const struct summary_stats_group *group, const struct strv *params,
                        const struct figure *figure, struct design *out)
{
    enum stats_scale scale = scale_of(dataset, group, figure);
    AUTO_FREE size_t *setting = mem_array(group->count + 1, sizeof *setting);
    AUTO_FREE size_t *row = mem_array(group->count + 1, sizeof *row); /* of a setting, from 1 */
    AUTO_FREE double *runs = mem_array(group->count + 1, sizeof *runs);
    *out = (struct design){.params = params->count};
    out->y = mem_array(group->count + 1, sizeof *out->y);
    out->x = mem_array((group->count + 1) * (params->count + 1), sizeof *out->x);
    out->unit = mem_array(params->count + 1, sizeof *out->unit);
    audit_settings(dataset, group->items, NULL, group->count, setting);
    for (size_t i = 0; i < group->count; i++) {
        const struct dataset_experiment *experiment = &dataset->items[group->items[i]];
        struct reading value = summary_stats_value(experiment, figure->name);
        if (!value.valid)
            continue;
        if (!row[setting[i]]) {
            for (size_t k = 0; k < params->count; k++)
                out->x[out->count * params->count + k] = dataset_param_number(experiment, params->items[k]).value;
            row[setting[i]] = ++out->count;
        }
        out->y[row[setting[i]] - 1] += stats_to_scale(value.value, scale);
        runs[row[setting[i]] - 1]++;
        out->runs++;
    }
    for (size_t i = 0; i < out->count; i++)
        out->y[i] /= runs[i];
    for (size_t k = 0; k < params->count; k++)
        scale_column(out, k);
}

static void add_interaction(struct summary_stats_group *group, const struct design *design, const struct strv *params,
                            const size_t pair[2], const struct figure *figure)
{
    AUTO_FREE double *product = mem_array(design->count + 1, sizeof *product);
    AUTO_FREE size_t *stratum = mem_array(design->count + 1, sizeof *stratum);
    struct stats_effect effect;
    for (size_t i = 0; i < design->count; i++)
        product[i] = design->x[i * design->params + pair[0]] * design->x[i * design->params + pair[1]];
    stats_effect(&(struct stats_effect_input){.count = design->count,
                                              .y = design->y,
                                              .plain = true,
                                              .column = product,
                                              .stratum = stratum,
                                              .strata = 1,
                                              .x = design->x,
                                              .covariates = design->params},
                 &effect);
    if (!effect.valid || !effect.has_error)
        return;
    double unit = design->unit[pair[0]] * design->unit[pair[1]];
    group->interactions = mem_resize(group->interactions, group->interaction_count + 1, sizeof *group->interactions);
    group->interactions[group->interaction_count++] = (struct figure_interaction){
        .params = {mem_strdup(params->items[pair[0]]), mem_strdup(params->items[pair[1]])},
        .target = figure->name,
        .n = design->count,
        .runs = design->runs,
        .slope = effect.log_ratio / unit,
        .interval = {effect.interval.low / unit, effect.interval.high / unit, effect.interval.method},
        .df = effect.df,
        .p = effect.p};
}

/* All pairs, each with every hyperparameter's own effect beside it. Two settings for each parameter of the model at least. */
static void add_of_figure(const struct dataset *dataset, struct summary_stats_group *group, const struct strv *params,
                          const struct figure *figure)
{
    AUTO(design_fini) struct design design;
    design_make(dataset, group, params, figure, &design);
    size_t least = 2 * (params->count + 2);
    if (design.count < least) {
        group->interactions_why = "fewer than two settings for each parameter of the model";
        return;
    }
    for (size_t a = 0; a < params->count; a++)
        for (size_t b = a + 1; b < params->count; b++)
            add_interaction(group, &design, params, (const size_t[]){a, b}, figure);
}

void summary_stats_add_interactions(const struct dataset *dataset, struct summary_stats_group *group)
{
    AUTO_STRV struct strv params = {0};
    find_params(dataset, group, &params);
    if (params.count < 2)
        group->interactions_why = "fewer than two numeric hyperparameters that all runs have differ";
    else if (params.count > STATS_EFFECT_COVARIATES)
        group->interactions_why = "more than 8 hyperparameters differ";
    for (size_t f = 0; f < group->figure_count && params.count >= 2 && params.count <= STATS_EFFECT_COVARIATES; f++)
        if (group->figures[f].n && (group->figures[f].is_metric || strcmp(group->figures[f].name, "gpu_energy_j") == 0))
            add_of_figure(dataset, group, &params, &group->figures[f]);
}
