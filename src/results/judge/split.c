#include "results/judge/judge.h"

#include "base/clock.h"
#include "base/mem.h"
#include "stats/describe.h"

#include <math.h>
#include <string.h>

/* A change needs as many experiments on either side; the seed makes the same data give the same answer. */
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
    return (left->index > right->index) - (left->index < right->index);
}

/* Success as 1 and 0. */
static size_t take_success(const struct dataset *dataset, struct moment *out)
{
    size_t n = 0;
    for (size_t i = 0; i < dataset->count; i++)
        if (dataset->items[i].has_end && dataset->items[i].has_success)
            out[n++] = (struct moment){dataset->items[i].end_local_ns, i, dataset->items[i].success};
    return n;
}

/* The logarithm of power over the median of its kind, so that what ran when does not matter; kinds of one say
 * nothing. */
static size_t take_power(const struct dataset *dataset, struct moment *out)
{
    AUTO_FREE size_t *order = NULL;
    AUTO_FREE size_t *groups = NULL;
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

struct candidate {
    const char *series;
    struct stats_change change;
    int64_t at_local_ns;
};

static struct candidate try_series(const char *series, struct moment *moments, size_t n, const size_t *kinds,
                                   size_t kind_count)
{
    struct rng rng;
    struct candidate out = {.series = series, .change.p = 1};
    AUTO_FREE double *values = mem_array(n + 1, sizeof *values);
    if (n < (size_t)2 * SIDE_LEAST)
        return out;
    qsort(moments, n, sizeof *moments, compare_moments);
    AUTO_FREE size_t *kinds_of = mem_array(n + 1, sizeof *kinds_of);
    for (size_t i = 0; i < n; i++) {
        values[i] = moments[i].value;
        kinds_of[i] = kinds[moments[i].index];
    }
    rng_seed_named(&rng, SEED, series);
    out.change = stats_change_point(values, kinds_of, kind_count, n, SIDE_LEAST, &rng);
    out.at_local_ns = moments[out.change.first].end_local_ns;
    return out;
}

static int64_t begin_ns(const struct dataset_experiment *experiment)
{
    double duration_s = experiment->duration_s.valid ? experiment->duration_s.value : 0;
    return experiment->end_local_ns - (int64_t)(duration_s * (double)NS_PER_S);
}

/* The moment behind the last experiment before the change: those that end later are behind it, or overlap. */
static void find_moment(const struct dataset *dataset, struct account_split *out)
{
    AUTO_FREE struct moment *moments = mem_array(dataset->count + 1, sizeof *moments);
    struct candidate tried[2];
    double p[2];
    AUTO_FREE size_t *order = NULL;
    AUTO_FREE size_t *groups = NULL;
    AUTO_FREE size_t *kinds = mem_array(dataset->count + 1, sizeof *kinds);
    size_t kind_count = audit_group(dataset, &order, &groups);
    for (size_t g = 0; g < kind_count; g++)
        for (size_t i = groups[g]; i < groups[g + 1]; i++)
            kinds[order[i]] = g;
    tried[0] = try_series("success", moments, take_success(dataset, moments), kinds, kind_count);
    tried[1] = try_series("power", moments, take_power(dataset, moments), kinds, kind_count);
    for (size_t i = 0; i < 2; i++)
        p[i] = tried[i].change.p;
    stats_adjust_holm(p, 2);
    size_t best = p[1] < p[0];
    out->p = p[best];
    out->found = tried[best].change.found && p[best] < level;
    if (!out->found)
        return;
    out->series = mem_strdup(tried[best].series);
    /* The change came when the first experiment behind it had begun, at the latest. */
    for (size_t i = 0; i < dataset->count; i++) {
        const struct dataset_experiment *experiment = &dataset->items[i];
        if (experiment->has_end && experiment->end_local_ns == tried[best].at_local_ns) {
            out->at_local_ns = begin_ns(experiment);
            return;
        }
    }
}

static size_t side_of(const struct dataset_experiment *experiment, int64_t at_local_ns)
{
    return experiment->end_local_ns < at_local_ns ? 0 : begin_ns(experiment) >= at_local_ns ? 2 : 1;
}

bool split_make(const struct dataset *dataset, const char *at, struct account_split *out, struct err *err)
{
    static const char *const names[] = {"ended before", "overlapping", "started after"};
    *out = (struct account_split){.asked = true, .automatic = strcmp(at, "auto") == 0};
    if (out->automatic)
        find_moment(dataset, out);
    else if (!dataset_parse_time(at, &out->at_local_ns))
        return err_set(err, "'%s' is no time: write it as 2025-11-25 01:20:48, or auto", at);
    else
        out->found = true;
    for (size_t i = 0; i < 3; i++)
        out->rows[i].name = mem_strdup(names[i]);
    for (size_t i = 0; out->found && i < dataset->count; i++)
        if (dataset->items[i].has_end)
            account_count(&out->rows[side_of(&dataset->items[i], out->at_local_ns)], &dataset->items[i]);
        else
            out->unknown++;
    return true;
}
