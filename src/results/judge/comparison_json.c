#include "results/judge/comparison_json.h"
#include "base/json.h"
#include "base/mem.h"
#include "results/judge/measurement.h"
#include "results/judge/places.h"
#include "results/judge/rows.h"
#include "results/judge/summary_stats_json.h"

#include <string.h>

/* The effect on the quantity's scale; "ratio" where it is one. */
static void set_effect(json_t *out, const struct comparison_quantity *quantity,
                       const struct stats_effect *effect)
{
    bool ratio = effect->valid && quantity->scale == COMPARISON_LOG;
    json_object_set_new(out, "ratio", ratio ? json_finite(effect->ratio) : json_null());
    json_object_set_new(out, "effect", effect->valid ? json_finite(effect->ratio) : json_null());
}

#define EFFECT_IF(known, key, member) RECORD_IF(struct stats_effect, known, key, member)
static const struct record_field effect_fields[] = {
    FIGURES_INTERVAL(struct stats_effect, "interval", interval),
    EFFECT_IF(has_error, "p", p),
    EFFECT_IF(has_error, "df", df),
    EFFECT_IF(has_error, "sigma", sigma),
    {0}};

/* Effect, interval, p before any correction; null where it cannot be told. */
static json_t *effect_json(const struct comparison *comparison,
                           const struct comparison_quantity *quantity,
                           const struct stats_effect *effect, bool adjusted)
{
    if (!effect->valid)
        return json_null();
    json_t *out = json_object();
    set_effect(out, quantity, effect);
    record_set(out, effect_fields, effect);
    if (!adjusted)
        return out;
    json_t *slopes = json_object();
    for (size_t f = 0, k = 0; f < comparison->factor_count; f++) {
        if (comparison->factors[f].role != COMPARISON_COVARIATE)
            continue;
        json_object_set_new(slopes, comparison->factors[f].name,
                            effect->dropped[k] ? json_null() : json_finite(effect->slopes[k]));
        k++;
    }
    json_object_set_new(out, "slopes", slopes);
    return out;
}

#define STRATA(key, member) RECORD_AS(struct stats_effect, key, member)
static const struct record_field strata_test[] = {
    STRATA("q", q), STRATA("df", q_df), STRATA("p", q_p), {0}};
static const struct record_field strata_range[] = {
    STRATA("i2", i2), STRATA("lowest", lowest), STRATA("highest", highest), {0}};

static json_t *heterogeneity_json(const struct comparison_quantity *quantity)
{
    const struct stats_effect *effect = comparison_effect(quantity);
    if (!effect->has_heterogeneity)
        return json_null();
    json_t *out = record_json(strata_test, effect);
    json_object_set_new(out, "p_corrected", json_finite(quantity->heterogeneity_p));
    record_set(out, strata_range, effect);
    return out;
}

#define QUANTITY(key, member) RECORD_AS(struct comparison_quantity, key, member)
#define SCALE(key, function)  RECORD_ENUM(struct comparison_quantity, key, scale, function)
static const struct record_field quantity_fields[] = {
    QUANTITY("name", name),
    QUANTITY("a_n", a_count),
    QUANTITY("b_n", b_count),
    QUANTITY("a_mean", a_mean),
    QUANTITY("b_mean", b_mean),
    QUANTITY("metric", is_metric),
    RECORD_ENUM(struct comparison_quantity, "goal", goal, goal_name),
    QUANTITY("a_not_finite", not_finite[0]),
    QUANTITY("b_not_finite", not_finite[1]),
    SCALE("scale", comparison_scale_name),
    SCALE("measure", comparison_measure_name),
    {0}};

static json_t *quantity_json(const struct comparison *comparison,
                             const struct comparison_quantity *quantity)
{
    json_t *out = record_json(quantity_fields, quantity);
    const struct stats_effect *effect = comparison_effect(quantity);
    char better = comparison_better(quantity);
    json_object_set_new(out, "better",
                        better ? json_string(better == 'a' ? "a" : "b") : json_null());
    set_effect(out, quantity, effect);
    json_object_set_new(out, "interval", summary_stats_interval_json(&effect->interval));
    json_object_set_new(out, "measurement", measurement_json(&quantity->measurement, true));
    json_object_set_new(out, "interval_with_measurement",
                        summary_stats_interval_json(&quantity->interval_measured));
    json_object_set_new(out, "p_corrected",
                        effect->has_error ? json_finite(quantity->p) : json_null());
    json_object_set_new(out, "told_apart", json_boolean(quantity->finding == COMPARISON_DIFFERENT));
    json_object_set_new(out, "finding", json_string(comparison_finding_name(quantity->finding)));
    AUTO_FREE char *why = comparison_not_tested(comparison, quantity);
    json_set_text(out, "not_tested", why);
    json_set_text(out, "test", why ? NULL : comparison_test_name(quantity->test));
    json_set_reading(out, "detectable", comparison_detectable(comparison, quantity));
    json_object_set_new(out, "blocks",
                        json_integer(effect->strata > 1 ? (json_int_t)effect->strata : 0));
    json_object_set_new(out, "raw", effect_json(comparison, quantity, &quantity->raw, false));
    json_object_set_new(out, "adjusted",
                        effect_json(comparison, quantity, &quantity->adjusted, true));
    json_object_set_new(out, "per_epoch",
                        effect_json(comparison, quantity, &quantity->per_epoch, false));
    json_object_set_new(out, "heterogeneity", heterogeneity_json(quantity));
    return out;
}

#define SIDE(key, member) RECORD_AS(struct comparison_side, key, member)
static const struct record_field side_fields[] = {
    SIDE("of", text),
    SIDE("n", count),
    SIDE("compared", used_count),
    RECORD_IF(struct comparison_side, setting, "settings", settings),
    SIDE("left_out", left_out),
    {0}};

static json_t *commits_json(const struct comparison *comparison, size_t side)
{
    size_t items[COMPARISON_COMMITS], count = comparison_commits(comparison, side, items);
    json_t *out = json_array();
    EACH (item, items, count) {
        const struct dataset_experiment *experiment = &comparison->dataset.items[*item];
        json_array_append_new(out,
                              json_pack("{s:s, s:s, s:b}", "repository", experiment->repo, "commit",
                                        experiment->commit, "changed", experiment->commit_changed));
    }
    return out;
}

static json_t *side_json(const struct comparison *comparison, size_t which)
{
    const struct comparison_side *side = &comparison->sides[which];
    json_t *out = record_json(side_fields, side);
    json_object_set_new(out, "counted", audit_tally_json(&side->tally));
    json_object_set_new(out, "commits", commits_json(comparison, which));
    for (enum comparison_condition i = 0; i < COMPARISON_CONDITIONS; i++)
        json_set_reading(out, comparison_condition_name(i), side->conditions[i]);
    return out;
}

static json_t *factors_json(const struct comparison *comparison)
{
    static const char *const roles[] = {[COMPARISON_STRATUM] = "stratum",
                                        [COMPARISON_COVARIATE] = "covariate",
                                        [COMPARISON_CONFOUNDED] = "confounded",
                                        [COMPARISON_MIXED] = "mixed"};
    json_t *out = json_array();
    EACH (factor, comparison->factors, comparison->factor_count) {
        json_t *row = json_object();
        json_set_text(row, "name", factor->name);
        json_object_set_new(row, "role", json_string(roles[factor->role]));
        if (factor->role == COMPARISON_COVARIATE) {
            json_object_set_new(row, "logarithm", json_boolean(factor->logs));
            json_object_set_new(row, "ranges_apart", json_boolean(factor->apart));
        }
        if (factor->role == COMPARISON_CONFOUNDED) {
            json_set_text(row, "a", factor->values[0]);
            json_set_text(row, "b", factor->values[1]);
        }
        json_array_append_new(out, row);
    }
    return out;
}

json_t *comparison_json(const struct comparison *comparison)
{
    json_t *quantities = json_array();
    EACH (quantity, comparison->quantities, comparison->quantity_count)
        json_array_append_new(quantities, quantity_json(comparison, quantity));
    return json_pack(
        "{s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:b, s:b, s:b}", "a",
        side_json(comparison, 0), "b", side_json(comparison, 1), "quantities", quantities,
        "corrected_for", (json_int_t)comparison->tests, "strata", (json_int_t)comparison->strata,
        "factors", factors_json(comparison), "spellings",
        summary_stats_spellings_json(&comparison->dataset), "order_confounded",
        comparison->order_known ? json_boolean(comparison->order_confounded) : json_null(),
        "places", comparison_places_json(comparison), "mixed", comparison->mixed, "blocks_of_plan",
        comparison->by_plan, "paired_by_seed", comparison->by_seed);
}
