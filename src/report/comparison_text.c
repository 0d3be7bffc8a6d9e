#include "report/comparison_text.h"
#include "results/judge/places.h"
#include "results/judge/rows.h"

#include "base/amount.h"
#include "base/mem.h"
#include "base/value.h"
#include "report/audit_text.h"
#include "report/table.h"

#include <string.h>

enum { MOST_NAME = 30 };

static char *format_digits(struct reading reading)
{
    return reading.valid ? summary_stats_text_number(reading.value, 4) : mem_strdup("");
}

static void add_comparison_side(const struct comparison *comparison, size_t which, struct text *out)
{
    static const char *const left_out[] = {[AUDIT_ROWS_USABLE] = "failed or contaminated",
                                           [AUDIT_ROWS_CONSISTENT] =
                                               "failed, or neither clean nor consistent",
                                           [AUDIT_ROWS_CLEAN] = "failed or not clean",
                                           [AUDIT_ROWS_ALL] = "failed"};
    const struct comparison_side *side = &comparison->sides[which];
    AUTO_FREE char *tally = audit_tally_text(&side->tally);
    AUTO_FREE char *safe = audit_text_fit(side->text, 0);
    text_addf(out, "%s: %s, %zu experiment%s", which ? "B" : "A", safe, side->count,
              side->count == 1 ? "" : "s");
    if (side->count)
        text_addf(out, "\n   %s", tally);
    if (side->left_out)
        text_addf(out, "\n   %zu left out: %s", side->left_out, left_out[comparison->rows]);
    text_add_char(out, '\n');
}

static char *ratio_text(const struct stats_effect *effect)
{
    return effect->valid ? summary_stats_text_interval(effect->ratio, &effect->interval)
                         : mem_strdup("");
}

/* Which figures there are beside the raw one. */
struct shown {
    bool adjusted, per_epoch, measure;
};

static struct shown find_shown_columns(const struct comparison *comparison)
{
    struct shown out = {false, false, false};
    EACH (quantity, comparison->quantities, comparison->quantity_count) {
        out.adjusted |= quantity->adjusted.valid;
        out.per_epoch |= quantity->per_epoch.valid;
        out.measure |= quantity->is_metric;
    }
    return out;
}

static const char *measure_word(const struct comparison_quantity *quantity)
{
    static const char *const measures[] = {[COMPARISON_LOG] = "ratio",
                                           [COMPARISON_LOGIT] = "odds ratio",
                                           [COMPARISON_PLAIN] = "difference"};
    return measures[quantity->scale];
}

char *comparison_finding_text(const struct comparison *comparison,
                              const struct comparison_quantity *quantity)
{
    char better = comparison_better(quantity);
    AUTO_FREE char *why = comparison_not_tested(comparison, quantity);
    if (why)
        return mem_printf(
            "%s: %s", comparison_effect(quantity)->constant ? "not testable" : "not tested", why);
    return mem_strdup(better == 'a'                                   ? "different: A is better"
                      : better == 'b'                                 ? "different: B is better"
                      : quantity->finding == COMPARISON_NO_DIFFERENCE ? "no significant difference"
                      : quantity->finding == COMPARISON_WITH_ORDER    ? "confounded with order"
                                                                      : "different");
}

static void add_quantity_row(const struct comparison *comparison, struct table *table,
                             const struct comparison_quantity *quantity)
{
    /* "odds ratio, higher is better" */
    table_row(table, audit_text_fit(quantity->name, MOST_NAME), format_digits(quantity->a_mean),
              format_digits(quantity->b_mean),
              mem_printf("%s%s", measure_word(quantity),
                         quantity->goal == GOAL_MAXIMIZE   ? ", higher is better"
                         : quantity->goal == GOAL_MINIMIZE ? ", lower is better"
                                                           : ""),
              ratio_text(&quantity->raw), ratio_text(&quantity->adjusted),
              ratio_text(&quantity->per_epoch),
              comparison_effect(quantity)->has_error ? summary_stats_text_p(quantity->p) : NULL,
              comparison_finding_text(comparison, quantity));
    table_tint(table, 8, quantity->finding == COMPARISON_DIFFERENT ? "\x1b[1m" : NULL);
}

static void add_comparison_figures(const struct comparison *comparison, bool colour,
                                   struct text *out)
{
    struct shown shown = find_shown_columns(comparison);
    AUTO_FREE char *p = comparison->tests > 1 ? mem_printf(">p (Holm, of %zu)", comparison->tests)
                                              : mem_strdup(">p");
    struct table *table = table_of(
        colour, "quantity", ">mean of A", ">mean of B", shown.measure ? "B against A by" : NULL,
        shown.measure    ? shown.adjusted ? ">raw (95 %)" : ">(95 % interval)"
        : shown.adjusted ? ">B / A, raw (95 %)"
                         : ">B / A (95 % interval)",
        shown.adjusted ? ">adjusted (95 %)" : NULL, shown.per_epoch ? ">per epoch (95 %)" : NULL, p,
        "");
    EACH (quantity, comparison->quantities, comparison->quantity_count)
        if (quantity->a_mean.valid || quantity->b_mean.valid)
            add_quantity_row(comparison, table, quantity);
    table_end(table, out);
}

/* Which test it was, what of it is corrected, and what it could have found. */
static void add_test_text(const struct comparison *comparison, struct text *out)
{
    static const char *const tests[] = {
        [COMPARISON_PAIRED] = "paired t test",
        [COMPARISON_WELCH] = "Welch's t test",
        [COMPARISON_STRATA] = "t test within strata, unequal variances",
        [COMPARISON_MODEL] = "t test of the adjusted figure, unequal variances",
    };
    AUTO_STRV struct strv names = {0};
    AUTO_STRV struct strv least = {0};
    EACH (quantity, comparison->quantities, comparison->quantity_count) {
        if (quantity->finding == COMPARISON_NOT_TESTED)
            continue;
        const char *more =
            quantity->test == COMPARISON_PAIRED && comparison->by_seed ? ", by seed" : "";
        AUTO_FREE char *name = mem_printf("%s%s", tests[quantity->test], more);
        strv_add_once(&names, name);
        AUTO_FREE char *safe = audit_text_fit(quantity->name, MOST_NAME);
        double detectable = comparison_detectable(comparison, quantity).value;
        if (quantity->finding == COMPARISON_NO_DIFFERENCE)
            strv_add_owned(&least,
                           quantity->scale == COMPARISON_PLAIN
                               ? mem_printf("%s %.2g", safe, detectable)
                           : quantity->scale == COMPARISON_LOG
                               ? mem_printf("%s %.2g %%", safe, 100 * detectable)
                               : mem_printf("%s %.2g %% of the odds", safe, 100 * detectable));
    }
    AUTO_FREE char *list = strv_join(&names, "; "), *effects = strv_join(&least, ", ");
    if (names.count)
        text_addf(out, "test: %s%s\n", list,
                  comparison->tests > 1
                      ? "; each interval is for its quantity alone, p is corrected for all"
                      : "");
    if (least.count)
        text_addf(out, "least difference that this design finds in %.0f %% of cases: %s\n",
                  100 * COMPARISON_POWER, effects);
}

/* Of a training that diverged no mean is made, and a comparison of the others says nothing of
 * it. */
static void add_metric_notes(const struct comparison *comparison, struct text *out)
{
    EACH (quantity, comparison->quantities, comparison->quantity_count) {
        AUTO_FREE char *name = audit_text_fit(quantity->name, MOST_NAME);
        if (quantity->at_bound)
            text_addf(out, "%s: a value is 0, or 100 %% of a share, so it is compared as it is\n",
                      name);
        if (quantity->not_finite[0] + quantity->not_finite[1])
            text_addf(out,
                      "%s: nan or inf in %zu of A's and %zu of B's experiments, which are left out "
                      "of it\n",
                      name, quantity->not_finite[0], quantity->not_finite[1]);
    }
}

/* The factors with one role: "batch_size, node". logs: "ln(epochs)" for a covariate. */
static char *join_factor_names(const struct comparison *comparison, enum comparison_role role,
                               bool logs)
{
    struct text out = {0};
    EACH (factor, comparison->factors, comparison->factor_count) {
        if (factor->role != role)
            continue;
        AUTO_FREE char *safe = audit_text_fit(factor->name, 0);
        text_addf(&out, logs && factor->logs ? "%sln(%s)" : "%s%s", out.length ? ", " : "", safe);
    }
    return text_take(&out);
}

static void add_strata_text(const struct comparison *comparison, struct text *out)
{
    AUTO_FREE char *by = join_factor_names(comparison, COMPARISON_STRATUM, false);
    if (comparison_blocks(comparison) == 0)
        return;
    text_addf(out,
              "compared within %zu strata of equal %s: %zu of A's and %zu of B's experiments\n",
              comparison_blocks(comparison), by, comparison->sides[0].used_count,
              comparison->sides[1].used_count);
    EACH (quantity, comparison->quantities, comparison->quantity_count) {
        const struct stats_effect *effect = comparison_effect(quantity);
        AUTO_FREE char *name = audit_text_fit(quantity->name, MOST_NAME);
        if (quantity->heterogeneous)
            text_addf(out,
                      "%s: the strata differ in the %s, from %.4g to %.4g (Cochran's Q, p = %.2g; "
                      "I2 = %.0f %%): "
                      "one %s does not describe all of them\n",
                      name, measure_word(quantity), effect->lowest, effect->highest,
                      quantity->heterogeneity_p, 100 * effect->i2, measure_word(quantity));
    }
}

/* Where some settings were repeated, and count once. */
static void add_settings_text(const struct comparison *comparison, struct text *out)
{
    const struct comparison_side *a = &comparison->sides[0], *b = &comparison->sides[1];
    if (comparison->by_setting && a->settings + b->settings < a->used_count + b->used_count)
        text_addf(out,
                  "repeats of a setting count once, by their mean: %zu settings of A, %zu of B\n",
                  a->settings, b->settings);
}

/* What is adjusted for, and what could not be. */
static void add_adjustment_text(const struct comparison *comparison, struct text *out)
{
    AUTO_FREE char *names = join_factor_names(comparison, COMPARISON_COVARIATE, true);
    AUTO_FREE char *mixed = join_factor_names(comparison, COMPARISON_MIXED, false);
    struct shown shown = find_shown_columns(comparison);
    if (*names && shown.adjusted)
        text_addf(out,
                  "adjusted: by the linear model %s = stratum + side + slopes * (%s); p is of the "
                  "adjusted %s\n",
                  shown.measure ? "ln(quantity), or a metric on its scale," : "ln(quantity)", names,
                  shown.measure ? "figure" : "ratio");
    else if (*names)
        text_addf(out, "not adjusted for %s: it cannot be separated from the sides\n", names);
    EACH (factor, comparison->factors, comparison->factor_count) {
        AUTO_FREE char *safe = audit_text_fit(factor->name, 0);
        if (factor->role == COMPARISON_COVARIATE && factor->apart)
            text_addf(out,
                      "%s: the ranges of A and B do not overlap, so the adjustment extrapolates\n",
                      safe);
        if (factor->role != COMPARISON_CONFOUNDED)
            continue;
        AUTO_FREE char *a = audit_text_fit(factor->values[0], 0);
        AUTO_FREE char *b = audit_text_fit(factor->values[1], 0);
        text_addf(
            out, "%s confounded: %s in all of A, %s in all of B; its effect is part of the ratio\n",
            safe, a, b);
    }
    if (*mixed)
        text_addf(out,
                  "mixed: %s differ%s within the groups, too few experiments to adjust for it; "
                  "that is in the "
                  "intervals\n",
                  mixed, strchr(mixed, ',') ? "" : "s");
}

/* Adds the ratio with the meters' half-widths, then with sampling and the gains that count. */
static void add_measured_ratio(const struct comparison_quantity *quantity, const char *with,
                               struct text *out)
{
    const struct measurement *measurement = &quantity->measurement;
    struct reading ratio = {comparison_effect(quantity)->ratio, true};
    struct reading half_width = {measurement->half_width.value * ratio.value, true};
    AUTO_FREE char *measured = amount_format_with(ratio, half_width, "");
    if (measurement->cancels)
        text_add(out, "the same sensors measured A and B, so their gains cancel: ");
    else
        text_addf(out, "different sensors measured A and B, so their gains count (u %.2g %%): ",
                  100 * measurement->u_gain.value);
    text_addf(out, "%s (95 %%) by the meters%s", measured,
              measurement->cancels ? "" : " without the gains");
    if (quantity->interval_measured.method != STATS_NONE)
        text_addf(out, "; with %s the ratio is %s", measurement->cancels ? "it" : "both", with);
    text_add_char(out, '\n');
}

/* Adds the uncertainty of energy ratios due to the meters; power has the same. */
static void add_ratio_uncertainty(const struct comparison *comparison, struct text *out)
{
    EACH (quantity, comparison->quantities, comparison->quantity_count) {
        const struct measurement *measurement = &quantity->measurement;
        if (!measurement->valid || !comparison_effect(quantity)->valid ||
            strcmp(quantity->name, "gpu_power_w") == 0)
            continue;
        AUTO_FREE char *with = summary_stats_text_interval(comparison_effect(quantity)->ratio,
                                                           &quantity->interval_measured);
        text_addf(out, "%s, measurement: ", quantity->name);
        if (!measurement->placed)
            text_add(out,
                     "on which sensors is not recorded, so their gains may be part of the ratio\n");
        else if (!measurement->u_gain.valid)
            text_add(out, "A and B were measured by different sensors whose gains are not stated: "
                          "the ratio may be off by "
                          "what they differ by\n");
        else
            add_measured_ratio(quantity, with, out);
    }
}

/* What may explain a difference by itself; nothing where neither side knows any of it. */
static void add_conditions(const struct comparison *comparison, bool colour, struct text *out)
{
    struct table *table = table_of(colour, "beside it", ">mean of A", ">mean of B", ">B - A");
    for (enum comparison_condition i = 0; i < COMPARISON_CONDITIONS; i++) {
        struct reading a = comparison->sides[0].conditions[i],
                       b = comparison->sides[1].conditions[i];
        if (a.valid || b.valid)
            table_row(table, mem_strdup(comparison_condition_name(i)), format_digits(a),
                      format_digits(b),
                      a.valid && b.valid ? mem_printf("%+.4g", b.value - a.value) : NULL);
    }
    table_end(table, out);
}

enum { VALUES_SHOWN = 4 };

/* "NVIDIA H200 (4)", "NVIDIA A100 (2), NVIDIA H200 (2)" */
static void add_values(const struct places_group *groups, size_t count, struct text *out)
{
    for (size_t i = 0; i < count && i < VALUES_SHOWN; i++) {
        AUTO_FREE char *safe = audit_text_fit(groups[i].value, 0);
        text_addf(out, "%s%s (%zu)", i ? ", " : "", safe, groups[i].count);
    }
    if (count > VALUES_SHOWN)
        text_addf(out, " and %zu more", count - VALUES_SHOWN);
}

/* Where the sides ran on other kinds of places, or on other lanes. */
static void add_places_text(const struct comparison *comparison, struct text *out)
{
    struct comparison_places places;
    comparison_places_find(comparison, &places);
    EACH (place, places.items, places.count) {
        text_addf(out, "%s %s: A ran on ", places_fact_name(place->fact),
                  place->confounded ? "confounded" : "uneven");
        add_values(place->groups[0], place->counts[0], out);
        text_add(out, ", B on ");
        add_values(place->groups[1], place->counts[1], out);
        text_add(out, place->confounded
                          ? "; what that makes of it looks the same as a difference between them\n"
                          : "; part of a difference between them may be that\n");
    }
    comparison_places_fini(&places);
}

enum { DIGITS_SHOWN = 10 };

static void add_commits(const struct comparison *comparison, const size_t *items, size_t count,
                        struct text *out)
{
    for (size_t i = 0; i < count; i++) {
        const struct dataset_experiment *experiment = &comparison->dataset.items[items[i]];
        text_addf(out, "%s%.*s%s", i ? ", " : "", DIGITS_SHOWN, experiment->commit,
                  experiment->commit_changed ? " with changes that are not committed" : "");
    }
}

/* Where the sides ran from other states of their repositories. */
static void add_commits_text(const struct comparison *comparison, struct text *out)
{
    size_t items[2][COMPARISON_COMMITS], counts[2];
    const struct dataset_experiment *all = comparison->dataset.items;
    for (size_t side = 0; side < 2; side++)
        counts[side] = comparison_commits(comparison, side, items[side]);
    if (!counts[0] || !counts[1])
        return;
    bool alike = counts[0] == 1 && counts[1] == 1 &&
                 strcmp(all[items[0][0]].commit, all[items[1][0]].commit) == 0;
    if (alike && !all[items[0][0]].commit_changed && !all[items[1][0]].commit_changed)
        return;
    text_add(out, "commits: A ran at ");
    add_commits(comparison, items[0], counts[0], out);
    text_add(out, ", B at ");
    add_commits(comparison, items[1], counts[1], out);
    text_add_char(out, '\n');
}

void comparison_text(const struct comparison *comparison, bool colour, struct text *out)
{
    add_comparison_side(comparison, 0, out);
    add_comparison_side(comparison, 1, out);
    add_comparison_figures(comparison, colour, out);
    add_test_text(comparison, out);
    add_ratio_uncertainty(comparison, out);
    add_metric_notes(comparison, out);
    add_conditions(comparison, colour, out);
    add_strata_text(comparison, out);
    add_settings_text(comparison, out);
    add_adjustment_text(comparison, out);
    summary_stats_text_spellings(&comparison->dataset, out);
    add_commits_text(comparison, out);
    add_places_text(comparison, out);
    if (comparison->order_known && comparison->order_confounded)
        text_add(out, "order confounded: the groups did not interleave in time, so a change of the "
                      "machine or the room "
                      "looks the same as a difference between them\n");
}
