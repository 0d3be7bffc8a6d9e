#include "audit/figures_effects.h"

#include "base/mem.h"

#include <string.h>

enum { LEAST = 5 }; /* below, no rank correlation can be told from chance */

/* The one that most runs have, of those whose goal is known; of equal ones a score before a loss, then the first by
 * name. */
static void choose_quality(struct figures_group *group)
{
    size_t most = 0;
    for (size_t i = 0; i < group->figure_count; i++) {
        const struct figure *figure = &group->figures[i];
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
    return (left->index > right->index) - (left->index < right->index);
}

void figures_add_front(const struct dataset *dataset, struct figures_group *group)
{
    choose_quality(group);
    if (!group->quality)
        return;
    AUTO_FREE struct point *points = mem_array(group->count + 1, sizeof *points);
    AUTO_FREE double *energy = mem_array(group->count + 1, sizeof *energy);
    AUTO_FREE double *quality = mem_array(group->count + 1, sizeof *quality);
    AUTO_FREE bool *front = mem_array(group->count + 1, sizeof *front);
    size_t n = 0;
    for (size_t i = 0; i < group->count; i++) {
        const struct dataset_experiment *experiment = &dataset->items[group->items[i]];
        struct reading joules = dataset_energy(experiment), score = figures_value(experiment, group->quality);
        if (joules.valid && score.valid)
            points[n++] = (struct point){
                joules.value, group->quality_goal == GOAL_MINIMIZE ? -score.value : score.value, group->items[i]};
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

static void add_effect(const struct dataset *dataset, struct figures_group *group, const char *param,
                       const char *target)
{
    AUTO_FREE double *x = mem_array(group->count + 1, sizeof *x);
    AUTO_FREE double *y = mem_array(group->count + 1, sizeof *y);
    struct figure_effect effect = {.target = target};
    for (size_t i = 0; i < group->count; i++) {
        const struct dataset_experiment *experiment = &dataset->items[group->items[i]];
        struct reading setting = dataset_param_number(experiment, param), value = figures_value(experiment, target);
        if (!setting.valid || !value.valid)
            continue;
        x[effect.n] = setting.value;
        y[effect.n++] = value.value;
    }
    effect.rank = stats_spearman(x, y, effect.n);
    if (effect.n < LEAST || !effect.rank.valid)
        return;
    effect.param = mem_strdup(param);
    group->effects = mem_resize(group->effects, group->effect_count + 1, sizeof *group->effects);
    group->effects[group->effect_count++] = effect;
}

void figures_add_effects(const struct dataset *dataset, struct figures_group *group)
{
    AUTO_STRV struct strv params = {0};
    for (size_t i = 0; i < group->count; i++)
        for (size_t p = 0; p < dataset->items[group->items[i]].param_count; p++)
            strv_add_once(&params, dataset->items[group->items[i]].params[p].name);
    for (size_t p = 0; p < params.count; p++)
        add_effect(dataset, group, params.items[p], "gpu_energy_j");
    for (size_t f = 0; f < group->figure_count; f++)
        for (size_t p = 0; group->figures[f].is_metric && p < params.count; p++)
            add_effect(dataset, group, params.items[p], group->figures[f].name);
}

/* One family: whoever looks at all of them is fooled once in twenty looks, not once in twenty lines. */
void figures_adjust_effects(struct figures *figures)
{
    size_t count = 0, at = 0;
    for (size_t g = 0; g < figures->count; g++)
        count += figures->groups[g].effect_count;
    AUTO_FREE double *p = mem_array(count + 1, sizeof *p);
    for (size_t g = 0; g < figures->count; g++)
        for (size_t i = 0; i < figures->groups[g].effect_count; i++)
            p[at++] = figures->groups[g].effects[i].rank.p;
    stats_adjust_holm(p, count);
    at = 0;
    for (size_t g = 0; g < figures->count; g++)
        for (size_t i = 0; i < figures->groups[g].effect_count; i++)
            figures->groups[g].effects[i].p_adjusted = p[at++];
}
