#include "results/judge/comparison_select.h"
#include "results/judge/comparison_strata.h"
#include "results/judge/identical.h"
#include "results/judge/measurement.h"
#include "results/judge/rows.h"

#include "base/mem.h"
#include "stats/describe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const comparison_measured[COMPARISON_MEASURED] = {"gpu_energy_j", "gpu_power_w",
                                                              "duration_s", "cpu_energy_j"};

#define CONDITION(member)                             \
    {                                                 \
#member, offsetof(struct dataset_gpu, member) \
    }
static const struct {
    const char *name;
    size_t at;
} conditions[COMPARISON_CONDITIONS] = {
    [COMPARISON_TEMPERATURE_START_C] = CONDITION(temperature_start_c),
    [COMPARISON_SM_CLOCK_START_MHZ] = CONDITION(sm_clock_start_mhz),
    [COMPARISON_MEMORY_CLOCK_START_MHZ] = CONDITION(memory_clock_start_mhz),
    [COMPARISON_SM_CLOCK_MEAN_MHZ] = CONDITION(sm_clock_mean_mhz)};

const char *comparison_condition_name(enum comparison_condition condition)
{
    return conditions[condition].name;
}

static struct reading condition_mean(const struct comparison *comparison,
                                     const struct comparison_side *side,
                                     enum comparison_condition condition)
{
    AUTO_FREE double *values = mem_array(side->count + 1, sizeof *values);
    size_t n = 0;
    for (size_t i = 0; i < side->count; i++) {
        const char *gpu = (const char *)&comparison->dataset.items[side->items[i]].gpu;
        const struct reading *value = (const void *)(gpu + conditions[condition].at);
        if (value->valid && side->stratum[i] != SIZE_MAX)
            values[n++] = value->value;
    }
    return stats_mean(values, n);
}

static void take_side(struct comparison *comparison, size_t which, size_t folder)
{
    struct comparison_side *side = &comparison->sides[which];
    side->items = mem_array(comparison->dataset.count + 1, sizeof *side->items);
    for (size_t i = 0; i < comparison->dataset.count; i++) {
        const struct dataset_experiment *experiment = &comparison->dataset.items[i];
        if (experiment->folder != folder || !comparison_selects(side, experiment))
            continue;
        if (!experiment->success ||
            !audit_counts(&comparison->dataset, experiment, comparison->rows)) {
            side->left_out++;
            continue;
        }
        side->items[side->count++] = i;
        audit_tally_add(&side->tally, experiment);
    }
}

bool comparison_selected_by(const struct comparison *comparison, const char *key)
{
    return strv_has(&comparison->sides[0].keys, key) || strv_has(&comparison->sides[1].keys, key);
}

/* The experiments of both sides that are compared and know one quantity, as the model takes
 * them. */
struct rows {
    size_t count, covariates;
    double *y, *x, *plain[2];
    bool *is_b;
    size_t *stratum, *item, *setting;
    size_t side_count[2], not_finite[2];
    double lowest, highest; /* of both sides */
};

static void rows_fini(struct rows *rows)
{
    free(rows->y);
    free(rows->x);
    free(rows->plain[0]);
    free(rows->plain[1]);
    free(rows->is_b);
    free(rows->stratum);
    free(rows->item);
    free(rows->setting);
}

static void add_row(const struct comparison *comparison, struct rows *rows, size_t s, size_t i,
                    double value)
{
    const struct comparison_side *side = &comparison->sides[s];
    size_t at = rows->count++, column = 0;
    rows->plain[s][rows->side_count[s]++] = value;
    rows->lowest = fmin(rows->lowest, value);
    rows->highest = fmax(rows->highest, value);
    rows->y[at] = value;
    rows->is_b[at] = s == 1;
    rows->stratum[at] = side->stratum[i];
    rows->item[at] = side->items[i];
    rows->setting[at] =
        comparison->by_setting ? side->setting[i] + (s == 1 ? comparison->sides[0].count : 0) : at;
    EACH (factor, comparison->factors, comparison->factor_count) {
        if (factor->role != COMPARISON_COVARIATE)
            continue;
        /* Where a whole stratum does not have it, it is alike within. */
        struct reading x =
            dataset_param_number(&comparison->dataset.items[side->items[i]], factor->name);
        rows->x[at * rows->covariates + column++] = !x.valid       ? 0
                                                    : factor->logs ? log(x.value)
                                                                   : x.value;
    }
}

static void rows_make(const struct comparison *comparison, const char *name, struct rows *out)
{
    size_t all = comparison->sides[0].count + comparison->sides[1].count + 1;
    *out = (struct rows){.lowest = INFINITY, .highest = -INFINITY};
    EACH (factor, comparison->factors, comparison->factor_count)
        out->covariates += factor->role == COMPARISON_COVARIATE;
    out->y = mem_array(all, sizeof *out->y);
    out->x = mem_array(all * (out->covariates + 1), sizeof *out->x);
    out->is_b = mem_array(all, sizeof *out->is_b);
    out->stratum = mem_array(all, sizeof *out->stratum);
    out->item = mem_array(all, sizeof *out->item);
    out->setting = mem_array(all, sizeof *out->setting);
    for (size_t s = 0; s < 2; s++) {
        const struct comparison_side *side = &comparison->sides[s];
        out->plain[s] = mem_array(all, sizeof *out->plain[s]);
        for (size_t i = 0; i < side->count; i++) {
            const struct dataset_experiment *experiment =
                &comparison->dataset.items[side->items[i]];
            struct reading value = summary_stats_value(experiment, name),
                           metric = dataset_metric(experiment, name);
            if (side->stratum[i] == SIZE_MAX)
                continue;
            if (value.valid)
                add_row(comparison, out, s, i, value.value);
            out->not_finite[s] += metric.valid && !isfinite(metric.value);
        }
    }
}

/* Power is no sum over epochs, and no metric is. */
static void compare_per_epoch(const struct comparison *comparison, struct rows *rows,
                              struct comparison_quantity *out)
{
    const char *epochs = NULL;
    EACH (factor, comparison->factors, comparison->factor_count)
        if (factor->role != COMPARISON_STRATUM && audit_is_epochs(factor->name))
            epochs = factor->name;
    if (!epochs || out->is_metric || strcmp(out->name, "gpu_power_w") == 0)
        return;
    for (size_t i = 0; i < rows->count; i++) {
        struct reading count =
            dataset_param_number(&comparison->dataset.items[rows->item[i]], epochs);
        if (!count.valid || !(count.value > 0))
            return;
        rows->y[i] -= log(count.value);
    }
    stats_effect(&(struct stats_effect_input){.count = rows->count,
                                              .y = rows->y,
                                              .is_b = rows->is_b,
                                              .stratum = rows->stratum,
                                              .strata = comparison->strata},
                 &out->per_epoch);
}

/* Of 0, and of 100 % of a share, there is no logarithm, or no logit. */
static void choose_scale(const struct rows *rows, struct comparison_quantity *out)
{
    enum stats_scale scale = out->is_metric ? summary_stats_scale(out->name, true, out->goal,
                                                                  rows->lowest, rows->highest)
                                            : STATS_POSITIVE;
    bool holds = stats_scale_holds(scale, rows->lowest, rows->highest);
    out->scale = scale == STATS_ANY        ? COMPARISON_PLAIN
                 : scale == STATS_POSITIVE ? COMPARISON_LOG
                                           : COMPARISON_LOGIT;
    out->at_bound = out->is_metric && !holds;
    if (out->at_bound)
        out->scale = COMPARISON_PLAIN;
    for (size_t i = 0; i < rows->count && holds; i++)
        rows->y[i] = stats_to_scale(rows->y[i], scale);
}

/* Repeats of a setting become one row, their mean on the scale compared on. Their covariates and
 * stratum are alike. */
static void join_repeats(struct rows *rows, size_t settings)
{
    AUTO_FREE size_t *row = mem_array(settings, sizeof *row); /* of a setting, from 1 */
    AUTO_FREE size_t *runs = mem_array(rows->count + 1, sizeof *runs);
    size_t joined = 0;
    for (size_t i = 0; i < rows->count; i++) {
        size_t at = row[rows->setting[i]];
        if (at) {
            rows->y[at - 1] += rows->y[i];
            runs[at - 1]++;
            continue;
        }
        rows->y[joined] = rows->y[i];
        rows->is_b[joined] = rows->is_b[i];
        rows->stratum[joined] = rows->stratum[i];
        rows->item[joined] = rows->item[i];
        memmove(&rows->x[joined * rows->covariates], &rows->x[i * rows->covariates],
                rows->covariates * sizeof *rows->x);
        runs[joined++] = 1;
        row[rows->setting[i]] = joined;
    }
    rows->count = joined;
    for (size_t i = 0; i < joined; i++)
        rows->y[i] /= (double)runs[i];
}

/* Whether each stratum that both sides have has one row of each, and there are several. */
static bool is_paired(const struct rows *rows, size_t strata)
{
    AUTO_FREE size_t *count = mem_array(2 * strata + 1, sizeof *count);
    size_t pairs = 0;
    for (size_t i = 0; i < rows->count; i++)
        count[2 * rows->stratum[i] + rows->is_b[i]]++;
    for (size_t s = 0; s < strata; s++) {
        if (count[2 * s] && count[2 * s + 1] && count[2 * s] + count[2 * s + 1] > 2)
            return false;
        pairs += count[2 * s] && count[2 * s + 1];
    }
    return pairs > 1;
}

static void compare_quantity(const struct comparison *comparison, struct comparison_quantity *out)
{
    AUTO(rows_fini) struct rows rows;
    rows_make(comparison, out->name, &rows);
    out->a_count = rows.side_count[0];
    out->b_count = rows.side_count[1];
    out->a_mean = stats_mean(rows.plain[0], out->a_count);
    out->b_mean = stats_mean(rows.plain[1], out->b_count);
    memcpy(out->not_finite, rows.not_finite, sizeof out->not_finite);
    if (rows.count)
        choose_scale(&rows, out);
    if (rows.count == 0 || (out->scale == COMPARISON_LOG && !(rows.lowest > 0)))
        return;
    AUTO_FREE struct measurement_row *of = mem_array(rows.count, sizeof *of);
    for (size_t i = 0; i < rows.count; i++)
        of[i] = (struct measurement_row){rows.item[i], rows.stratum[i], rows.is_b[i]};
    if (!out->is_metric) /* of every run: before repeats are one */
        measurement_of_ratio(&comparison->dataset, out->name, of, rows.count, comparison->strata,
                             &out->measurement);
    if (comparison->by_setting)
        join_repeats(&rows, comparison->sides[0].count + comparison->sides[1].count);
    struct stats_effect_input in = {.count = rows.count,
                                    .y = rows.y,
                                    .plain = out->scale == COMPARISON_PLAIN,
                                    .is_b = rows.is_b,
                                    .stratum = rows.stratum,
                                    .strata = comparison->strata};
    stats_effect(&in, &out->raw);
    if (rows.covariates) {
        in.x = rows.x;
        in.covariates = rows.covariates;
        stats_effect(&in, &out->adjusted);
    }
    if (!out->is_metric)
        out->interval_measured = measurement_interval(&out->measurement, comparison_effect(out));
    out->test = out->adjusted.valid && out->adjusted.has_error ? COMPARISON_MODEL
                : is_paired(&rows, comparison->strata)         ? COMPARISON_PAIRED
                : out->raw.strata > 1                          ? COMPARISON_STRATA
                                                               : COMPARISON_WELCH;
    compare_per_epoch(comparison, &rows, out);
}

size_t comparison_commits(const struct comparison *comparison, size_t which, size_t *items)
{
    const struct comparison_side *side = &comparison->sides[which];
    const struct dataset_experiment *all = comparison->dataset.items;
    size_t count = 0;
    for (size_t i = 0; i < side->count; i++) {
        size_t k = 0;
        if (side->stratum[i] == SIZE_MAX)
            continue;
        if (!all[side->items[i]].commit)
            return 0;
        const struct dataset_experiment *own = &all[side->items[i]];
        while (k < count && (strcmp(all[items[k]].commit, own->commit) != 0 ||
                             all[items[k]].commit_changed != own->commit_changed))
            k++;
        if (k == count && count < COMPARISON_COMMITS)
            items[count++] = side->items[i];
    }
    return count;
}

const struct stats_effect *comparison_effect(const struct comparison_quantity *quantity)
{
    return quantity->adjusted.valid && quantity->adjusted.has_error ? &quantity->adjusted
                                                                    : &quantity->raw;
}

static int compare_metrics(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_asked_for(const struct comparison *comparison, const char *name)
{
    return !comparison->only || comparison->only->count == 0 || strv_has(comparison->only, name);
}

/* Those measured, and each metric of the experiments that are compared once. */
static void find_quantities(struct comparison *comparison)
{
    AUTO_FREE const char **metrics = NULL;
    size_t count = 0;
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < comparison->sides[s].count; i++) {
            const struct dataset_experiment *experiment =
                &comparison->dataset.items[comparison->sides[s].items[i]];
            if (comparison->sides[s].stratum[i] == SIZE_MAX)
                continue;
            EACH (metric, experiment->metrics, experiment->metric_count)
                MEM_ADD(metrics, count) = metric->name;
        }
    if (count)
        qsort(metrics, count, sizeof *metrics, compare_metrics);
    comparison->quantities = mem_array(COMPARISON_MEASURED + count, sizeof *comparison->quantities);
    EACH (item, comparison_measured, COMPARISON_MEASURED)
        if (is_asked_for(comparison, *item))
            comparison->quantities[comparison->quantity_count++].name = *item;
    for (size_t i = 0; i < count; i++) {
        bool known = i > 0 && strcmp(metrics[i], metrics[i - 1]) == 0;
        EACH (entry, comparison_measured, COMPARISON_MEASURED)
            known |= strcmp(metrics[i], *entry) == 0;
        if (!known && is_asked_for(comparison, metrics[i]))
            comparison->quantities[comparison->quantity_count++] = (struct comparison_quantity){
                .name = metrics[i],
                .is_metric = true,
                .goal = dataset_goal(&comparison->dataset, metrics[i])};
    }
}

/* Every quantity, and p values that allow for there being several. */
static void compare_all(struct comparison *comparison)
{
    AUTO_FREE double *p = mem_array(comparison->quantity_count, sizeof *p);
    AUTO_FREE size_t *of = mem_array(comparison->quantity_count, sizeof *of);
    for (size_t i = 0; i < comparison->quantity_count; i++) {
        struct comparison_quantity *quantity = &comparison->quantities[i];
        quantity->p = 1;
        compare_quantity(comparison, quantity);
        const struct stats_effect *effect = comparison_effect(quantity);
        quantity->ratio = (struct stats_ratio){effect->ratio, effect->interval, effect->valid};
        if (!effect->has_error)
            continue;
        of[comparison->tests] = i;
        p[comparison->tests++] = effect->p;
    }
    stats_adjust_holm(p, comparison->tests);
    for (size_t i = 0; i < comparison->tests; i++)
        comparison->quantities[of[i]].p = p[i];
    size_t asked = 0;
    for (size_t i = 0; i < comparison->quantity_count; i++)
        if (comparison_effect(&comparison->quantities[i])->has_heterogeneity) {
            of[asked] = i;
            p[asked++] = comparison_effect(&comparison->quantities[i])->q_p;
        }
    stats_adjust_holm(p, asked);
    for (size_t i = 0; i < asked; i++) {
        comparison->quantities[of[i]].heterogeneity_p = p[i];
        comparison->quantities[of[i]].heterogeneous = p[i] <= 1 - STATS_CONFIDENCE;
    }
}

struct moment {
    int64_t end_ns; /* UTC */
    bool is_b;
};

static int compare_moments(const void *a, const void *b)
{
    const struct moment *left = a, *right = b;
    return ORDER(left->end_ns, right->end_ns);
}

static void judge_order(struct comparison *comparison)
{
    size_t n = 0, all = comparison->sides[0].used_count + comparison->sides[1].used_count;
    AUTO_FREE struct moment *moments = mem_array(all + 1, sizeof *moments);
    AUTO_FREE bool *is_b = mem_array(all + 1, sizeof *is_b);
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < comparison->sides[s].count; i++) {
            const struct dataset_experiment *experiment =
                &comparison->dataset.items[comparison->sides[s].items[i]];
            if (experiment->has_end && comparison->sides[s].stratum[i] != SIZE_MAX)
                moments[n++] =
                    (struct moment){dataset_end_utc_ns(&comparison->dataset, experiment), s == 1};
        }
    comparison->order_known = n == all;
    qsort(moments, n, sizeof *moments, compare_moments);
    for (size_t i = 0; i < n; i++)
        is_b[i] = moments[i].is_b;
    comparison->order_confounded = stats_order_confounded(is_b, n);
}

/* Where numbers differ within the strata, repeats of a setting say nothing of others. */
static void find_settings(struct comparison *comparison)
{
    EACH (factor, comparison->factors, comparison->factor_count)
        comparison->by_setting |=
            factor->role == COMPARISON_COVARIATE || factor->role == COMPARISON_MIXED;
    for (size_t s = 0; s < 2 && comparison->by_setting; s++) {
        struct comparison_side *side = &comparison->sides[s];
        AUTO_FREE bool *seen = mem_array(side->count + 1, sizeof *seen);
        side->setting = mem_array(side->count + 1, sizeof *side->setting);
        audit_settings(&comparison->dataset, side->items, side->stratum, side->count,
                       side->setting);
        for (size_t i = 0; i < side->count; i++) {
            side->settings += side->stratum[i] != SIZE_MAX && !seen[side->setting[i]];
            seen[side->setting[i]] |= side->stratum[i] != SIZE_MAX;
        }
    }
}

/* What the sides are chosen by, as the hyperparameters are called since names were joined. */
static void rename_keys(struct comparison *comparison)
{
    EACH (spelling, comparison->dataset.spellings, comparison->dataset.spelling_count) {
        EACH (side, comparison->sides, 2)
            EACH (item, side->keys.items, side->keys.count)
                if (!spelling->apart && strcmp(*item, spelling->other) == 0) {
                    free(*item);
                    *item = mem_strdup(spelling->name);
                }
    }
}

static bool has_quantity(const struct comparison *comparison, const char *name)
{
    EACH (quantity, comparison->quantities, comparison->quantity_count)
        if (strcmp(quantity->name, name) == 0)
            return true;
    return false;
}

bool comparison_make(struct comparison *comparison, struct err *err)
{
    bool same = strcmp(comparison->sides[0].path, comparison->sides[1].path) == 0;
    rename_keys(comparison);
    take_side(comparison, 0, 0);
    take_side(comparison, 1, same ? 0 : 1);
    for (size_t s = 0; s < 2; s++)
        if (comparison->sides[s].count == 0)
            return comparison_selects_nothing(comparison, s, same ? 0 : s, err);
    if (!comparison_strata_find(comparison, same, err))
        return false;
    find_settings(comparison);
    for (size_t s = 0; s < 2; s++)
        for (enum comparison_condition i = 0; i < COMPARISON_CONDITIONS; i++)
            comparison->sides[s].conditions[i] =
                condition_mean(comparison, &comparison->sides[s], i);
    find_quantities(comparison);
    for (size_t i = 0; comparison->only && i < comparison->only->count; i++)
        if (!has_quantity(comparison, comparison->only->items[i]))
            return err_set(err, "--of: no experiment that is compared has a '%s'",
                           comparison->only->items[i]);
    compare_all(comparison);
    judge_order(comparison);
    EACH (quantity, comparison->quantities, comparison->quantity_count)
        quantity->finding = !comparison_effect(quantity)->has_error ? COMPARISON_NOT_TESTED
                            : quantity->p > 1 - STATS_CONFIDENCE    ? COMPARISON_NO_DIFFERENCE
                            : comparison->order_known && comparison->order_confounded
                                ? COMPARISON_WITH_ORDER
                                : COMPARISON_DIFFERENT;
    return true;
}

void comparison_fini(struct comparison *comparison)
{
    EACH (side, comparison->sides, 2) {
        free(side->text);
        free(side->path);
        strv_fini(&side->keys);
        strv_fini(&side->values);
        free(side->items);
        free(side->stratum);
        free(side->setting);
    }
    EACH (factor, comparison->factors, comparison->factor_count) {
        free(factor->name);
        free(factor->values[0]);
        free(factor->values[1]);
    }
    free(comparison->factors);
    free(comparison->quantities);
    dataset_fini(&comparison->dataset);
}

size_t comparison_blocks(const struct comparison *comparison)
{
    size_t most = 0;
    EACH (quantity, comparison->quantities, comparison->quantity_count)
        most = quantity->raw.strata > most ? quantity->raw.strata : most;
    return most > 1 ? most : 0;
}

const char *comparison_finding_name(enum comparison_finding finding)
{
    static const char *const findings[] = {[COMPARISON_NOT_TESTED] = "not_tested",
                                           [COMPARISON_NO_DIFFERENCE] = "no_significant_difference",
                                           [COMPARISON_WITH_ORDER] = "confounded_with_order",
                                           [COMPARISON_DIFFERENT] = "different"};
    return findings[finding];
}

const char *comparison_test_name(enum comparison_test test)
{
    static const char *const tests[] = {[COMPARISON_PAIRED] = "paired_t",
                                        [COMPARISON_WELCH] = "welch_t",
                                        [COMPARISON_STRATA] = "stratified_t",
                                        [COMPARISON_MODEL] = "linear_model_t"};
    return tests[test];
}

char *comparison_not_tested(const struct comparison *comparison,
                            const struct comparison_quantity *quantity)
{
    const struct comparison_side *sides = comparison->sides;
    const size_t counts[2] = {quantity->a_count, quantity->b_count};
    if (comparison_effect(quantity)->has_error)
        return NULL;
    if (comparison_effect(quantity)->constant)
        return mem_strdup("no spread within the groups");
    if (counts[0] == 1 && counts[1] == 1 && sides[0].count == 1 && sides[1].count == 1)
        return mem_strdup("one experiment on each side");
    for (size_t s = 0; s < 2; s++)
        if (counts[s] == 0)
            return mem_printf("%c has no value of it", "AB"[s]);
    for (size_t s = 2; s-- > 0;)
        if (counts[s] == 1)
            return sides[s].count == 1
                       ? mem_printf("%c has one experiment", "AB"[s])
                       : mem_printf("one experiment of %c is like any of %c", "AB"[s], "AB"[1 - s]);
    return mem_strdup("too few experiments are alike");
}

struct reading comparison_detectable(const struct comparison *comparison,
                                     const struct comparison_quantity *quantity)
{
    const struct stats_effect *effect = comparison_effect(quantity);
    if (!effect->has_error)
        return (struct reading){0};
    double alpha = (1 - STATS_CONFIDENCE) / (double)comparison->tests;
    double least = stats_effect_detectable(effect, alpha, COMPARISON_POWER);
    return (struct reading){quantity->scale == COMPARISON_PLAIN ? least : expm1(least), true};
}

const char *comparison_scale_name(enum comparison_scale scale)
{
    static const char *const scale_names[] = {
        [COMPARISON_LOG] = "log", [COMPARISON_LOGIT] = "logit", [COMPARISON_PLAIN] = "plain"};
    return scale_names[scale];
}

const char *comparison_measure_name(enum comparison_scale scale)
{
    static const char *const measures[] = {[COMPARISON_LOG] = "ratio",
                                           [COMPARISON_LOGIT] = "odds_ratio",
                                           [COMPARISON_PLAIN] = "difference"};
    return measures[scale];
}

char comparison_better(const struct comparison_quantity *quantity)
{
    if (quantity->goal == GOAL_UNKNOWN || quantity->finding != COMPARISON_DIFFERENT)
        return 0;
    return (comparison_effect(quantity)->log_ratio > 0) == (quantity->goal == GOAL_MAXIMIZE) ? 'b'
                                                                                             : 'a';
}
