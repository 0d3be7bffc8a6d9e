#include "results/judge/consistency_values.h"
#include "results/judge/identical.h"

#include "base/mem.h"
#include "base/text.h"
#include "base/value.h"
#include "results/judge/dataset.h"
#include "results/judge/judge_private.h"
#include "stats/describe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void consistency_find_repeated_rows(struct dataset *dataset)
{
    EACH (experiment, dataset->items, dataset->count) {
        const struct trace_sketch *power = experiment->trace ? &experiment->trace->power : NULL;
        enum check_outcome *outcome = &experiment->consistency[CONSISTENCY_ROWS];
        *outcome = consistency_of_samples(dataset, experiment, power && power->samples);
        if (!power || !trace_sketch_repeats_rows(power))
            continue;
        *outcome = CHECK_FAILED;
        dataset_evidence(experiment, "repeated_rows",
                         "%zu rows of energy/gpu_power.csv have %zu different times: rows are "
                         "there more than once, so their sum, %.6g J, is too high",
                         power->samples, power->stamps, experiment->gpu.samples_sum_j.value);
    }
}

/* ---- Sensors that do not change. */

enum { STILL_SAMPLES = 20, STILL_ALONE = 60, OTHERS_LEAST = 2, STEPS_LEAST = 10 };
static const double still_times = 4, still_share = 0.5;

/* Its longest time without a change under load; NULL: none. peak_w: of the folder. */
static const struct dataset_still *longest_still(const struct dataset_experiment *experiment,
                                                 double peak_w)
{
    const struct dataset_still *longest = NULL;
    for (size_t i = 0; i < experiment->trace->still_count; i++) {
        const struct dataset_still *still = &experiment->trace->still[i];
        bool loaded = still->utilisation_percent >= LIMIT_BUSY_PERCENT ||
                      still->power_w >= LIMIT_REST * peak_w;
        if (loaded && (!longest || still->samples > longest->samples))
            longest = still;
    }
    return longest;
}

/* Which share of the other samples repeats the one before. */
static double repeating_share(const struct dataset_experiment *experiment,
                              const struct dataset_still *still)
{
    const struct trace_sketch *power = &experiment->trace->power;
    double steps = (double)power->samples - (double)still->samples;
    double equal = (double)power->samples - (double)power->changes - (double)still->samples;
    return steps < STEPS_LEAST ? 0 : equal / steps;
}

/* Whether its trace repeats itself at other times too. Where others show how long is usual, equal
 * powers alone are the steps of a coarse sensor: a second long span has to show it. */
static bool repeats_itself(const struct dataset_experiment *experiment,
                           const struct dataset_still *longest, bool has_others)
{
    bool has_second = !has_others;
    EACH (still, experiment->trace->still, experiment->trace->still_count)
        has_second |=
            still != longest && still_times * (double)still->samples > (double)longest->samples;
    return has_second && repeating_share(experiment, longest) > still_share;
}

static void find_frozen(struct dataset *dataset, size_t *items, size_t count, double peak_w)
{
    AUTO_FREE double *lengths = mem_array(count + 1, sizeof *lengths);
    for (size_t i = 0; i < count; i++) {
        const struct dataset_still *still = longest_still(&dataset->items[items[i]], peak_w);
        lengths[i] = still ? (double)still->samples : 0;
    }
    double usual = count > OTHERS_LEAST ? stats_median(lengths, count).value : 0;
    double limit = count > OTHERS_LEAST ? fmax(STILL_SAMPLES, still_times * usual) : STILL_ALONE;
    EACH (item, items, count) {
        struct dataset_experiment *experiment = &dataset->items[*item];
        const struct dataset_still *still = longest_still(experiment, peak_w);
        if (!still || (double)still->samples < limit ||
            repeats_itself(experiment, still, count > OTHERS_LEAST))
            continue;
        experiment->consistency[CONSISTENCY_SENSOR] = CHECK_FAILED;
        dataset_evidence(experiment, "sensor_frozen",
                         "power (%.6g W), utilisation (%.3g %%) and temperature did not change in "
                         "%zu of %zu samples, %.0f s after the first",
                         still->power_w, still->utilisation_percent, still->samples,
                         experiment->trace->power.samples, still->at_s);
    }
}

void consistency_find_frozen(struct dataset *dataset)
{
    AUTO_FREE size_t *items = mem_array(dataset->count + 1, sizeof *items);
    for (size_t f = 0; f < dataset->folder_count; f++) {
        double peak_w = 0;
        size_t n = 0;
        for (size_t i = 0; i < dataset->count; i++) {
            struct dataset_experiment *experiment = &dataset->items[i];
            if (experiment->folder != f)
                continue;
            bool known = experiment->trace && experiment->trace->has_all;
            experiment->consistency[CONSISTENCY_SENSOR] =
                consistency_of_samples(dataset, experiment, known);
            if (known)
                items[n++] = i;
            if (known && experiment->gpu.power_max_w.valid)
                peak_w = fmax(peak_w, experiment->gpu.power_max_w.value);
        }
        find_frozen(dataset, items, n, peak_w);
    }
}

/* ---- Equal metrics. */

/* So many bits are not equal by chance: those of a share k/N, or of a number with few decimals,
 * are. */
enum { BITS_STEPS = 40, BITS_OF_DOUBLE = 53 };
static const double bits_least = 40, denominator_most = 1e6;

/* How many bits a number carries: of a fraction k/N those of N, by its continued fraction; else
 * those of a double. Any double is near a fraction with a denominator of 26 bits. */
static double bits_of(double value)
{
    double rest = fabs(value), before = 0, denominator = 1;
    if (!isfinite(value) || rest <= 0)
        return 0;
    for (int i = 0; i < BITS_STEPS && denominator < denominator_most; i++) {
        double whole = floor(rest);
        if (fabs(fabs(value) * denominator - nearbyint(fabs(value) * denominator)) <=
            denominator * fabs(value) * 2.5e-16)
            return log2(denominator);
        rest = 1 / (rest - whole);
        double next = floor(rest) * denominator + before;
        before = denominator;
        denominator = next;
    }
    return BITS_OF_DOUBLE;
}

static const struct value *seed_of(const struct dataset_experiment *experiment)
{
    EACH (param, experiment->params, experiment->param_count)
        if (audit_is_seed(param->name) && param->value.kind != VALUE_NULL)
            return &param->value;
    EACH (blank, experiment->defaults, experiment->default_count)
        if (audit_is_seed(blank->name))
            return &blank->value;
    return NULL;
}

static bool has_other_seed(const struct dataset_experiment *a, const struct dataset_experiment *b)
{
    const struct value *one = seed_of(a), *other = seed_of(b);
    AUTO_FREE char *left = one ? value_key(one) : NULL, *right = other ? value_key(other) : NULL;
    return left && right && strcmp(left, right) != 0;
}

static bool has_same_settings(const struct dataset_experiment *a,
                              const struct dataset_experiment *b)
{
    AUTO_FREE char *left = audit_params_key(a, false), *right = audit_params_key(b, false);
    return strcmp(left, right) == 0;
}

/* All its metrics in every digit; NULL: they carry too little to recognise them by. */
static char *metrics_key(const struct dataset_experiment *experiment)
{
    AUTO_TEXT struct text key = {0};
    double bits = 0;
    text_addf(&key, "%s\n%s", experiment->repo, experiment->model);
    EACH (metric, experiment->metrics, experiment->metric_count)
        if (metric->value.valid) {
            text_addf(&key, "\n%s %.17g", metric->name, metric->value.value);
            bits += bits_of(metric->value.value);
        }
    return bits >= bits_least ? text_take(&key) : NULL;
}

static bool has_equal_metrics(const struct dataset_experiment *a,
                              const struct dataset_experiment *b)
{
    EACH (metric, a->metrics, a->metric_count) {
        struct reading other = dataset_metric(b, metric->name);
        if (metric->value.valid && other.valid && fabs(metric->value.value - other.value) > 0)
            return false;
    }
    return true;
}

/* Whether two trainings of this model differ in their metrics and in nothing else but the seed. */
static bool seed_matters(const struct dataset *dataset, const struct dataset_experiment *first)
{
    AUTO_FREE char **keys = mem_array(dataset->count + 1, sizeof *keys);
    AUTO_FREE size_t *of = mem_array(dataset->count + 1, sizeof *of), *order = NULL, *groups = NULL;
    bool differ = false;
    size_t n = 0;
    for (size_t i = 0; i < dataset->count; i++) {
        const struct dataset_experiment *experiment = &dataset->items[i];
        if (strcmp(experiment->repo, first->repo) != 0 ||
            strcmp(experiment->model, first->model) != 0 || !dataset_has_metric(experiment))
            continue;
        keys[n] = audit_params_key(experiment, false);
        of[n++] = i;
    }
    size_t settings = audit_group_by(keys, n, &order, &groups);
    for (size_t g = 0; g < settings; g++) {
        const struct dataset_experiment *one = &dataset->items[of[order[groups[g]]]];
        for (size_t i = groups[g] + 1; i < groups[g + 1]; i++) {
            const struct dataset_experiment *other = &dataset->items[of[order[i]]];
            differ |= has_other_seed(one, other) && !has_equal_metrics(one, other);
        }
    }
    return differ;
}

static size_t count_metrics(const struct dataset_experiment *experiment)
{
    size_t count = 0;
    EACH (metric, experiment->metrics, experiment->metric_count)
        count += metric->value.valid;
    return count;
}

/* Those of one model that have all metrics in common. */
static void judge_equal(struct dataset *dataset, const size_t *items, size_t count)
{
    bool matters = seed_matters(dataset, &dataset->items[items[0]]);
    for (size_t i = 0; i < count; i++) {
        struct dataset_experiment *experiment = &dataset->items[items[i]];
        const struct dataset_experiment *other = NULL;
        for (size_t k = 0; !other && k < count; k++)
            if (has_other_seed(experiment, &dataset->items[items[k]]))
                other = &dataset->items[items[k]];
        if (!other || experiment->is_copy || other->is_copy)
            continue;
        bool same_trace = dataset_has_evidence(experiment, "copied_trace") ||
                          dataset_has_evidence(other, "copied_trace");
        /* Scripts that ignore their seed are common. Where no training shows that the seed matters,
         * two alone that have several metrics in common, or other settings, may be copies; a run of
         * this program has its logs. */
        bool study = dataset->folders[experiment->folder].layout == DATASET_STUDY;
        bool unlikely = study && count == 2 &&
                        (count_metrics(experiment) > 1 || !has_same_settings(experiment, other));
        bool copied = same_trace || matters || unlikely;
        dataset_evidence(experiment, copied ? "metrics_copied" : "seed_without_effect",
                         "its metrics equal those of %.200s, with another seed, in every digit",
                         other->id);
        if (copied)
            experiment->consistency[CONSISTENCY_METRICS] = CHECK_FAILED;
    }
}

void consistency_find_equal_metrics(struct dataset *dataset)
{
    AUTO_FREE char **keys = mem_array(dataset->count + 1, sizeof *keys);
    AUTO_FREE size_t *items = mem_array(dataset->count + 1, sizeof *items);
    AUTO_FREE size_t *order = NULL, *groups = NULL;
    size_t n = 0;
    for (size_t i = 0; i < dataset->count; i++) {
        const struct dataset_experiment *experiment = &dataset->items[i];
        dataset->items[i].consistency[CONSISTENCY_METRICS] =
            dataset_has_metric(experiment) ? CHECK_PASSED : CHECK_NOT_NEEDED;
        if (experiment->success && seed_of(experiment) && (keys[n] = metrics_key(experiment)))
            items[n++] = i;
    }
    size_t count = audit_group_by(keys, n, &order, &groups);
    AUTO_FREE size_t *equal = mem_array(n + 1, sizeof *equal);
    for (size_t g = 0; g < count; g++) {
        size_t size = groups[g + 1] - groups[g];
        for (size_t i = 0; i < size; i++)
            equal[i] = items[order[groups[g] + i]];
        if (size > 1)
            judge_equal(dataset, equal, size);
    }
}
