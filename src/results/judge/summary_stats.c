#include "results/judge/identical.h"
#include "results/judge/measurement.h"
#include "results/judge/rows.h"
#include "results/judge/summary_stats_effects.h"

#include "base/mem.h"
#include "stats/describe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double J_PER_KWH = 3.6e6, skewed_below = 0.01;
static const char drawn[] = "drawn", chosen[] = "chosen", by_default[] = "default";
static const char *const quantities[] = {"gpu_energy_j", "gpu_energy_kwh", "gpu_power_w",
                                         "duration_s", "cpu_energy_j"};

static struct reading value_of(const struct dataset_experiment *experiment, const char *name)
{
    struct reading energy = dataset_energy(experiment);
    if (strcmp(name, "gpu_energy_j") == 0)
        return energy;
    if (strcmp(name, "gpu_energy_kwh") == 0)
        return (struct reading){energy.value / J_PER_KWH, energy.valid};
    if (strcmp(name, "gpu_power_w") == 0)
        return dataset_power(experiment);
    if (strcmp(name, "duration_s") == 0)
        return experiment->duration_s;
    if (strcmp(name, "cpu_energy_j") == 0)
        return experiment->cpu_j.valid ? experiment->cpu_j
                                       : experiment->recorded[RECORDED_CPU_PACKAGE];
    return dataset_metric(experiment, name);
}

struct reading summary_stats_value(const struct dataset_experiment *experiment, const char *name)
{
    struct reading value = value_of(experiment, name);
    return (struct reading){value.value, value.valid && isfinite(value.value)};
}

static void take_members(const struct dataset *dataset, const size_t *order, size_t count,
                         const struct summary_stats_options *options,
                         struct summary_stats_group *group)
{
    group->like = &dataset->items[order[0]];
    group->items = mem_array(count, sizeof *group->items);
    EACH (item, order, count) {
        const struct dataset_experiment *experiment = &dataset->items[*item];
        group->total++;
        if (!experiment->success && !experiment->has_success)
            group->not_ended++;
        else if (!experiment->success)
            group->failed++;
        else if (!audit_counts(dataset, experiment, options->rows))
            group->left_out++;
        else {
            group->items[group->count++] = *item;
            audit_tally_add(&group->tally, experiment);
        }
    }
}

/* Where settings count, the mean of each: its repeats say nothing of others. */
static void values_of(const struct dataset *dataset, const struct summary_stats_group *group,
                      const char *name, double *out, struct figure *figure)
{
    AUTO_FREE double *sum = mem_array(group->count + 1, sizeof *sum);
    AUTO_FREE size_t *runs = mem_array(group->count + 1, sizeof *runs);
    for (size_t i = 0; i < group->count; i++) {
        size_t at = group->setting ? group->setting[i] : i;
        struct reading value = value_of(&dataset->items[group->items[i]], name);
        bool finite = value.valid && isfinite(value.value);
        sum[at] += finite ? value.value : 0;
        runs[at] += finite;
        figure->runs += finite;
        figure->not_finite += value.valid && !finite;
    }
    for (size_t i = 0; i < group->count; i++)
        if (runs[i])
            out[figure->n++] = sum[i] / (double)runs[i];
}

enum stats_scale summary_stats_scale(const char *name, bool is_metric, enum goal goal,
                                     double lowest, double highest)
{
    if (lowest < 0)
        return STATS_ANY;
    if (!is_metric)
        return STATS_POSITIVE;
    if (goal_is_share(name) && highest <= 100)
        return highest <= 1 ? STATS_SHARE : STATS_PERCENT;
    return goal == GOAL_MINIMIZE ? STATS_POSITIVE : STATS_ANY;
}

/* Of the finite ones; sorts them. */
static void describe(struct figure *figure, double *values)
{
    stats_sort(values, figure->n);
    enum stats_scale scale = figure->scale = summary_stats_scale(
        figure->name, figure->is_metric, figure->goal, values[0], values[figure->n - 1]);
    figure->mean = stats_mean(values, figure->n);
    figure->median = stats_median(values, figure->n);
    figure->deviation = stats_deviation(values, figure->n);
    figure->mean_interval = stats_mean_interval(values, figure->n, scale, &figure->mean_why);
    figure->median_interval = stats_median_interval(values, figure->n);
    figure->median_why =
        figure->median_interval.method == STATS_NONE ? "fewer than 6 values" : NULL;
    struct reading skew_p = stats_skew_p(values, figure->n);
    figure->skewed = skew_p.valid && skew_p.value < skewed_below;
    figure->lowest = (struct reading){values[0], true};
    figure->highest = (struct reading){values[figure->n - 1], true};
}

static void add_figure(const struct dataset *dataset, struct summary_stats_group *group,
                       const char *name, bool is_metric, const struct strv *only)
{
    if (only && only->count && !strv_has(only, name))
        return;
    AUTO_FREE double *values = mem_array(group->count + 1, sizeof *values);
    struct figure figure = {.is_metric = is_metric,
                            .goal = is_metric ? dataset_goal(dataset, name) : GOAL_UNKNOWN};
    values_of(dataset, group, name, values, &figure);
    if (figure.n == 0 && figure.not_finite == 0)
        return;
    figure.name = mem_strdup(name);
    AUTO_FREE size_t *items = mem_array(group->count + 1, sizeof *items);
    size_t count = 0;
    EACH (item, group->items, group->count)
        if (summary_stats_value(&dataset->items[*item], name).valid)
            items[count++] = *item;
    measurement_of_mean(dataset, name, items, count, &figure.measurement);
    if (figure.n)
        describe(&figure, values);
    MEM_ADD(group->figures, group->figure_count) = figure;
}

static void add_figures(const struct dataset *dataset, struct summary_stats_group *group,
                        const struct strv *only)
{
    AUTO_STRV struct strv metrics = {0};
    EACH_OF (quantity, quantities)
        add_figure(dataset, group, *quantity, false, only);
    EACH (item, group->items, group->count)
        for (size_t m = 0; m < dataset->items[*item].metric_count; m++)
            strv_add_once(&metrics, dataset->items[*item].metrics[m].name);
    strv_sort(&metrics);
    EACH (entry, metrics.items, metrics.count)
        add_figure(dataset, group, *entry, true, only);
}

bool summary_stats_is_drawn(const struct summary_stats_group *group)
{
    return group->hyperparameters && strcmp(group->hyperparameters, drawn) == 0;
}

/* The hyperparameters in which runs of the group differ, but for seeds. */
static void find_differing(const struct dataset *dataset, const struct summary_stats_group *group,
                           struct strv *out)
{
    AUTO_STRV struct strv names = {0};
    EACH (item, group->items, group->count)
        EACH (param, dataset->items[*item].params, dataset->items[*item].param_count)
            if (!audit_is_seed(param->name))
                strv_add_once(&names, param->name);
    EACH (name, names.items, names.count)
        if (audit_param_differs(dataset, group->items, group->count, *name))
            strv_add(out, *name);
}

static char *setting_name(const struct dataset_experiment *experiment, const struct strv *params)
{
    struct text out = {0};
    EACH (name, params->items, params->count) {
        const struct value *value = dataset_param(experiment, *name);
        AUTO_FREE char *text = value ? value_format(value) : mem_strdup("");
        text_addf(&out, "%s%s=%s", out.length ? ", " : "", *name, text);
    }
    return text_take(&out);
}

/* Each setting's own figures. Settings that were not said to be chosen are only told apart where
 * most were repeated. */
static void add_settings(const struct dataset *dataset, struct summary_stats_group *group,
                         const struct strv *only)
{
    AUTO_FREE size_t *setting = mem_array(group->count + 1, sizeof *setting);
    AUTO_FREE size_t *runs = mem_array(group->count + 1, sizeof *runs);
    AUTO_STRV struct strv params = {0};
    size_t settings = audit_settings(dataset, group->items, NULL, group->count, setting),
           repeated = 0;
    for (size_t i = 0; i < group->count; i++)
        repeated += ++runs[setting[i]] == 2;
    if (settings < 2 || (!group->setting && 2 * repeated < settings))
        return;
    find_differing(dataset, group, &params);
    for (size_t s = 0; s < settings; s++) {
        struct summary_stats_group part = {.like = group->like};
        part.items = mem_array(runs[s], sizeof *part.items);
        for (size_t i = 0; i < group->count; i++)
            if (setting[i] == s)
                part.items[part.count++] = group->items[i];
        add_figures(dataset, &part, only);
        MEM_ADD(group->by_setting, group->by_setting_count) =
            (struct figure_setting){.name = setting_name(&dataset->items[part.items[0]], &params),
                                    .like = part.items[0],
                                    .count = part.count,
                                    .figures = part.figures,
                                    .figure_count = part.figure_count};
        free(part.items);
    }
}

/* Settings that somebody chose are not a sample of others. */
static void drop_intervals(struct summary_stats_group *group)
{
    EACH (figure, group->figures, group->figure_count) {
        figure->mean_interval = figure->median_interval = (struct stats_interval){0};
        figure->mean_why = figure->median_why =
            "the settings were chosen, not drawn: each has its own";
        figure->skewed = false;
    }
}

static struct reading by_name(const struct dataset_experiment *experiment, const void *name)
{
    return summary_stats_value(experiment, name);
}

static struct audit_spread spread_of(const struct dataset *dataset,
                                     const struct summary_stats_group *group, const char *name,
                                     bool *mixed)
{
    struct audit_spread identical =
        audit_spread_of(dataset, group->items, group->count, false, by_name, name);
    *mixed = !identical.cv.valid;
    return *mixed ? audit_spread_of(dataset, group->items, group->count, true, by_name, name)
                  : identical;
}

static void add_spreads(const struct dataset *dataset, struct summary_stats_group *group,
                        double precision)
{
    double sum = 0;
    size_t n = 0;
    group->power_cv_between = spread_of(dataset, group, "gpu_power_w", &group->mixed);
    if (group->power_cv_between.cv.valid)
        group->power_cv_interval = stats_cv_interval(group->power_cv_between.cv.value,
                                                     group->power_cv_between.freedom + 1);
    EACH (item, group->items, group->count) {
        struct reading within = dataset->items[*item].gpu.power_cv_within;
        sum += within.valid ? within.value : 0;
        n += within.valid;
    }
    group->power_cv_within = n ? (struct reading){sum / (double)n, true} : (struct reading){0};
    group->energy_cv_between = spread_of(dataset, group, "gpu_energy_j", &group->energy_mixed);
    /* Repeats are of one setting: what settings differ by is none of their spread. */
    if (group->energy_cv_between.cv.valid && !group->energy_mixed)
        group->repeats = stats_repeats(group->energy_cv_between.cv.value, precision);
}

static void make_group(const struct dataset *dataset, const size_t *order, size_t count,
                       const char *hyperparameters, const struct summary_stats_options *options,
                       struct summary_stats *out)
{
    struct summary_stats_group *group = &MEM_ADD(out->groups, out->count);
    *group = (struct summary_stats_group){.hyperparameters = hyperparameters};
    take_members(dataset, order, count, options, group);
    if (hyperparameters == drawn || hyperparameters == chosen) {
        group->setting = mem_array(group->count + 1, sizeof *group->setting);
        group->settings = audit_settings(dataset, group->items, NULL, group->count, group->setting);
    }
    add_figures(dataset, group, options->only);
    if (hyperparameters != drawn)
        add_settings(dataset, group, options->only);
    if (hyperparameters == chosen && group->settings > 1)
        drop_intervals(group);
    add_spreads(dataset, group, options->precision);
    summary_stats_add_front(dataset, group);
    summary_stats_add_effects(dataset, group, options->seed);
    if (options->interactions)
        summary_stats_add_interactions(dataset, group);
}

/* Of experiments whose mode nobody wrote down: the hyperparameters, seeds too, of the only set of
 * several alike, where all others, at least two, are there once each. Draws do not repeat, so these
 * are the defaults. NULL: it is not so. */
static char *repeated_key(const struct dataset *dataset, const size_t *order, size_t count)
{
    AUTO_STRV struct strv keys = {0};
    const char *repeated = NULL;
    size_t sets = 0, single = 0;
    EACH (item, order, count)
        if (!dataset->items[*item].mode)
            strv_add_owned(&keys, audit_params_key(&dataset->items[*item], true));
    strv_sort(&keys);
    for (size_t from = 0, to; from < keys.count; from = to) {
        for (to = from + 1; to < keys.count && strcmp(keys.items[from], keys.items[to]) == 0;)
            to++;
        if (to - from > 1) {
            repeated = keys.items[from];
            sets++;
        } else {
            single++;
        }
    }
    return sets == 1 && single >= 2 ? mem_strdup(repeated) : NULL;
}

static const char *hyperparameters_of(const struct dataset_experiment *experiment,
                                      const char *default_key)
{
    if (experiment->mode)
        return strcmp(experiment->mode, "default") == 0 ? by_default
               : strcmp(experiment->mode, "grid") == 0 || strcmp(experiment->mode, "list") == 0
                   ? chosen
                   : drawn;
    if (!default_key)
        return NULL;
    AUTO_FREE char *key = audit_params_key(experiment, true);
    return strcmp(key, default_key) == 0 ? by_default : drawn;
}

/* Defaults, which are alike, chosen values and random draws are three things: each mode of a model
 * is a group, and of parallel ones, or ones whose mode is not known, so are the three. */
static void make_modes(const struct dataset *dataset, const size_t *order, size_t count,
                       const struct summary_stats_options *options, struct summary_stats *out)
{
    static const char *const kinds[] = {NULL, by_default, chosen, drawn};
    AUTO_STRV struct strv modes = {0};
    AUTO_FREE size_t *members = mem_array(count + 1, sizeof *members);
    AUTO_FREE const char **kind = mem_array(count + 1, sizeof *kind);
    AUTO_FREE char *default_key = repeated_key(dataset, order, count);
    for (size_t i = 0; i < count; i++) {
        strv_add_once(&modes, dataset_mode(&dataset->items[order[i]]));
        kind[i] = hyperparameters_of(&dataset->items[order[i]], default_key);
    }
    strv_sort(&modes);
    EACH (item, modes.items, modes.count)
        EACH_OF (entry, kinds) {
            size_t n = 0;
            for (size_t i = 0; i < count; i++)
                if (kind[i] == *entry &&
                    strcmp(dataset_mode(&dataset->items[order[i]]), *item) == 0)
                    members[n++] = order[i];
            if (n)
                make_group(dataset, members, n, *entry, options, out);
        }
}

/* Of the power of all runs of a model. */
static struct audit_spread power_cv_of(const struct dataset *dataset, const size_t *order,
                                       size_t count, const struct summary_stats_options *options)
{
    struct summary_stats_group all = {0};
    take_members(dataset, order, count, options, &all);
    struct audit_spread out =
        audit_spread_of(dataset, all.items, all.count, true, by_name, "gpu_power_w");
    free(all.items);
    return out;
}

/* The p of all effects, or of all interactions, are one family: whoever looks at all of them is
 * fooled once in twenty looks, not once in twenty lines. */
static void adjust(struct summary_stats *figures, bool interactions)
{
    size_t count = 0;
    EACH (item, figures->groups, figures->count)
        count += interactions ? item->interaction_count : item->effect_count;
    AUTO_FREE double *p = mem_array(count + 1, sizeof *p);
    AUTO_FREE double **adjusted = mem_array(count + 1, sizeof *adjusted);
    count = 0;
    EACH (group, figures->groups, figures->count) {
        for (size_t i = 0; !interactions && i < group->effect_count; i++) {
            p[count] = group->effects[i].trend.p;
            adjusted[count++] = &group->effects[i].p_adjusted;
        }
        for (size_t i = 0; interactions && i < group->interaction_count; i++) {
            p[count] = group->interactions[i].p;
            adjusted[count++] = &group->interactions[i].p_adjusted;
        }
    }
    stats_adjust_holm(p, count);
    for (size_t i = 0; i < count; i++)
        *adjusted[i] = p[i];
}

void summary_stats_make(const struct dataset *dataset, const struct summary_stats_options *options,
                        struct summary_stats *out)
{
    AUTO_FREE size_t *order = NULL, *groups = NULL;
    size_t count = audit_group(dataset, &order, &groups);
    *out = (struct summary_stats){0};
    for (size_t g = 0; g < count; g++) {
        size_t first = out->count, members = groups[g + 1] - groups[g];
        make_modes(dataset, order + groups[g], members, options, out);
        struct audit_spread power_cv = power_cv_of(dataset, order + groups[g], members, options);
        for (size_t i = first; i < out->count; i++)
            out->groups[i].power_cv = power_cv;
    }
    adjust(out, false);
    adjust(out, true);
}

void summary_stats_fini(struct summary_stats *figures)
{
    EACH (group, figures->groups, figures->count) {
        EACH (figure, group->figures, group->figure_count)
            free(figure->name);
        EACH (effect, group->effects, group->effect_count) {
            free(effect->param);
            free(effect->levels);
        }
        EACH (interaction, group->interactions, group->interaction_count) {
            free(interaction->params[0]);
            free(interaction->params[1]);
        }
        EACH (setting, group->by_setting, group->by_setting_count) {
            EACH (figure, setting->figures, setting->figure_count)
                free(figure->name);
            free(setting->figures);
            free(setting->name);
        }
        free(group->by_setting);
        free(group->effects);
        free(group->interactions);
        free(group->figures);
        free(group->items);
        free(group->setting);
        free(group->front);
    }
    free(figures->groups);
    *figures = (struct summary_stats){0};
}
