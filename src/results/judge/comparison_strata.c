#include "results/judge/comparison_strata.h"
#include "base/mem.h"
#include "results/judge/identical.h"
#include "results/judge/places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A place (node, GPU) parts the experiments only where so many are left in a stratum on average. */
enum { LEAST_OF_A_PLACE = 4 };

/* All experiments of both sides in one row, a's first; id: the stratum so far. */
struct pool {
    struct comparison *comparison;
    size_t count, from_b;
    size_t *id;
    size_t ids;
    /* how many of each side are in strata that both have, before hyperparameters part them */
    size_t base[2];
};

/* What one factor is for each experiment: value[i] below values, 0: it has none. */
struct column {
    char *name;
    size_t *value;
    struct strv values;     /* from 1: the text of each */
    struct reading *number; /* NULL: it is no number */
};

static const struct dataset_experiment *at(const struct pool *pool, size_t i)
{
    const struct comparison_side *sides = pool->comparison->sides;
    size_t item = i < pool->from_b ? sides[0].items[i] : sides[1].items[i - pool->from_b];
    return &pool->comparison->dataset.items[item];
}

static bool is_b(const struct pool *pool, size_t i)
{
    return i >= pool->from_b;
}

static void column_fini(struct column *column)
{
    free(column->name);
    free(column->value);
    free(column->number);
    strv_fini(&column->values);
}

static int compare_texts(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* What a factor is of. */
enum factor { FACTOR_BASE, FACTOR_BACKGROUND, FACTOR_PLAN_BLOCK, FACTOR_FACT, FACTOR_PARAM };

/* name: of a hyperparameter; fact: of a fact. BASE is what is always compared within: "repo model
 * (parallel)", less what the sides were chosen by. NULL: the experiment has none. */
static char *value_of(const struct comparison *comparison,
                      const struct dataset_experiment *experiment, enum factor factor,
                      const char *name, enum dataset_fact fact)
{
    const struct value *value;
    switch (factor) {
    case FACTOR_BASE:
        return mem_printf("%s %s%s",
                          comparison_selected_by(comparison, "repo") ||
                                  comparison_selected_by(comparison, "repository")
                              ? ""
                              : experiment->repo,
                          comparison_selected_by(comparison, "model") ? "" : experiment->model,
                          comparison_selected_by(comparison, "mode") || !experiment->parallel
                              ? ""
                              : " (parallel)");
    case FACTOR_BACKGROUND:
        return mem_strdup(experiment->background);
    case FACTOR_PLAN_BLOCK:
        return experiment->block ? mem_printf("%zu", experiment->block) : NULL;
    case FACTOR_FACT:
        return mem_strdup(experiment->facts[fact]);
    case FACTOR_PARAM:
        break;
    }
    value = dataset_param(experiment, name);
    return value && value->kind != VALUE_NULL ? value_key(value) : NULL;
}

static void column_make(const struct pool *pool, const char *name, enum factor factor,
                        enum dataset_fact fact, struct column *out)
{
    AUTO_STRV struct strv texts = {0};
    AUTO_FREE const char **sorted = mem_array(pool->count + 1, sizeof *sorted);
    AUTO_FREE bool *has = mem_array(pool->count + 1, sizeof *has);
    size_t known = 0;
    *out = (struct column){.name = mem_strdup(name),
                           .value = mem_array(pool->count + 1, sizeof *out->value)};
    for (size_t i = 0; i < pool->count; i++) {
        char *text = value_of(pool->comparison, at(pool, i), factor, name, fact);
        has[i] = text;
        strv_add_owned(&texts, text ? text : mem_strdup(""));
        if (has[i])
            sorted[known++] = texts.items[i];
    }
    if (known)
        qsort(sorted, known, sizeof *sorted, compare_texts);
    for (size_t i = 0, kept = 0; i < known; i++) {
        if (i > 0 && strcmp(sorted[i], sorted[kept - 1]) == 0)
            continue;
        sorted[kept++] = sorted[i];
        strv_add(&out->values, sorted[i]);
    }
    for (size_t i = 0; i < pool->count; i++) {
        char **found = has[i] ? bsearch(&texts.items[i], out->values.items, out->values.count,
                                        sizeof *out->values.items, compare_texts)
                              : NULL;
        out->value[i] = found ? (size_t)(found - out->values.items) + 1 : 0;
    }
}

/* An experiment's stratum so far, and its value of one more factor. */
struct pair {
    size_t id, value, i;
};

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *left = a, *right = b;
    if (left->id != right->id)
        return left->id < right->id ? -1 : 1;
    return ORDER(left->value, right->value);
}

/* The strata that the factor would make of those that there are: how many, and id of each
 * experiment. */
static size_t combine(const struct pool *pool, const struct column *column, size_t *id)
{
    AUTO_FREE struct pair *pairs = mem_array(pool->count + 1, sizeof *pairs);
    size_t found = 0;
    for (size_t i = 0; i < pool->count; i++)
        pairs[i] = (struct pair){pool->id[i], column->value[i], i};
    qsort(pairs, pool->count, sizeof *pairs, compare_pairs);
    for (size_t i = 0; i < pool->count; i++) {
        found += i == 0 || compare_pairs(&pairs[i - 1], &pairs[i]) != 0;
        id[pairs[i].i] = found - 1;
    }
    return found;
}

/* What would be left. */
struct kept {
    size_t of[2], strata;
};

static struct kept kept_of(const struct pool *pool, const size_t *id, size_t ids, bool *common)
{
    AUTO_FREE bool *has = mem_array(2 * ids + 1, sizeof *has);
    struct kept out = {0};
    for (size_t i = 0; i < pool->count; i++)
        has[2 * id[i] + is_b(pool, i)] = true;
    for (size_t k = 0; k < ids; k++)
        out.strata += has[2 * k] && has[2 * k + 1];
    for (size_t i = 0; i < pool->count; i++) {
        bool both = has[2 * id[i]] && has[2 * id[i] + 1];
        out.of[is_b(pool, i)] += both;
        if (common)
            common[i] = both;
    }
    return out;
}

static struct kept kept_of_combined(const struct pool *pool, const struct column *column)
{
    AUTO_FREE size_t *id = mem_array(pool->count + 1, sizeof *id);
    size_t ids = combine(pool, column, id);
    return kept_of(pool, id, ids, NULL);
}

static void take(struct pool *pool, const struct column *column)
{
    AUTO_FREE size_t *id = mem_array(pool->count + 1, sizeof *id);
    pool->ids = combine(pool, column, id);
    memcpy(pool->id, id, pool->count * sizeof *id);
}

static struct comparison_factor *add_factor(struct comparison *comparison, const char *name,
                                            enum comparison_role role)
{
    struct comparison_factor *out = &MEM_ADD(comparison->factors, comparison->factor_count);
    *out = (struct comparison_factor){.name = mem_strdup(name), .role = role};
    return out;
}

/* How a factor is spread over those that are compared. */
struct spread {
    bool varies;      /* within a stratum */
    bool constant[2]; /* one value in all of a side */
    size_t value[2];  /* that one */
    bool labels;      /* no two have the same */
};

static struct spread spread_of(const struct pool *pool, const struct column *column)
{
    AUTO_FREE size_t *id = mem_array(pool->count + 1, sizeof *id);
    AUTO_FREE size_t *first = mem_array(pool->ids + 1, sizeof *first);
    AUTO_FREE bool *common = mem_array(pool->count + 1, sizeof *common);
    AUTO_FREE size_t *uses = mem_array(column->values.count + 1, sizeof *uses);
    struct spread out = {.constant = {true, true}, .labels = true};
    bool seen[2] = {false, false};
    kept_of(pool, pool->id, pool->ids, common);
    for (size_t i = 0; i < pool->count; i++) {
        size_t side = is_b(pool, i), value = column->value[i];
        if (!common[i])
            continue;
        if (!first[pool->id[i]])
            first[pool->id[i]] = value + 1;
        out.varies |= first[pool->id[i]] != value + 1;
        out.constant[side] &= !seen[side] || out.value[side] == value;
        out.value[side] = value;
        seen[side] = true;
        out.labels &= value > 0 && ++uses[value] == 1;
    }
    return out;
}

static void set_confounded(struct comparison *comparison, const struct column *column,
                           const struct spread *spread)
{
    struct comparison_factor *factor = add_factor(comparison, column->name, COMPARISON_CONFOUNDED);
    for (size_t s = 0; s < 2; s++)
        factor->values[s] =
            mem_strdup(spread->value[s] ? column->values.items[spread->value[s] - 1] : "none");
}

/* "16 (5), 32 (10)" */
static void say_values(const struct pool *pool, const struct column *column, size_t side,
                       struct text *out)
{
    enum { SHOWN = 4 };
    size_t shown = 0;
    for (size_t value = 0; value <= column->values.count; value++) {
        size_t uses = 0;
        for (size_t i = 0; i < pool->count; i++)
            uses += is_b(pool, i) == (side == 1) && column->value[i] == value;
        if (uses == 0)
            continue;
        if (shown++ < SHOWN)
            text_addf(out, "%s%s (%zu)", shown > 1 ? ", " : "",
                      value ? column->values.items[value - 1] : "none", uses);
    }
    if (shown > SHOWN)
        text_addf(out, " and %zu more", shown - SHOWN);
}

static bool refuse(const struct pool *pool, const struct column *column, const char *advice,
                   struct err *err)
{
    AUTO_TEXT struct text a = {0};
    AUTO_TEXT struct text b = {0};
    say_values(pool, column, 0, &a);
    say_values(pool, column, 1, &b);
    return err_set(err,
                   "A and B are mixed in different ways and share no %s: A has %s, B has %s; %s",
                   column->name, text_get(&a), text_get(&b), advice);
}

/* Repository, model and mode: only what is alike in them is compared. */
static bool take_base(struct pool *pool, struct err *err)
{
    AUTO(column_fini) struct column column;
    column_make(pool, "model", FACTOR_BASE, 0, &column);
    if (column.values.count > 1) {
        take(pool, &column);
        add_factor(pool->comparison, "model", COMPARISON_STRATUM);
    }
    struct kept kept = kept_of(pool, pool->id, pool->ids, NULL);
    pool->base[0] = kept.of[0];
    pool->base[1] = kept.of[1];
    return kept.strata > 0 ||
           refuse(pool, &column, "to compare two models, choose each: A:model=... B:model=...",
                  err);
}

/* A factor of names (text, or a place): compared within what both sides have of it. */
static bool take_names(struct pool *pool, const struct column *column, bool place, struct err *err)
{
    struct spread spread = spread_of(pool, column);
    if (!spread.varies || (spread.labels && !place))
        return true;
    struct kept kept = kept_of_combined(pool, column);
    bool enough = !place || (kept.of[0] + kept.of[1] >= LEAST_OF_A_PLACE * kept.strata &&
                             2 * kept.of[0] >= pool->base[0] && 2 * kept.of[1] >= pool->base[1]);
    if (kept.strata > 0 && enough) {
        take(pool, column);
        add_factor(pool->comparison, column->name, COMPARISON_STRATUM);
    } else if (place) {
        return true; /* comparison_places tells */
    } else if (spread.constant[0] && spread.constant[1]) {
        set_confounded(pool->comparison, column, &spread);
    } else {
        return refuse(pool, column, "choose what to compare by it, as in A:KEY=VALUE", err);
    }
    return true;
}

/* Whether all of them that are compared are numbers, or none in a stratum is. */
static bool is_numbers(const struct pool *pool, struct column *column)
{
    AUTO_FREE bool *common = mem_array(pool->count + 1, sizeof *common);
    AUTO_FREE unsigned *has = mem_array(pool->ids + 1, sizeof *has);
    kept_of(pool, pool->id, pool->ids, common);
    column->number = mem_array(pool->count + 1, sizeof *column->number);
    for (size_t i = 0; i < pool->count; i++) {
        column->number[i] = dataset_param_number(at(pool, i), column->name);
        if (!common[i])
            continue;
        if (column->value[i] && (!column->number[i].valid || !isfinite(column->number[i].value)))
            return false;
        has[pool->id[i]] |= column->number[i].valid ? 1 : 2;
        if (has[pool->id[i]] == 3)
            return false;
    }
    return true;
}

/* Numbers that most experiments of both sides share part them; of others the logarithm is a
 * covariate. */
static void take_numbers(struct pool *pool, const struct column *column)
{
    AUTO_FREE bool *common = mem_array(pool->count + 1, sizeof *common);
    struct spread spread = spread_of(pool, column);
    if (!spread.varies)
        return;
    struct kept kept = kept_of_combined(pool, column);
    if (2 * kept.of[0] >= pool->base[0] && 2 * kept.of[1] >= pool->base[1] &&
        kept.of[0] + kept.of[1] > kept.strata + 1) {
        take(pool, column);
        add_factor(pool->comparison, column->name, COMPARISON_STRATUM);
        return;
    }
    if (spread.constant[0] && spread.constant[1]) {
        set_confounded(pool->comparison, column, &spread);
        return;
    }
    struct comparison_factor *factor =
        add_factor(pool->comparison, column->name, COMPARISON_COVARIATE);
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    factor->logs = true;
    kept_of(pool, pool->id, pool->ids, common);
    for (size_t i = 0; i < pool->count; i++) {
        if (!common[i] || !column->number[i].valid)
            continue;
        double value = column->number[i].value;
        factor->logs &= value > 0;
        low[is_b(pool, i)] = fmin(low[is_b(pool, i)], value);
        high[is_b(pool, i)] = fmax(high[is_b(pool, i)], value);
    }
    factor->apart = high[0] < low[1] || high[1] < low[0];
}

/* First those of names, then those of numbers, as these can be adjusted for; each in the order of
 * their names. Seeds are repeats. */
static bool take_params(struct pool *pool, struct err *err)
{
    AUTO_STRV struct strv names = {0};
    for (size_t i = 0; i < pool->count; i++)
        for (size_t p = 0; p < at(pool, i)->param_count; p++) {
            const char *name = at(pool, i)->params[p].name;
            if (!audit_is_seed(name) && !comparison_selected_by(pool->comparison, name))
                strv_add_once(&names, name);
        }
    strv_sort(&names);
    for (int numbers = 0; numbers < 2; numbers++)
        EACH (item, names.items, names.count) {
            AUTO(column_fini) struct column column;
            column_make(pool, *item, FACTOR_PARAM, 0, &column);
            bool number = is_numbers(pool, &column);
            if (number && numbers)
                take_numbers(pool, &column);
            else if (!number && !numbers && !take_names(pool, &column, false, err))
                return false;
        }
    return true;
}

static bool take_places(struct pool *pool, struct err *err)
{
    /* What makes the greater difference first. Of the lane, node and GPU, after them. */
    static const enum dataset_fact facts[] = {FACT_GPU_MODEL,  FACT_POWER_LIMIT, FACT_CLOCKS_MAX,
                                              FACT_CLOCKS_SET, FACT_CPU,         FACT_NODE,
                                              FACT_LANE};
    EACH_OF (fact, facts) {
        AUTO(column_fini) struct column column;
        column_make(pool, places_fact_name(*fact), FACTOR_FACT, *fact, &column);
        if (!take_names(pool, &column, true, err))
            return false;
    }
    return true;
}

/* The blocks that one run's plan was ordered in. */
static void take_plan(struct pool *pool)
{
    for (size_t i = 0; i < pool->count; i++)
        if (at(pool, i)->block == 0)
            return;
    AUTO(column_fini) struct column column;
    column_make(pool, "block", FACTOR_PLAN_BLOCK, 0, &column);
    struct kept kept = kept_of_combined(pool, &column);
    if (!spread_of(pool, &column).varies || kept.strata < 2 || 2 * kept.of[0] < pool->base[0] ||
        2 * kept.of[1] < pool->base[1])
        return;
    take(pool, &column);
    add_factor(pool->comparison, column.name, COMPARISON_STRATUM);
    pool->comparison->by_plan = true;
}

/* Experiments with one seed share the data's order and the first weights: where both sides of each
 * stratum have the same seeds, each seed is a pair. Two pairs would leave one degree of freedom. */
static void take_seeds(struct pool *pool)
{
    enum { LEAST_PAIRS = 3 };
    const struct comparison_factor *factors = pool->comparison->factors;
    const char *name = NULL;
    for (size_t f = 0; f < pool->comparison->factor_count; f++)
        if (factors[f].role == COMPARISON_COVARIATE)
            return;
    for (size_t i = 0; i < pool->count; i++)
        for (size_t p = 0; p < at(pool, i)->param_count; p++) {
            const char *param = at(pool, i)->params[p].name;
            if (!audit_is_seed(param) || comparison_selected_by(pool->comparison, param))
                continue;
            if (name && strcmp(name, param) != 0)
                return;
            name = param;
        }
    if (!name)
        return;
    AUTO(column_fini) struct column column;
    column_make(pool, name, FACTOR_PARAM, 0, &column);
    struct kept kept = kept_of_combined(pool, &column),
                all = kept_of(pool, pool->id, pool->ids, NULL);
    if (kept.strata == all.strata || kept.strata < LEAST_PAIRS || kept.of[0] != all.of[0] ||
        kept.of[1] != all.of[1])
        return;
    take(pool, &column);
    add_factor(pool->comparison, name, COMPARISON_STRATUM);
    pool->comparison->by_seed = true;
}

/* Settings of either side in each stratum that both have: repeats of one tell covariates no further
 * apart. */
static size_t count_settings(const struct pool *pool)
{
    AUTO_FREE size_t *items = mem_array(pool->count + 1, sizeof *items);
    AUTO_FREE size_t *part = mem_array(pool->count + 1, sizeof *part);
    AUTO_FREE size_t *setting = mem_array(pool->count + 1, sizeof *setting);
    AUTO_FREE bool *common = mem_array(pool->count + 1, sizeof *common);
    size_t n = 0;
    kept_of(pool, pool->id, pool->ids, common);
    for (size_t i = 0; i < pool->count; i++) {
        if (!common[i])
            continue;
        items[n] = (size_t)(at(pool, i) - pool->comparison->dataset.items);
        part[n++] = 2 * pool->id[i] + is_b(pool, i);
    }
    return audit_settings(&pool->comparison->dataset, items, part, n, setting);
}

/* With too few experiments for all of them, none is adjusted for. What cannot be left as it is, is
 * refused. */
static bool limit_covariates(struct pool *pool, struct err *err)
{
    struct comparison *comparison = pool->comparison;
    size_t covariates = 0, observations = count_settings(pool);
    struct kept kept = kept_of(pool, pool->id, pool->ids, NULL);
    EACH (item, comparison->factors, comparison->factor_count)
        covariates += item->role == COMPARISON_COVARIATE;
    if (covariates <= STATS_EFFECT_COVARIATES &&
        observations >= kept.strata + 1 + 2 * covariates + 2)
        return true;
    EACH (factor, comparison->factors, comparison->factor_count) {
        if (factor->role != COMPARISON_COVARIATE)
            continue;
        AUTO(column_fini) struct column column;
        column_make(pool, factor->name, FACTOR_PARAM, 0, &column);
        if (factor->apart)
            return refuse(pool, &column, "and there are too few experiments to adjust for it", err);
        factor->role = COMPARISON_MIXED;
        comparison->mixed = true;
    }
    return true;
}

/* Strata are numbered anew; those of one side alone get no number. */
static void number_strata(struct pool *pool)
{
    struct comparison *comparison = pool->comparison;
    AUTO_FREE bool *common = mem_array(pool->count + 1, sizeof *common);
    AUTO_FREE size_t *number = mem_array(pool->ids + 1, sizeof *number);
    kept_of(pool, pool->id, pool->ids, common);
    for (size_t i = 0; i < pool->count; i++) {
        struct comparison_side *side = &comparison->sides[is_b(pool, i)];
        size_t *stratum = &side->stratum[is_b(pool, i) ? i - pool->from_b : i];
        if (common[i] && !number[pool->id[i]])
            number[pool->id[i]] = ++comparison->strata;
        *stratum = common[i] ? number[pool->id[i]] - 1 : SIZE_MAX;
        side->used_count += common[i];
    }
}

bool comparison_strata_find(struct comparison *comparison, bool same_run, struct err *err)
{
    struct comparison_side *sides = comparison->sides;
    struct pool pool = {.comparison = comparison,
                        .count = sides[0].count + sides[1].count,
                        .from_b = sides[0].count,
                        .ids = 1};
    AUTO_FREE size_t *id = mem_array(pool.count + 1, sizeof *id);
    pool.id = id;
    EACH (side, sides, 2)
        side->stratum = mem_array(side->count + 1, sizeof *side->stratum);
    AUTO(column_fini) struct column background = {0};
    if (!take_base(&pool, err))
        return false;
    column_make(&pool, "background", FACTOR_BACKGROUND, 0, &background);
    if (!take_names(&pool, &background, false, err) || !take_params(&pool, err) ||
        !take_places(&pool, err))
        return false;
    take_seeds(&pool);
    if (same_run && !comparison->by_seed)
        take_plan(&pool);
    if (!limit_covariates(&pool, err))
        return false;
    number_strata(&pool);
    return true;
}
