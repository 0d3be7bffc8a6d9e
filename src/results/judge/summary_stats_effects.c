#include "results/judge/summary_stats_effects.h"
#include "results/judge/identical.h"

#include "base/mem.h"
#include "stats/describe.h"
#include "stats/effect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A hyperparameter of more than MOST_LEVELS values is cut into ranges of about LEVEL_POINTS
 * points. */
enum { MOST_LEVELS = 8, LEVEL_POINTS = 6 };

/* The one that most runs have, of those whose goal is known; of equal ones a score before a loss,
 * then the first by name. */
static void choose_quality(struct summary_stats_group *group)
{
    size_t most = 0;
    EACH (figure, group->figures, group->figure_count) {
        bool score = figure->goal == GOAL_MAXIMIZE && group->quality_goal == GOAL_MINIMIZE;
        if (figure->goal == GOAL_UNKNOWN || figure->n < most || (figure->n == most && !score))
            continue;
        most = figure->n;
        group->quality = figure->name;
        group->quality_goal = figure->goal;
    }
}

struct point {
    double energy, quality;
    size_t index;
};

static int compare_energy(const void *a, const void *b)
{
    const struct point *left = a, *right = b;
    if (left->energy != right->energy)
        return left->energy > right->energy ? 1 : -1;
    return ORDER(left->index, right->index);
}

void summary_stats_add_front(const struct dataset *dataset, struct summary_stats_group *group)
{
    choose_quality(group);
    if (!group->quality)
        return;
    AUTO_FREE struct point *points = mem_array(group->count + 1, sizeof *points);
    AUTO_FREE double *energy = mem_array(group->count + 1, sizeof *energy);
    AUTO_FREE double *quality = mem_array(group->count + 1, sizeof *quality);
    AUTO_FREE bool *front = mem_array(group->count + 1, sizeof *front);
    size_t n = 0;
    EACH (item, group->items, group->count) {
        const struct dataset_experiment *experiment = &dataset->items[*item];
        struct reading joules = dataset_energy(experiment),
                       score = summary_stats_value(experiment, group->quality);
        if (joules.valid && score.valid)
            points[n++] = (struct point){
                joules.value, group->quality_goal == GOAL_MINIMIZE ? -score.value : score.value,
                *item};
    }
    qsort(points, n, sizeof *points, compare_energy);
    for (size_t i = 0; i < n; i++) {
        energy[i] = points[i].energy;
        quality[i] = points[i].quality;
    }
    stats_pareto(energy, quality, n, front);
    group->front = mem_array(n + 1, sizeof *group->front);
    for (size_t i = 0; i < n; i++)
        if (front[i])
            group->front[group->front_count++] = points[i].index;
}

/* A value of the hyperparameter, and what the quantity came to: of one run, or the mean of several
 * alike. */
struct effect_point {
    char *key; /* of the hyperparameters; NULL: runs are not joined */
    double x, y;
    size_t runs;
};

static int compare_keys(const void *a, const void *b)
{
    const struct effect_point *left = a, *right = b;
    return strcmp(left->key, right->key);
}

/* Whether a hyperparameter differs among the runs that is neither this one nor a seed. */
static bool others_differ(const struct dataset *dataset, const struct summary_stats_group *group,
                          const struct strv *params, const char *param)
{
    EACH (item, params->items, params->count) {
        if (strcmp(*item, param) != 0 &&
            audit_param_differs(dataset, group->items, group->count, *item))
            return true;
    }
    return false;
}

static int compare_points(const void *a, const void *b)
{
    const struct effect_point *left = a, *right = b;
    return left->x != right->x ? ORDER(left->x, right->x) : ORDER(left->y, right->y);
}

/* points: by x. Where every repeat of a value gave exactly the same, the repeats show no spread to
 * test with: each value becomes one point. */
static size_t join_constant(struct effect_point *points, size_t n)
{
    size_t joined = 0;
    for (size_t i = 1; i < n; i++)
        if (points[i].x == points[i - 1].x && points[i].y != points[i - 1].y)
            return n;
    for (size_t i = 0; i < n; i++) {
        if (joined && points[joined - 1].x == points[i].x)
            points[joined - 1].runs += points[i].runs;
        else
            points[joined++] = points[i];
    }
    return joined;
}

/* Runs that are alike but for the seed repeat one another: where other hyperparameters differ, too,
 * they would count those several times. */
static size_t join_repeats(struct effect_point *points, size_t n)
{
    size_t joined = 0;
    if (n)
        qsort(points, n, sizeof *points, compare_keys);
    for (size_t from = 0, to; from < n; from = to) {
        struct effect_point point = points[from];
        for (to = from + 1; to < n && strcmp(points[to].key, point.key) == 0; to++) {
            point.y += points[to].y;
            point.runs++;
        }
        point.y /= (double)point.runs;
        for (size_t i = from; i < to; i++) {
            free(points[i].key);
            points[i].key = NULL;
        }
        point.key = NULL;
        points[joined++] = point;
    }
    return joined;
}

static size_t points_of(const struct dataset *dataset, const struct summary_stats_group *group,
                        const struct strv *params, const char *param, const char *target,
                        struct effect_point *out)
{
    bool join = summary_stats_is_drawn(group) || others_differ(dataset, group, params, param);
    size_t n = 0;
    EACH (item, group->items, group->count) {
        const struct dataset_experiment *experiment = &dataset->items[*item];
        struct reading setting = dataset_param_number(experiment, param),
                       value = summary_stats_value(experiment, target);
        if (setting.valid && value.valid)
            out[n++] = (struct effect_point){join ? audit_params_key(experiment, false) : NULL,
                                             setting.value, value.value, 1};
    }
    return join ? join_repeats(out, n) : n;
}

/* points: by x; those of one x are not parted. */
static void add_levels(struct figure_effect *effect, const struct effect_point *points,
                       enum stats_scale scale)
{
    size_t n = effect->n, distinct = 1;
    for (size_t i = 1; i < n; i++)
        distinct += points[i].x != points[i - 1].x;
    size_t ranges = n / LEVEL_POINTS < 2             ? 2
                    : n / LEVEL_POINTS > MOST_LEVELS ? MOST_LEVELS
                                                     : n / LEVEL_POINTS;
    size_t each = distinct <= MOST_LEVELS ? 1 : (n + ranges - 1) / ranges, least = each / 2 + 1;
    AUTO_FREE double *y = mem_array(n + 1, sizeof *y);
    effect->levels = mem_array(n, sizeof *effect->levels);
    for (size_t from = 0, to; from < n; from = to) {
        /* What would be left at the end is no range of its own. */
        for (to = from; to < n && (to - from < each || points[to].x == points[to - 1].x ||
                                   (each > 1 && n - to < least));
             to++)
            y[to - from] = points[to].y;
        struct figure_level *level = &effect->levels[effect->level_count++];
        *level =
            (struct figure_level){.from = points[from].x, .to = points[to - 1].x, .n = to - from};
        level->median = stats_median(y, level->n).value;
        level->interval = stats_median_interval_on(y, level->n, scale, NULL);
    }
}

static void add_effect(const struct dataset *dataset, struct summary_stats_group *group,
                       const struct strv *params, const char *param, const struct figure *figure,
                       uint64_t seed)
{
    AUTO_FREE struct effect_point *points = mem_array(group->count + 1, sizeof *points);
    AUTO_FREE double *x = mem_array(group->count + 1, sizeof *x);
    AUTO_FREE double *y = mem_array(group->count + 1, sizeof *y);
    struct figure_effect effect = {.target = figure->name};
    effect.n = points_of(dataset, group, params, param, figure->name, points);
    if (effect.n < STATS_TREND_LEAST)
        return;
    qsort(points, effect.n, sizeof *points, compare_points);
    effect.n = join_constant(points, effect.n);
    for (size_t i = 0; i < effect.n; i++) {
        x[i] = points[i].x;
        y[i] = points[i].y;
        effect.runs += points[i].runs;
    }
    /* Each has its own stream, so that none depends on which others there are. */
    struct rng rng;
    AUTO_FREE char *stream = mem_printf("%s %s %d %s %s", group->like->repo, group->like->model,
                                        group->like->parallel, param, figure->name);
    rng_seed_named(&rng, seed, stream);
    effect.trend = stats_trend(x, y, effect.n, &rng);
    if (!effect.trend.valid)
        return;
    effect.param = mem_strdup(param);
    add_levels(&effect, points, figure->scale);
    MEM_ADD(group->effects, group->effect_count) = effect;
}

void summary_stats_add_effects(const struct dataset *dataset, struct summary_stats_group *group,
                               uint64_t seed)
{
    AUTO_STRV struct strv params = {0};
    EACH (item, group->items, group->count) {
        const struct dataset_experiment *experiment = &dataset->items[*item];
        EACH (param, experiment->params, experiment->param_count)
            if (!audit_is_seed(param->name))
                strv_add_once(&params, param->name);
    }
    for (size_t f = 0; f < group->figure_count; f++) {
        const struct figure *figure = &group->figures[f];
        if (figure->is_metric || strcmp(figure->name, "gpu_energy_j") == 0 ||
            strcmp(figure->name, "duration_s") == 0)
            for (size_t p = 0; p < params.count; p++)
                add_effect(dataset, group, &params, params.items[p], figure, seed);
    }
}

/* The settings of a group that know a quantity: a row each, the mean of its runs on the quantity's
 * scale. */
struct design {
    size_t count, runs, params;
    double *y;
    /* count rows of params: logarithms where all are over 0, else shares of the greatest; less
     * their mean */
    double *x;
    double *unit; /* what a column was divided by; 1 of logarithms */
};

static void design_fini(struct design *design)
{
    free(design->y);
    free(design->x);
    free(design->unit);
}

/* Numbers that all runs of the group have, and that differ; no seeds. */
static void find_params(const struct dataset *dataset, const struct summary_stats_group *group,
                        struct strv *out)
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

static enum stats_scale scale_of(const struct dataset *dataset,
                                 const struct summary_stats_group *group,
                                 const struct figure *figure)
{
    double lowest = INFINITY, highest = -INFINITY;
    EACH (item, group->items, group->count) {
        struct reading value = summary_stats_value(&dataset->items[*item], figure->name);
        lowest = value.valid ? fmin(lowest, value.value) : lowest;
        highest = value.valid ? fmax(highest, value.value) : highest;
    }
    enum stats_scale scale =
        summary_stats_scale(figure->name, figure->is_metric, figure->goal, lowest, highest);
    return stats_scale_holds(scale, lowest, highest) ? scale : STATS_ANY;
}

static void design_make(const struct dataset *dataset, const struct summary_stats_group *group,
                        const struct strv *params, const struct figure *figure, struct design *out)
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
                out->x[out->count * params->count + k] =
                    dataset_param_number(experiment, params->items[k]).value;
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

static void add_interaction(struct summary_stats_group *group, const struct design *design,
                            const struct strv *params, const size_t pair[2],
                            const struct figure *figure)
{
    AUTO_FREE double *product = mem_array(design->count + 1, sizeof *product);
    AUTO_FREE size_t *stratum = mem_array(design->count + 1, sizeof *stratum);
    struct stats_effect effect;
    for (size_t i = 0; i < design->count; i++)
        product[i] =
            design->x[i * design->params + pair[0]] * design->x[i * design->params + pair[1]];
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
    MEM_ADD(group->interactions, group->interaction_count) = (struct figure_interaction){
        .params = {mem_strdup(params->items[pair[0]]), mem_strdup(params->items[pair[1]])},
        .target = figure->name,
        .n = design->count,
        .runs = design->runs,
        .slope = effect.log_ratio / unit,
        .interval = {effect.interval.low / unit, effect.interval.high / unit,
                     effect.interval.method},
        .df = effect.df,
        .p = effect.p};
}

/* All pairs, each with every hyperparameter's own effect beside it. Two settings for each parameter
 * of the model at least. */
static void add_of_figure(const struct dataset *dataset, struct summary_stats_group *group,
                          const struct strv *params, const struct figure *figure)
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

void summary_stats_add_interactions(const struct dataset *dataset,
                                    struct summary_stats_group *group)
{
    AUTO_STRV struct strv params = {0};
    find_params(dataset, group, &params);
    if (params.count < 2)
        group->interactions_why =
            "fewer than two numeric hyperparameters that all runs have differ";
    else if (params.count > STATS_EFFECT_COVARIATES)
        group->interactions_why = "more than 8 hyperparameters differ";
    for (size_t f = 0;
         f < group->figure_count && params.count >= 2 && params.count <= STATS_EFFECT_COVARIATES;
         f++)
        if (group->figures[f].n &&
            (group->figures[f].is_metric || strcmp(group->figures[f].name, "gpu_energy_j") == 0))
            add_of_figure(dataset, group, &params, &group->figures[f]);
}
