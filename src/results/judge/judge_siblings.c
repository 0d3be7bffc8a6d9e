#include "results/judge/judge_siblings.h"
#include "results/judge/identical.h"

#include "base/mem.h"
#include "stats/describe.h"

#include <math.h>
#include <string.h>

/* docs/explanation/appendix-verdicts.md gives the reason for each. */
enum { OTHERS_LEAST = 2, OUTLIERS_SHARE = 5 };
static const double far_share = 0.1, false_share = 0.005, step_explained = 0.5,
                    step_power_share = 0.25, step_power_least_w = 20, step_utilisation_points = 20,
                    step_share = 0.05, ended_share = 0.08, unused_power_share = 0.7;
static const struct reading none = {0};

static bool is_same_model(const struct dataset_experiment *a, const struct dataset_experiment *b)
{
    return strcmp(a->repo, b->repo) == 0 && strcmp(a->model, b->model) == 0;
}

/* One kind's experiments. */
struct kind {
    struct dataset *dataset;
    const struct judge_state *states;
    const size_t *items;
    size_t count;
};

static struct dataset_experiment *member(const struct kind *kind, size_t i)
{
    return &kind->dataset->items[kind->items[i]];
}

/* Experiments whose time, energy and power can be compared directly: what they depend on is the
 * same, as far as it is known. Where nobody knows the GPU, those of one folder alone. */
static char *likeness_of(const struct dataset_experiment *experiment)
{
    const char *gpu = experiment->facts[FACT_GPU_MODEL],
               *limit = experiment->facts[FACT_POWER_LIMIT];
    AUTO_FREE char *params = audit_params_key(experiment, false);
    AUTO_FREE char *background =
        experiment->background_job
            ? json_dumps(experiment->background_job, JSON_SORT_KEYS | JSON_COMPACT)
            : NULL;
    return mem_printf("%s\n%s\n%d\n%s\n%s\n%s\n%zu\n%s", experiment->repo, experiment->model,
                      experiment->parallel,
                      background               ? background
                      : experiment->background ? experiment->background
                                               : "",
                      gpu ? gpu : "", limit ? limit : "", gpu ? 0 : experiment->folder + 1, params);
}

static struct reading duration_of(const struct dataset_experiment *experiment)
{
    return experiment->duration_s;
}

static const struct {
    struct reading (*of)(const struct dataset_experiment *experiment);
    const char *name, *unit;
} figures[] = {
    {dataset_power, "power", "W"}, {dataset_energy, "energy", "J"}, {duration_of, "duration", "s"}};

enum { FIGURES = sizeof figures / sizeof *figures };

/* Of one figure, those of a group that have it. */
struct values {
    double *value;
    struct dataset_experiment **who;
    size_t count;
};

static void take_values(struct dataset_experiment *const *list, const size_t *group, size_t count,
                        size_t figure, struct values *out)
{
    out->count = 0;
    EACH (item, group, count) {
        struct dataset_experiment *experiment = list[*item];
        struct reading value = figures[figure].of(experiment);
        /* A figure that is doubted already is no measure. */
        bool doubted = figures[figure].of == duration_of &&
                       dataset_has_evidence(experiment, "duration_differs");
        if (!value.valid || doubted)
            continue;
        out->value[out->count] = value.value;
        out->who[out->count++] = experiment;
    }
}

/* Of a group: names those that stand out. */
static void tell_outliers(const struct values *values, size_t figure, double alpha)
{
    AUTO_FREE bool *outlier = mem_array(values->count + 1, sizeof *outlier);
    AUTO_FREE double *others = mem_array(values->count + 1, sizeof *others);
    size_t n = 0;
    size_t most = values->count / OUTLIERS_SHARE;
    if (stats_outliers(values->value, values->count, most, alpha / (double)most, outlier) == 0)
        return;
    for (size_t i = 0; i < values->count; i++)
        if (!outlier[i])
            others[n++] = values->value[i];
    double median = stats_median(others, n).value;
    for (size_t i = 0; i < values->count; i++)
        if (outlier[i] && fabs(values->value[i] - median) > far_share * fabs(median))
            dataset_evidence(values->who[i], "outlier",
                             "%s of %.4g %s, where the median of %zu others with the same "
                             "hyperparameters is %.4g %s",
                             figures[figure].name, values->value[i], figures[figure].unit, n,
                             median, figures[figure].unit);
}

/* Calls tell_outliers, or with alpha 0 only counts how often that will be. */
static size_t each_group(struct dataset_experiment *const *list, const size_t *order,
                         const size_t *groups, size_t count, double alpha)
{
    AUTO_FREE double *value = mem_array(groups[count] + 1, sizeof *value);
    AUTO_FREE struct dataset_experiment **who = mem_array(groups[count] + 1, sizeof *who);
    size_t tests = 0;
    for (size_t g = 0; g < count; g++)
        for (size_t figure = 0; figure < FIGURES; figure++) {
            struct values values = {value, who, 0};
            take_values(list, order + groups[g], groups[g + 1] - groups[g], figure, &values);
            tests += values.count >= STATS_OUTLIERS_LEAST;
            if (alpha > 0 && values.count >= STATS_OUTLIERS_LEAST)
                tell_outliers(&values, figure, alpha);
        }
    return tests;
}

static bool is_contaminated(const struct dataset_experiment *experiment)
{
    EACH (item, experiment->evidence, experiment->evidence_count)
        if (evidence_weight(item->kind) == EVIDENCE_CONTAMINATED)
            return true;
    return false;
}

/* Only successes: a training that stopped early is no measure of one that did not; nor is one that
 * something else is known to have taken part in. However many comparisons there are, some clean one
 * is named in one folder of two hundred at most. */
static void judge_outliers(struct dataset *dataset)
{
    AUTO_FREE struct dataset_experiment **list = mem_array(dataset->count + 1, sizeof *list);
    AUTO_FREE char **keys = mem_array(dataset->count + 1, sizeof *keys);
    AUTO_FREE size_t *order = NULL, *groups = NULL;
    size_t count = 0;
    EACH (experiment, dataset->items, dataset->count) {
        if (!experiment->success || is_contaminated(experiment))
            continue;
        keys[count] = likeness_of(experiment);
        list[count++] = experiment;
    }
    count = audit_group_by(keys, count, &order, &groups);
    size_t tests = each_group(list, order, groups, count, 0);
    if (tests > 0)
        each_group(list, order, groups, count, false_share / (double)tests);
}

static bool matters(const struct dataset_step *step, bool power)
{
    double change = fabs(step->after - step->before);
    if (!step->found || step->explained < step_explained)
        return false;
    if (!power)
        return change >= step_utilisation_points;
    return change >= step_power_least_w &&
           change >= step_power_share * fmax(step->before, step->after);
}

static const struct dataset_step *step_of(const struct dataset_experiment *experiment, bool power)
{
    return power ? &experiment->gpu.power_step : &experiment->gpu.utilisation_step;
}

/* A step that goes the same way and at least half as far is one that the training itself makes. */
static bool has_such(const struct dataset_experiment *sibling, const struct dataset_step *step,
                     bool power)
{
    const struct dataset_step *other = step_of(sibling, power);
    double change = step->after - step->before, others = other->after - other->before;
    return other->found && other->explained >= 0.25 && change * others > 0 &&
           fabs(others) >= 0.5 * fabs(change);
}

/* A run of its own recorded its checks when it ran. */
static bool has_own_checks(const struct kind *kind, size_t i)
{
    return kind->dataset->folders[member(kind, i)->folder].layout != DATASET_STUDY;
}

/* Time or energy beyond what its kind lets expect, by three standard deviations and a twentieth. */
static bool took_more(const struct judge_state *state)
{
    const struct stats_prediction *time = &state->like[LIKE_TIME].prediction;
    /* A program beside it does not make it faster: the machine was slower for the others. */
    if (time->valid && time->excess < -fmax(LIMIT_STEP_DEVIATIONS * time->sigma, step_share))
        return false;
    for (int f = 0; f < LIKE_MAIN; f++) {
        const struct stats_prediction *p = &state->like[f].prediction;
        if (p->valid && p->excess > LIMIT_STEP_DEVIATIONS * p->sigma && p->excess > step_share)
            return true;
    }
    return false;
}

static bool judge_step(const struct kind *kind, size_t index, bool power)
{
    struct dataset_experiment *experiment = member(kind, index);
    const struct dataset_step *step = step_of(experiment, power);
    size_t others = 0;
    if (!matters(step, power))
        return false;
    for (size_t i = 0; i < kind->count; i++) {
        if (i == index || member(kind, i)->gpu.samples == 0)
            continue;
        others++;
        if (has_such(member(kind, i), step, power))
            return false;
    }
    if (others < OTHERS_LEAST)
        return false;
    if (!took_more(&kind->states[kind->items[index]]) && !has_own_checks(kind, index)) {
        dataset_check(experiment, CHECK_LIKE_POWER, CHECK_NOT_MADE,
                      "%s went from %.3g to %.3g %s for good %.0f s after the start, in none of "
                      "its %zu siblings; that it "
                      "took more than them is not shown",
                      power ? "power" : "utilisation", step->before, step->after, power ? "W" : "%",
                      fmax(0, step->at_s), others);
        return true;
    }
    dataset_evidence(
        experiment, "load_step",
        "%s went from %.3g to %.3g %s for good %.0f s after the start, in none of its %zu siblings",
        power ? "power" : "utilisation", step->before, step->after, power ? "W" : "%",
        fmax(0, step->at_s), others);
    dataset_evidence_at(experiment, (struct reading){fmax(0, step->at_s), true}, none);
    return true;
}

static double fall_of(const struct dataset_experiment *experiment)
{
    const struct dataset_step *fall = &experiment->gpu.power_fall;
    return fall->found && fall->explained >= LIMIT_ENDED_SHARE / 2 ? fall->before - fall->after : 0;
}

/* The median of what those that are whole have; not valid where one lacks it, which might have had
 * the most. */
static struct reading median_of(const struct kind *kind, size_t folder,
                                struct reading (*of)(const struct dataset_experiment *))
{
    AUTO_FREE double *values = mem_array(kind->count + 1, sizeof *values);
    size_t n = 0;
    for (size_t i = 0; i < kind->count; i++) {
        struct reading value = of(member(kind, i));
        if (member(kind, i)->folder != folder || !member(kind, i)->success)
            continue;
        if (!value.valid || kind->states[kind->items[i]].lacking)
            return none;
        values[n++] = value.value;
    }
    return n ? stats_median(values, n) : none;
}

static struct reading mean_utilisation(const struct dataset_experiment *experiment)
{
    return experiment->gpu.utilisation_mean_percent;
}

/* Of the trainings of a model alone in one folder. */
struct alone_figures {
    size_t folder;
    struct reading power, utilisation;
};

/* Whether time and energy are that much below the kind, most of which kept its power. */
static bool lost_background(const struct kind *kind, size_t index)
{
    const struct judge_figure *like = kind->states[kind->items[index]].like;
    size_t others = 0, kept = 0;
    for (int f = LIKE_TIME; f <= LIKE_GPU_ENERGY; f++) {
        const struct stats_prediction *p = &like[f].prediction;
        if (!p->valid || p->excess > -fmax(LIMIT_STEP_DEVIATIONS * p->sigma, ended_share))
            return false;
    }
    for (size_t i = 0; i < kind->count; i++)
        if (i != index && member(kind, i)->success) {
            others++;
            kept += fall_of(member(kind, i)) < 0.5 * fall_of(member(kind, index));
        }
    return kept > OTHERS_LEAST && 2 * kept > others;
}

/* A background that ended, stood still or never began may do so in all of its kind: no comparison
 * among them shows it, only one with trainings of its model alone. Those lack the power and
 * utilisation that it adds, and do not lose power for good as it ends. */
static void judge_ended(const struct kind *alone, const struct alone_figures *of_alone,
                        const struct kind *kind, size_t index)
{
    struct dataset_experiment *experiment = member(kind, index);
    const struct dataset_step *fall = &experiment->gpu.power_fall;
    struct reading power = of_alone->power, utilisation = of_alone->utilisation;
    if (!power.valid || !utilisation.valid) {
        dataset_check(experiment, CHECK_BACKGROUND_LOAD, CHECK_NOT_MADE,
                      "no trainings of its model alone show what its background adds: one that "
                      "ended does so in all of its kind");
        return;
    }
    /* On a GPU that was never busy judge_background compares time and CPU energy. */
    struct reading most = experiment->gpu.utilisation_max_percent;
    if (most.valid && most.value < LIMIT_BUSY_PERCENT)
        return;
    if (dataset_power(experiment).value <= (1 + LIMIT_SHOWN) * power.value &&
        mean_utilisation(experiment).value <= (1 + LIMIT_SHOWN) * utilisation.value)
        dataset_check(experiment, CHECK_BACKGROUND_LOAD, CHECK_NOT_MADE,
                      "%.4g W on average, where trainings of its model alone draw %.4g W: its "
                      "background adds nothing that shows",
                      dataset_power(experiment).value, power.value);
    if (fall_of(experiment) < LIMIT_ENDED * fall->before || fall->explained < LIMIT_ENDED_SHARE)
        return;
    for (size_t i = 0; i < alone->count; i++)
        if (fall_of(member(alone, i)) >= 0.5 * fall_of(experiment))
            return;
    static const char format[] = "power fell from %.3g to %.3g W for good %.0f s after the start, "
                                 "as no training of its model alone does: its background %s";
    bool lost = lost_background(kind, index);
    dataset_check(experiment, CHECK_BACKGROUND_LOAD, lost ? CHECK_FAILED : CHECK_NOT_MADE, format,
                  fall->before, fall->after, fmax(0, fall->at_s),
                  lost ? "ended" : "may have ended");
    if (!lost)
        return;
    dataset_evidence(experiment, "background_stopped_early", format, fall->before, fall->after,
                     fmax(0, fall->at_s),
                     "ended or stalled, as time and energy are far below its siblings'");
    dataset_evidence_at(experiment, (struct reading){fmax(0, fall->at_s), true}, none);
}

static void judge_backgrounds(const struct kind *alone, const struct kind *kind)
{
    struct alone_figures of_alone = {.folder = SIZE_MAX};
    for (size_t i = 0; i < kind->count; i++) {
        size_t folder = member(kind, i)->folder;
        if (!member(kind, i)->parallel || has_own_checks(kind, i))
            continue;
        if (folder != of_alone.folder)
            of_alone = (struct alone_figures){folder, median_of(alone, folder, dataset_power),
                                              median_of(alone, folder, mean_utilisation)};
        judge_ended(alone, &of_alone, kind, i);
    }
}

/* A result that more than half of the successful siblings have. */
static void judge_lacking(const struct kind *kind, const char *metric)
{
    size_t successes = 0, with = 0;
    for (size_t i = 0; i < kind->count; i++) {
        successes += member(kind, i)->success;
        with += member(kind, i)->success && dataset_metric(member(kind, i), metric).valid;
    }
    if (with == successes || with * 2 <= successes)
        return;
    for (size_t i = 0; i < kind->count; i++)
        if (member(kind, i)->success && !dataset_metric(member(kind, i), metric).valid) {
            dataset_evidence(member(kind, i), "value_missing",
                             "it succeeded without %s, which %zu of %zu siblings have", metric,
                             with, successes);
            dataset_evidence_touches(member(kind, i), 1u << QUANTITY_METRIC);
        }
}

/* Shares and percentages, by their usual names. */
static bool is_bounded(const char *name)
{
    static const char *const words[] = {"acc",  "precision", "recall", "f1", "map",
                                        "rank", "auc",       "mrr",    "iou"};
    EACH_OF (word, words)
        if (strcasestr(name, *word))
            return true;
    return false;
}

/* A metric outside of what it can be, by its name and by its siblings' scale. */
static void judge_range(const struct kind *kind, const char *metric)
{
    AUTO_FREE double *values = mem_array(kind->count + 1, sizeof *values);
    size_t n = 0;
    for (size_t i = 0; i < kind->count; i++) {
        struct reading value = dataset_metric(member(kind, i), metric);
        if (value.valid && isfinite(value.value))
            values[n++] = value.value;
    }
    double median = n ? stats_median(values, n).value : 0;
    bool bounded = is_bounded(metric), loss = strcasestr(metric, "loss") && median >= 0;
    for (size_t i = 0; i < kind->count; i++) {
        struct reading value = dataset_metric(member(kind, i), metric);
        double most = bounded ? n >= OTHERS_LEAST + 1 && fabs(median) <= 1 ? 1 : 100 : INFINITY;
        if (!value.valid || has_own_checks(kind, i))
            continue;
        if (!isfinite(value.value)) {
            dataset_check(member(kind, i), CHECK_METRIC_PLAUSIBLE, CHECK_NOT_MADE,
                          "%s is %f: it diverged, or was not measured", metric, value.value);
        } else if (value.value > most || ((bounded || loss) && value.value < 0)) {
            dataset_evidence(member(kind, i), "value_impossible", "perf_%s is %g, which %s", metric,
                             value.value,
                             most == 1 && value.value <= 100 && value.value >= 0
                                 ? "is over 1, where its siblings' are shares"
                                 : "it cannot be");
            dataset_evidence_touches(member(kind, i), 1u << QUANTITY_METRIC);
            dataset_check(member(kind, i), CHECK_METRIC_PLAUSIBLE, CHECK_FAILED, "%s is %g", metric,
                          value.value);
        } else {
            dataset_check(member(kind, i), CHECK_METRIC_PLAUSIBLE, CHECK_PASSED, "%s is %g", metric,
                          value.value);
        }
    }
}

static void judge_metrics(const struct kind *kind)
{
    AUTO_STRV struct strv names = {0};
    for (size_t i = 0; i < kind->count; i++)
        for (size_t m = 0; m < member(kind, i)->metric_count; m++)
            strv_add_once(&names, member(kind, i)->metrics[m].name);
    EACH (item, names.items, names.count) {
        judge_lacking(kind, *item);
        judge_range(kind, *item);
    }
    bool any = false;
    for (size_t i = 0; i < kind->count; i++)
        any |= dataset_has_metric(member(kind, i));
    for (size_t i = 0; i < kind->count; i++)
        if (!dataset_has_metric(member(kind, i)) && !has_own_checks(kind, i))
            dataset_check(member(kind, i), CHECK_METRIC_PLAUSIBLE,
                          any ? CHECK_NOT_MADE : CHECK_NOT_NEEDED, "%s",
                          any ? "it has no metric, and others of its model have"
                              : "no training of this model has a metric");
}

/* A GPU that its siblings use, and that did nothing. Those whose utilisation is not there may have
 * used it. */
static void judge_use(const struct kind *kind)
{
    size_t using = 0, unknown = 0;
    for (size_t i = 0; i < kind->count; i++) {
        struct reading most = member(kind, i)->gpu.utilisation_max_percent;
        using += most.valid && !kind->states[kind->items[i]].busy &&
                 most.value >= step_utilisation_points;
        unknown += !most.valid;
    }
    /* What the others draw under load: one that draws as much was not idle, whatever its
     * utilisation says. */
    AUTO_FREE double *powers = mem_array(kind->count + 1, sizeof *powers);
    size_t n = 0;
    for (size_t i = 0; i < kind->count; i++) {
        struct reading most = member(kind, i)->gpu.utilisation_max_percent,
                       power = dataset_power(member(kind, i));
        if (most.valid && most.value >= step_utilisation_points && power.valid)
            powers[n++] = power.value;
    }
    struct reading usual = n ? stats_median(powers, n) : none;
    for (size_t i = 0; i < kind->count; i++) {
        struct reading most = member(kind, i)->gpu.utilisation_max_percent;
        if (!most.valid || most.value >= LIMIT_BUSY_PERCENT || !member(kind, i)->success ||
            (using + unknown) * 4 < kind->count * 3)
            continue;
        struct reading power = dataset_power(member(kind, i));
        if (usual.valid && power.valid && power.value >= unused_power_share * usual.value) {
            if (!has_own_checks(kind, i))
                dataset_check(member(kind, i), CHECK_DATA, CHECK_NOT_MADE,
                              "it was never more than %g %% busy, but drew %.4g W, where its "
                              "siblings drew %.4g W",
                              most.value, power.value, usual.value);
            continue;
        }
        if (using * 4 >= kind->count * 3)
            dataset_evidence(
                member(kind, i), "gpu_unused",
                "it was never more than %g %% busy, where %zu of its %zu siblings used it",
                most.value, using, kind->count);
        else if (!has_own_checks(kind, i))
            dataset_check(member(kind, i), CHECK_DATA, CHECK_NOT_MADE,
                          "it was never more than %g %% busy, and whether its siblings were is not "
                          "known of %zu of %zu",
                          most.value, unknown, kind->count);
    }
}

void judge_siblings(struct dataset *dataset, const struct judge_state *states)
{
    AUTO_FREE size_t *order = NULL, *groups = NULL;
    size_t count = audit_group(dataset, &order, &groups);
    struct kind alone = {0};
    for (size_t g = 0; g < count; g++) {
        struct kind kind = {dataset, states, order + groups[g], groups[g + 1] - groups[g]};
        for (size_t i = 0; i < kind.count; i++)
            if (!judge_step(&kind, i, true))
                judge_step(&kind, i, false);
        if (!member(&kind, 0)->parallel)
            alone = kind;
        else if (alone.count && !is_same_model(member(&alone, 0), member(&kind, 0)))
            alone.count = 0;
        judge_backgrounds(&alone, &kind);
        judge_use(&kind);
        judge_metrics(&kind);
    }
    judge_outliers(dataset);
}
