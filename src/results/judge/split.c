#include "results/judge/split.h"
#include "results/judge/account.h"
#include "results/judge/identical.h"

#include "base/clock.h"
#include "base/mem.h"
#include "stats/describe.h"

#include <math.h>
#include <string.h>

/* A change needs as many experiments on either side; the seed makes the same data give the same
 * answer. */
enum { SIDE_LEAST = 5, SEED = 20251125 };
static const double level = 0.05;

struct moment {
    int64_t end_local_ns;
    size_t index;
    double value;
};

static int compare_moments(const void *a, const void *b)
{
    const struct moment *left = a, *right = b;
    if (left->end_local_ns != right->end_local_ns)
        return left->end_local_ns > right->end_local_ns ? 1 : -1;
    return ORDER(left->index, right->index);
}

/* Which failures have another explanation than the time: those of a model that never succeeds,
 * and those with a hyperparameter's value with which none of several experiments does. */
static bool *find_explained(const struct dataset *dataset)
{
    enum { SEVERAL = 3 };
    bool *explained = mem_array(dataset->count + 1, sizeof *explained);
    size_t count = 0, room = 0;
    EACH (item, dataset->items, dataset->count)
        room += item->param_count + 1;
    AUTO_FREE char **keys = mem_array(room + 1, sizeof *keys);
    AUTO_FREE size_t *owners = mem_array(room + 1, sizeof *owners), *order = NULL, *groups = NULL;
    for (size_t i = 0; i < dataset->count; i++) {
        const struct dataset_experiment *experiment = &dataset->items[i];
        owners[count] = i;
        keys[count++] =
            mem_printf("%s\n%s\n%d", experiment->repo, experiment->model, experiment->parallel);
        EACH (param, experiment->params, experiment->param_count) {
            AUTO_FREE char *value = value_format(&param->value);
            if (audit_is_seed(param->name))
                continue;
            owners[count] = i;
            keys[count++] = mem_printf("%s\n%s", param->name, value);
        }
    }
    size_t group_count = audit_group_by(keys, count, &order, &groups);
    for (size_t g = 0; g < group_count; g++) {
        bool model = false, succeeded = false;
        for (size_t i = groups[g]; i < groups[g + 1]; i++) {
            size_t owner = owners[order[i]];
            model = model || order[i] == 0 || owners[order[i] - 1] != owner;
            succeeded = succeeded || dataset->items[owner].success;
        }
        for (size_t i = groups[g]; !succeeded && i < groups[g + 1]; i++)
            if (model || groups[g + 1] - groups[g] >= SEVERAL)
                explained[owners[order[i]]] = true;
    }
    return explained;
}

static bool is_out_of_memory(const struct dataset_experiment *experiment)
{
    return !experiment->success && experiment->error &&
           (strcasestr(experiment->error, "out of memory") ||
            strcasestr(experiment->error, "out of GPU memory"));
}

/* Success as 1 and 0. */
static size_t take_success(const struct dataset *dataset, const bool *explained, struct moment *out)
{
    size_t n = 0;
    for (size_t i = 0; i < dataset->count; i++)
        if (dataset->items[i].has_end && dataset->items[i].has_success && !explained[i])
            out[n++] =
                (struct moment){dataset->items[i].end_local_ns, i, dataset->items[i].success};
    return n;
}

/* Failures for want of GPU memory as 1, all else as 0. */
static size_t take_memory(const struct dataset *dataset, const bool *explained, struct moment *out)
{
    size_t n = take_success(dataset, explained, out);
    EACH (item, out, n)
        item->value = is_out_of_memory(&dataset->items[item->index]);
    return n;
}

/* The lowest power of its first seconds, which does not depend on the model: the training does
 * not use the GPU yet. */
static size_t take_early_power(const struct dataset *dataset, const bool *explained,
                               struct moment *out)
{
    size_t n = 0;
    (void)explained;
    for (size_t i = 0; i < dataset->count; i++) {
        const struct dataset_experiment *experiment = &dataset->items[i];
        if (experiment->has_end && !experiment->parallel && experiment->gpu.early_power_w.valid &&
            experiment->gpu.early_power_w.value > 0)
            out[n++] = (struct moment){experiment->end_local_ns, i,
                                       log(experiment->gpu.early_power_w.value)};
    }
    return n;
}

/* The logarithm of power over the median of its kind, so that what ran when does not matter;
 * kinds of one say nothing. */
static size_t take_power(const struct dataset *dataset, const bool *explained, struct moment *out)
{
    (void)explained;
    AUTO_FREE size_t *order = NULL, *groups = NULL;
    AUTO_FREE double *logs = mem_array(dataset->count + 1, sizeof *logs);
    size_t count = audit_group(dataset, &order, &groups), n = 0;
    for (size_t g = 0; g < count; g++) {
        size_t begin = n, members = 0;
        for (size_t i = groups[g]; i < groups[g + 1]; i++) {
            const struct dataset_experiment *experiment = &dataset->items[order[i]];
            struct reading power = dataset_power(experiment);
            if (!experiment->has_end || !power.valid || power.value <= 0)
                continue;
            logs[members++] = log(power.value);
            out[n++] = (struct moment){experiment->end_local_ns, order[i], log(power.value)};
        }
        double median = stats_median(logs, members).value;
        for (size_t i = begin; i < n; i++)
            out[i].value -= median;
        if (members < 2)
            n = begin;
    }
    return n;
}

/* A change of the first three is also common to several models: no other order of the models'
 * runs makes one as great as often as in one of ten cases (one of twenty, where a model by
 * itself may change the value). */
static const struct series {
    const char *name;
    size_t (*take)(const struct dataset *dataset, const bool *explained, struct moment *out);
    bool pooled;
    int sign;
    double order_level;
} all_series[] = {
    {"success", take_success, true, -1, 0.1},
    {"memory", take_memory, true, 1, 0.1},
    {"power at the start", take_early_power, true, 0, 0.05},
    {"success", take_success, false, -1, 1},
    {"power", take_power, false, 0, 1},
};
enum { SERIES = sizeof all_series / sizeof *all_series };

struct candidate {
    double p;
    int64_t at_local_ns;
};

static struct candidate try_series(const struct series *series, const struct dataset *dataset,
                                   const bool *explained, const size_t *kinds, size_t kind_count)
{
    struct rng rng;
    struct stats_change change;
    AUTO_FREE struct moment *moments = mem_array(dataset->count + 1, sizeof *moments);
    size_t n = series->take(dataset, explained, moments);
    if (n < (size_t)2 * SIDE_LEAST)
        return (struct candidate){.p = 1};
    qsort(moments, n, sizeof *moments, compare_moments);
    AUTO_FREE double *values = mem_array(n, sizeof *values);
    AUTO_FREE size_t *kinds_of = mem_array(n, sizeof *kinds_of);
    for (size_t i = 0; i < n; i++) {
        values[i] = moments[i].value;
        kinds_of[i] = kinds[moments[i].index];
    }
    rng_seed_named(&rng, SEED, series->name);
    if (series->pooled)
        change = stats_change_pooled(values, kinds_of, n, SIDE_LEAST, series->sign, &rng);
    else
        change = stats_change_point(values, kinds_of, kind_count, n, SIDE_LEAST, &rng);
    bool wanted = !series->sign ||
                  (series->sign > 0 ? change.after > change.before : change.after < change.before);
    bool supported =
        change.found && wanted && (!series->pooled || change.p_order < series->order_level);
    size_t first =
        series->pooled && series->sign ? stats_change_of_rate(values, n, SIDE_LEAST) : change.first;
    return (struct candidate){supported ? change.p : 1, moments[first].end_local_ns};
}

static int64_t begin_ns(const struct dataset_experiment *experiment)
{
    double duration_s = experiment->duration_s.valid ? experiment->duration_s.value : 0;
    return experiment->end_local_ns - (int64_t)(duration_s * (double)NS_PER_S);
}

enum split_side split_side_of(const struct account_split *split,
                              const struct dataset_experiment *experiment)
{
    return experiment->end_local_ns < split->at_local_ns ? SPLIT_BEFORE
           : begin_ns(experiment) >= split->at_local_ns  ? SPLIT_AFTER
                                                         : SPLIT_OVERLAPPING;
}

static bool has_new_models(const struct dataset *dataset, const struct account_split *split,
                           const size_t *kinds, size_t kind_count)
{
    AUTO_FREE bool *before = mem_array(kind_count + 1, sizeof *before);
    for (size_t i = 0; i < dataset->count; i++)
        if (dataset->items[i].has_end && split_side_of(split, &dataset->items[i]) == SPLIT_BEFORE)
            before[kinds[i]] = true;
    for (size_t i = 0; i < dataset->count; i++)
        if (dataset->items[i].has_end && split_side_of(split, &dataset->items[i]) != SPLIT_BEFORE &&
            before[kinds[i]])
            return false;
    return true;
}

/* The moment after the last experiment before the change: those that end later are after it, or
 * overlap. Of equally certain changes the earliest. */
static void find_moment(const struct dataset *dataset, struct account_split *out)
{
    struct candidate tried[SERIES];
    double p[SERIES];
    size_t best = 0;
    AUTO_FREE size_t *order = NULL, *groups = NULL;
    AUTO_FREE size_t *kinds = mem_array(dataset->count + 1, sizeof *kinds);
    AUTO_FREE bool *explained = find_explained(dataset);
    size_t kind_count = audit_group(dataset, &order, &groups);
    for (size_t g = 0; g < kind_count; g++)
        for (size_t i = groups[g]; i < groups[g + 1]; i++)
            kinds[order[i]] = g;
    for (size_t i = 0; i < SERIES; i++) {
        tried[i] = try_series(&all_series[i], dataset, explained, kinds, kind_count);
        p[i] = tried[i].p;
    }
    stats_adjust_holm(p, SERIES);
    for (size_t i = 1; i < SERIES; i++)
        if (p[i] < p[best] || (p[i] <= p[best] && tried[i].at_local_ns < tried[best].at_local_ns))
            best = i;
    out->p = p[best];
    out->found = p[best] < level;
    if (!out->found)
        return;
    out->series = mem_strdup(all_series[best].name);
    /* The change came when the first experiment after it had begun, at the latest. */
    EACH (experiment, dataset->items, dataset->count) {
        if (experiment->has_end && experiment->end_local_ns == tried[best].at_local_ns) {
            out->at_local_ns = begin_ns(experiment);
            break;
        }
    }
    out->new_models = has_new_models(dataset, out, kinds, kind_count);
}

struct account_row split_affected(const struct account_split *split)
{
    struct account_row row = {0};
    for (size_t side = SPLIT_OVERLAPPING; side < SPLIT_SIDES; side++) {
        row.total += split->rows[side].total;
        row.succeeded += split->rows[side].succeeded;
        row.failed += split->rows[side].failed;
    }
    return row;
}

bool split_make(const struct dataset *dataset, const char *at, struct account_split *out,
                struct err *err)
{
    static const char *const names[SPLIT_SIDES] = {"ended before", "overlapping", "started after"};
    *out = (struct account_split){.asked = true, .automatic = strcmp(at, "auto") == 0};
    if (out->automatic)
        find_moment(dataset, out);
    else if (!dataset_parse_time(at, &out->at_local_ns))
        return err_set(err, "'%s' is not a time: write it as 2025-11-25 01:20:48, or auto", at);
    else
        out->found = true;
    for (size_t i = 0; i < SPLIT_SIDES; i++)
        out->rows[i].name = mem_strdup(names[i]);
    for (size_t i = 0; out->found && i < dataset->count; i++)
        if (dataset->items[i].has_end)
            account_count(&out->rows[split_side_of(out, &dataset->items[i])], &dataset->items[i]);
        else
            out->unknown++;
    return true;
}
