#include "results/judge/summary_stats_json.h"
#include "base/mem.h"
#include "results/judge/measurement.h"
#include "results/judge/rows.h"

#include "base/csv.h"
#include "base/json.h"
#include "tare_build.h"

const struct record_field summary_stats_interval_fields[] = {
    RECORD(struct stats_interval, low),
    RECORD(struct stats_interval, high),
    RECORD_ENUM(struct stats_interval, "method", method, stats_method_name),
    {0},
};

json_t *summary_stats_interval_json(const struct stats_interval *interval)
{
    return interval->method == STATS_NONE ? json_null()
                                          : record_json(summary_stats_interval_fields, interval);
}

#define FIGURE(member)          RECORD(struct figure, member)
#define FIGURE_INTERVAL(member) FIGURES_INTERVAL(struct figure, #member, member)
static const struct record_field figure_means[] = {
    FIGURE(name),
    RECORD_AS(struct figure, "metric", is_metric),
    FIGURE(n),
    FIGURE(runs),
    FIGURE(not_finite),
    RECORD_ENUM(struct figure, "goal", goal, goal_name),
    FIGURE(mean),
    FIGURE_INTERVAL(mean_interval),
    {0}};
static const struct record_field figure_medians[] = {
    FIGURE(median), FIGURE_INTERVAL(median_interval), {0}};
static const struct record_field figure_range[] = {
    FIGURE(deviation), FIGURE(lowest), FIGURE(highest), FIGURE(skewed), {0}};

json_t *summary_stats_stat_json(const struct figure *figure)
{
    json_t *out = record_json(figure_means, figure);
    if (figure->mean_why)
        json_object_set_new(out, "mean_interval_missing", json_string(figure->mean_why));
    json_object_set_new(out, "measurement", measurement_json(&figure->measurement, false));
    struct stats_interval measured =
        measurement_mean_interval(&figure->measurement, figure->mean.value, &figure->mean_interval);
    json_object_set_new(out, "mean_interval_with_measurement",
                        summary_stats_interval_json(&measured));
    record_set(out, figure_medians, figure);
    if (figure->median_why)
        json_object_set_new(out, "median_interval_missing", json_string(figure->median_why));
    record_set(out, figure_range, figure);
    return out;
}

static json_t *spread_json(const struct audit_spread *spread, bool mixed)
{
    return json_pack("{s:o, s:s, s:I, s:I}", "value", json_reading_or_null(spread->cv), "of",
                     mixed ? "mixed" : "identical", "runs", (json_int_t)spread->values, "sets",
                     (json_int_t)spread->sets);
}

#define LEVEL(member) RECORD(struct figure_level, member)
static const struct record_field level_fields[] = {
    LEVEL(from),
    LEVEL(to),
    LEVEL(n),
    LEVEL(median),
    FIGURES_INTERVAL(struct figure_level, "interval", interval),
    {0}};

#define EFFECT(key, member) RECORD_AS(struct figure_effect, key, member)
static const struct record_field effect_fields[] = {
    EFFECT("hyperparameter", param),
    EFFECT("on", target),
    EFFECT("n", n),
    EFFECT("runs", runs),
    EFFECT("rho", trend.rank.rho),
    FIGURES_INTERVAL(struct figure_effect, "interval", trend.rank.interval),
    EFFECT("r", trend.r),
    RECORD_ENUM(struct figure_effect, "test", trend.test, stats_trend_test_name),
    EFFECT("p", trend.p),
    EFFECT("p_corrected", p_adjusted),
    RECORD_STRUCTS(struct figure_effect, "curve", levels, level_count, level_fields),
    {0}};

static const struct record_field effects_of_group[] = {
    RECORD_STRUCTS(struct summary_stats_group, "effects", effects, effect_count, effect_fields),
    {0}};

#define INTERACTION(key, member) RECORD_AS(struct figure_interaction, key, member)
static const struct record_field interaction_fields[] = {
    INTERACTION("on", target),
    INTERACTION("n", n),
    INTERACTION("runs", runs),
    INTERACTION("slope", slope),
    FIGURES_INTERVAL(struct figure_interaction, "interval", interval),
    INTERACTION("df", df),
    INTERACTION("p", p),
    INTERACTION("p_corrected", p_adjusted),
    {0}};

static void set_interactions(json_t *out, const struct summary_stats_group *group)
{
    json_t *interactions = json_array();
    EACH (interaction, group->interactions, group->interaction_count) {
        json_t *row =
            json_pack("{s:[o, o]}", "hyperparameters", json_text_or_null(interaction->params[0]),
                      json_text_or_null(interaction->params[1]));
        record_set(row, interaction_fields, interaction);
        json_array_append_new(interactions, row);
    }
    json_object_set_new(out, "interactions", interactions);
    json_set_text(out, "interactions_missing", group->interactions_why);
}

static json_t *front_json(const struct dataset *dataset, const struct summary_stats_group *group)
{
    json_t *out = json_array();
    EACH (item, group->front, group->front_count) {
        const struct dataset_experiment *experiment = &dataset->items[*item];
        json_array_append_new(
            out,
            json_pack("{s:o, s:o, s:o}", "experiment_id", json_text_or_null(experiment->id),
                      "gpu_energy_j", json_reading_or_null(dataset_energy(experiment)), "quality",
                      json_reading_or_null(dataset_metric(experiment, group->quality))));
    }
    return out;
}

#define GROUP(member) RECORD(struct summary_stats_group, member)
static const struct record_field group_counts[] = {
    GROUP(hyperparameters),
    RECORD_AS(struct summary_stats_group, "experiments", total),
    GROUP(failed),
    GROUP(not_ended),
    GROUP(left_out),
    RECORD_AS(struct summary_stats_group, "n", count),
    RECORD_IF(struct summary_stats_group, setting, "settings", settings),
    {0}};

static json_t *kind_json(const struct summary_stats_group *group)
{
    return json_pack("{s:o, s:o, s:s}", "repository", json_text_or_null(group->like->repo), "model",
                     json_text_or_null(group->like->model), "mode", dataset_mode(group->like));
}

static json_t *figures_json(const struct figure *figures, size_t count)
{
    json_t *out = json_array();
    EACH (figure, figures, count)
        json_array_append_new(out, summary_stats_stat_json(figure));
    return out;
}

static json_t *by_setting_json(const struct dataset *dataset,
                               const struct summary_stats_group *group)
{
    json_t *out = json_array();
    EACH (setting, group->by_setting, group->by_setting_count)
        json_array_append_new(
            out, json_pack("{s:o, s:o, s:I, s:o}", "setting", json_text_or_null(setting->name),
                           "hyperparameters", dataset_params_json(&dataset->items[setting->like]),
                           "n", (json_int_t)setting->count, "figures",
                           figures_json(setting->figures, setting->figure_count)));
    return out;
}

static json_t *group_json(const struct dataset *dataset, const struct summary_stats_group *group,
                          const struct summary_stats_options *options)
{
    json_t *out = kind_json(group);
    record_set(out, group_counts, group);
    json_object_set_new(out, "counted", audit_tally_json(&group->tally));
    json_object_set_new(out, "figures", figures_json(group->figures, group->figure_count));
    json_object_set_new(out, "by_setting", by_setting_json(dataset, group));
    json_t *power = spread_json(&group->power_cv_between, group->mixed);
    json_object_set_new(power, "interval", summary_stats_interval_json(&group->power_cv_interval));
    json_object_set_new(out, "power_cv_between", power);
    json_object_set_new(out, "power_cv",
                        json_pack("{s:o, s:I}", "value", json_reading_or_null(group->power_cv.cv),
                                  "runs", (json_int_t)group->power_cv.values));
    json_set_reading(out, "power_cv_within", group->power_cv_within);
    json_object_set_new(out, "energy_cv_between",
                        spread_json(&group->energy_cv_between, group->energy_mixed));
    json_object_set_new(out, "repeats_needed",
                        group->repeats ? json_integer((json_int_t)group->repeats) : json_null());
    record_set(out, effects_of_group, group);
    if (options->interactions)
        set_interactions(out, group);
    json_set_text(out, "quality", group->quality);
    json_set_text(out, "quality_goal", goal_name(group->quality_goal));
    json_object_set_new(out, "quality_is_loss",
                        group->quality ? json_boolean(group->quality_goal == GOAL_MINIMIZE)
                                       : json_null());
    json_object_set_new(out, "front", front_json(dataset, group));
    return out;
}

json_t *summary_stats_effects_json(const struct dataset *dataset,
                                   const struct summary_stats *figures)
{
    json_t *out = json_array();
    EACH (group, figures->groups, figures->count) {
        if (group->effect_count == 0)
            continue;
        json_t *row = kind_json(group), *experiments = json_array();
        json_set_text(row, "hyperparameters", group->hyperparameters);
        EACH (item, group->items, group->count)
            json_array_append_new(experiments, json_text_or_null(dataset->items[*item].id));
        json_object_set_new(row, "experiments", experiments);
        record_set(row, effects_of_group, group);
        json_array_append_new(out, row);
    }
    return out;
}

json_t *summary_stats_spellings_json(const struct dataset *dataset)
{
    json_t *out = json_array();
    EACH (spelling, dataset->spellings, dataset->spelling_count)
        json_array_append_new(
            out, json_pack("{s:o, s:o, s:b}", "name", json_text_or_null(spelling->name), "other",
                           json_text_or_null(spelling->other), "joined", !spelling->apart));
    return out;
}

json_t *summary_stats_json(const struct dataset *dataset, const struct summary_stats *figures,
                           const struct summary_stats_options *options)
{
    json_t *groups = json_array();
    EACH (group, figures->groups, figures->count)
        json_array_append_new(groups, group_json(dataset, group, options));
    return json_pack("{s:s, s:s, s:I, s:o, s:o, s:o}", "version", TARE_VERSION, "only",
                     audit_rows_names[options->rows], "seed", (json_int_t)options->seed,
                     "precision", json_finite(options->precision), "groups", groups, "spellings",
                     summary_stats_spellings_json(dataset));
}

#define COLUMN(key, member)          RECORD_AS(struct figure, key, member)
#define METHOD(key, member)          RECORD_ENUM(struct figure, key, member, stats_method_name)
#define BOUND(interval, key, member) RECORD_IF(struct figure, interval.method, key, interval.member)
static const struct record_field figure_columns[] = {
    COLUMN("figure", name),
    FIGURE(n),
    FIGURE(mean),
    BOUND(mean_interval, "mean_low", low),
    BOUND(mean_interval, "mean_high", high),
    METHOD("mean_method", mean_interval.method),
    FIGURE(median),
    BOUND(median_interval, "median_low", low),
    BOUND(median_interval, "median_high", high),
    METHOD("median_method", median_interval.method),
    FIGURE(deviation),
    FIGURE(lowest),
    FIGURE(highest),
    FIGURE(not_finite),
    RECORD_ENUM(struct figure, "goal", goal, goal_name),
    FIGURE(runs),
    {0}};

static void add_rows(const struct summary_stats_group *group, const char *setting,
                     const struct figure *figures, size_t count, struct text *out)
{
    EACH (figure, figures, count) {
        csv_add_cell(out, group->like->repo);
        csv_add_next(out, group->like->model);
        csv_add_next(out, dataset_mode(group->like));
        text_add_char(out, ',');
        record_csv_row(figure_columns, figure, out);
        csv_add_next(out, group->hyperparameters);
        csv_add_next(out, setting ? setting : "");
        text_add_char(out, '\n');
    }
}

void summary_stats_csv(const struct summary_stats *figures, struct text *out)
{
    text_add(out, "repository,model,mode,");
    record_csv_header(figure_columns, out);
    text_add(out, ",hyperparameters,setting\n");
    EACH (group, figures->groups, figures->count) {
        add_rows(group, NULL, group->figures, group->figure_count, out);
        EACH (setting, group->by_setting, group->by_setting_count)
            add_rows(group, setting->name, setting->figures, setting->figure_count, out);
    }
}
