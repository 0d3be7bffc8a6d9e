#include "results/judge/figures.h"

#include "results/judge/audit_json.h"
#include "base/csv.h"
#include "base/json.h"
#include "tare_build.h"

json_t *figures_interval_json(const struct stats_interval *interval)
{
    json_t *out;
    if (interval->method == STATS_NONE)
        return json_null();
    out = json_object();
    json_object_set_new(out, "low", json_real(interval->low));
    json_object_set_new(out, "high", json_real(interval->high));
    json_object_set_new(out, "method", json_string(stats_method_name(interval->method)));
    return out;
}

json_t *figures_figure_json(const struct figure *figure)
{
    json_t *out = json_object();
    json_object_set_new(out, "name", json_text_or_null(figure->name));
    json_object_set_new(out, "metric", json_boolean(figure->is_metric));
    json_set_count(out, "n", figure->n);
    json_set_count(out, "runs", figure->runs);
    json_set_count(out, "not_finite", figure->not_finite);
    json_object_set_new(out, "goal", json_text_or_null(goal_name(figure->goal)));
    json_set_reading(out, "mean", figure->mean);
    json_object_set_new(out, "mean_interval", figures_interval_json(&figure->mean_interval));
    if (figure->mean_why)
        json_object_set_new(out, "mean_interval_missing", json_string(figure->mean_why));
    json_object_set_new(out, "measurement", measurement_json(&figure->measurement, false));
    struct stats_interval measured =
        measurement_mean_interval(&figure->measurement, figure->mean.value, &figure->mean_interval);
    json_object_set_new(out, "mean_interval_with_measurement", figures_interval_json(&measured));
    json_set_reading(out, "median", figure->median);
    json_object_set_new(out, "median_interval", figures_interval_json(&figure->median_interval));
    if (figure->median_why)
        json_object_set_new(out, "median_interval_missing", json_string(figure->median_why));
    json_set_reading(out, "deviation", figure->deviation);
    json_set_reading(out, "lowest", figure->lowest);
    json_set_reading(out, "highest", figure->highest);
    return out;
}

static json_t *spread_json(const struct audit_spread *spread, bool mixed)
{
    json_t *out = json_object();
    json_set_reading(out, "value", spread->cv);
    json_object_set_new(out, "of", json_string(mixed ? "mixed" : "identical"));
    json_set_count(out, "runs", spread->values);
    json_set_count(out, "sets", spread->sets);
    return out;
}

static json_t *level_json(const struct figure_level *level)
{
    json_t *out = json_object();
    json_object_set_new(out, "from", json_real(level->from));
    json_object_set_new(out, "to", json_real(level->to));
    json_set_count(out, "n", level->n);
    json_object_set_new(out, "median", json_real(level->median));
    json_object_set_new(out, "interval", figures_interval_json(&level->interval));
    return out;
}

static json_t *effect_json(const struct figure_effect *effect)
{
    json_t *out = json_object(), *curve = json_array();
    json_object_set_new(out, "hyperparameter", json_text_or_null(effect->param));
    json_object_set_new(out, "on", json_text_or_null(effect->target));
    json_set_count(out, "n", effect->n);
    json_set_count(out, "runs", effect->runs);
    json_object_set_new(out, "rho", json_real(effect->rank.rho));
    json_object_set_new(out, "interval", figures_interval_json(&effect->rank.interval));
    json_object_set_new(out, "p", json_real(effect->rank.p));
    json_object_set_new(out, "p_corrected", json_real(effect->p_adjusted));
    for (size_t i = 0; i < effect->level_count; i++)
        json_array_append_new(curve, level_json(&effect->levels[i]));
    json_object_set_new(out, "curve", curve);
    return out;
}

static json_t *interaction_json(const struct figure_interaction *interaction)
{
    json_t *out = json_object();
    json_object_set_new(
        out, "hyperparameters",
        json_pack("[o, o]", json_text_or_null(interaction->params[0]), json_text_or_null(interaction->params[1])));
    json_object_set_new(out, "on", json_text_or_null(interaction->target));
    json_set_count(out, "n", interaction->n);
    json_set_count(out, "runs", interaction->runs);
    json_object_set_new(out, "slope", json_real(interaction->slope));
    json_object_set_new(out, "interval", figures_interval_json(&interaction->interval));
    json_object_set_new(out, "df", json_real(interaction->df));
    json_object_set_new(out, "p", json_real(interaction->p));
    json_object_set_new(out, "p_corrected", json_real(interaction->p_adjusted));
    return out;
}

static void set_interactions(json_t *out, const struct figures_group *group)
{
    json_t *interactions = json_array();
    for (size_t i = 0; i < group->interaction_count; i++)
        json_array_append_new(interactions, interaction_json(&group->interactions[i]));
    json_object_set_new(out, "interactions", interactions);
    json_object_set_new(out, "interactions_missing", json_text_or_null(group->interactions_why));
}

static json_t *front_json(const struct dataset *dataset, const struct figures_group *group)
{
    json_t *out = json_array();
    for (size_t i = 0; i < group->front_count; i++) {
        const struct dataset_experiment *experiment = &dataset->items[group->front[i]];
        json_t *row = json_object();
        json_object_set_new(row, "experiment_id", json_text_or_null(experiment->id));
        json_set_reading(row, "gpu_energy_j", dataset_energy(experiment));
        json_set_reading(row, "quality", dataset_metric(experiment, group->quality));
        json_array_append_new(out, row);
    }
    return out;
}

static json_t *group_json(const struct dataset *dataset, const struct figures_group *group,
                          const struct figures_options *options)
{
    json_t *out = json_object(), *figures = json_array(), *effects = json_array();
    json_object_set_new(out, "repository", json_text_or_null(group->like->repo));
    json_object_set_new(out, "model", json_text_or_null(group->like->model));
    json_object_set_new(out, "mode", json_string(dataset_mode(group->like)));
    json_object_set_new(out, "hyperparameters", json_text_or_null(group->hyperparameters));
    json_set_count(out, "experiments", group->total);
    json_set_count(out, "failed", group->failed);
    json_set_count(out, "not_ended", group->not_ended);
    json_set_count(out, "left_out", group->left_out);
    json_set_count(out, "n", group->count);
    json_object_set_new(out, "settings", group->setting ? json_integer((json_int_t)group->settings) : json_null());
    for (size_t i = 0; i < group->figure_count; i++)
        json_array_append_new(figures, figures_figure_json(&group->figures[i]));
    json_object_set_new(out, "figures", figures);
    json_t *power = spread_json(&group->power_cv_between, group->mixed);
    json_object_set_new(power, "interval", figures_interval_json(&group->power_cv_interval));
    json_object_set_new(out, "power_cv_between", power);
    json_set_reading(out, "power_cv_within", group->power_cv_within);
    json_object_set_new(out, "energy_cv_between", spread_json(&group->energy_cv_between, group->energy_mixed));
    json_object_set_new(out, "repeats_needed", group->repeats ? json_integer((json_int_t)group->repeats) : json_null());
    for (size_t i = 0; i < group->effect_count; i++)
        json_array_append_new(effects, effect_json(&group->effects[i]));
    json_object_set_new(out, "effects", effects);
    if (options->interactions)
        set_interactions(out, group);
    json_object_set_new(out, "quality", json_text_or_null(group->quality));
    json_object_set_new(out, "quality_goal", json_text_or_null(goal_name(group->quality_goal)));
    json_object_set_new(out, "quality_is_loss",
                        group->quality ? json_boolean(group->quality_goal == GOAL_MINIMIZE) : json_null());
    json_object_set_new(out, "front", front_json(dataset, group));
    return out;
}

json_t *figures_effects_json(const struct dataset *dataset, const struct figures *figures)
{
    json_t *out = json_array();
    for (size_t g = 0; g < figures->count; g++) {
        const struct figures_group *group = &figures->groups[g];
        if (group->effect_count == 0)
            continue;
        json_t *row = json_object(), *experiments = json_array(), *effects = json_array();
        json_object_set_new(row, "repository", json_text_or_null(group->like->repo));
        json_object_set_new(row, "model", json_text_or_null(group->like->model));
        json_object_set_new(row, "mode", json_string(dataset_mode(group->like)));
        json_object_set_new(row, "hyperparameters", json_text_or_null(group->hyperparameters));
        for (size_t i = 0; i < group->count; i++)
            json_array_append_new(experiments, json_text_or_null(dataset->items[group->items[i]].id));
        json_object_set_new(row, "experiments", experiments);
        for (size_t i = 0; i < group->effect_count; i++)
            json_array_append_new(effects, effect_json(&group->effects[i]));
        json_object_set_new(row, "effects", effects);
        json_array_append_new(out, row);
    }
    return out;
}

json_t *figures_spellings_json(const struct dataset *dataset)
{
    json_t *out = json_array();
    for (size_t i = 0; i < dataset->spelling_count; i++) {
        const struct dataset_spelling *spelling = &dataset->spellings[i];
        json_t *row = json_object();
        json_object_set_new(row, "name", json_text_or_null(spelling->name));
        json_object_set_new(row, "other", json_text_or_null(spelling->other));
        json_object_set_new(row, "joined", json_boolean(!spelling->apart));
        json_array_append_new(out, row);
    }
    return out;
}

json_t *figures_json(const struct dataset *dataset, const struct figures *figures,
                     const struct figures_options *options)
{
    json_t *out = json_object(), *groups = json_array();
    json_object_set_new(out, "version", json_string(TARE_VERSION));
    json_object_set_new(out, "verdicts",
                        json_string(options->all_verdicts ? "all"
                                    : options->clean_only ? "clean"
                                                          : "not contaminated"));
    json_object_set_new(out, "seed", json_integer((json_int_t)options->seed));
    json_object_set_new(out, "precision", json_real(options->precision));
    if (options->carbon_g_per_kwh.valid)
        json_set_reading(out, "carbon_g_per_kwh", options->carbon_g_per_kwh);
    for (size_t i = 0; i < figures->count; i++)
        json_array_append_new(groups, group_json(dataset, &figures->groups[i], options));
    json_object_set_new(out, "groups", groups);
    json_object_set_new(out, "spellings", figures_spellings_json(dataset));
    return out;
}

static void add_cell(struct text *out, const char *cell)
{
    text_add_char(out, ',');
    csv_add_cell(out, cell);
}

static void add_number(struct text *out, double number, bool valid)
{
    char shortest[32] = "";
    if (valid)
        number_shortest(number, shortest);
    add_cell(out, shortest);
}

static void add_interval(struct text *out, const struct stats_interval *interval)
{
    bool known = interval->method != STATS_NONE;
    add_number(out, interval->low, known);
    add_number(out, interval->high, known);
    add_cell(out, known ? stats_method_name(interval->method) : "");
}

void figures_csv(const struct figures *figures, struct text *out)
{
    text_add(out, "repository,model,mode,figure,n,mean,mean_low,mean_high,mean_method,median,median_low,median_high,"
                  "median_method,deviation,lowest,highest,not_finite,goal,runs,hyperparameters\n");
    for (size_t g = 0; g < figures->count; g++) {
        const struct figures_group *group = &figures->groups[g];
        for (size_t i = 0; i < group->figure_count; i++) {
            const struct figure *figure = &group->figures[i];
            csv_add_cell(out, group->like->repo);
            add_cell(out, group->like->model);
            add_cell(out, dataset_mode(group->like));
            add_cell(out, figure->name);
            text_addf(out, ",%zu", figure->n);
            add_number(out, figure->mean.value, figure->mean.valid);
            add_interval(out, &figure->mean_interval);
            add_number(out, figure->median.value, figure->median.valid);
            add_interval(out, &figure->median_interval);
            add_number(out, figure->deviation.value, figure->deviation.valid);
            add_number(out, figure->lowest.value, figure->lowest.valid);
            add_number(out, figure->highest.value, figure->highest.valid);
            text_addf(out, ",%zu", figure->not_finite);
            add_cell(out, figure->goal == GOAL_UNKNOWN ? "" : goal_name(figure->goal));
            text_addf(out, ",%zu", figure->runs);
            add_cell(out, group->hyperparameters ? group->hyperparameters : "");
            text_add_char(out, '\n');
        }
    }
}
