#include "results/judge/judge_idle.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/value.h"
#include "stats/describe.h"

#include <math.h>

enum { COOLER_ONE_IN = 20, PACE_LEAST = 30 };
static const double woken_slower = 1.25;

/* The experiments of one folder in the order in which they began. */
struct place {
    int64_t begin_ns;
    size_t index;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *left = a, *right = b;
    if (left->begin_ns != right->begin_ns)
        return left->begin_ns > right->begin_ns ? 1 : -1;
    return ORDER(left->index, right->index);
}

/* What the GPU draws at rest, and what it draws as most experiments begin on it: its clocks may be
 * up before a program uses it. Not finite: not known. */
struct levels {
    double rest_w, start_w;
    double peak_w;    /* the most that it drew */
    double coolest_c; /* start, but for one in twenty */
    bool all;         /* no trace of power is missing: one that is might have shown a lower rest */
    bool woken;       /* the monitor's own query wakes the idle GPU */
    bool all_c;       /* few enough temperatures are missing */
};

static bool starts_idle(const struct dataset_experiment *experiment)
{
    const struct dataset_gpu *gpu = &experiment->gpu;
    return gpu->early_power_w.valid && gpu->early_utilisation_percent.valid &&
           gpu->early_utilisation_percent.value < LIMIT_BUSY_PERCENT;
}

static int compare_doubles(const void *a, const void *b)
{
    return ORDER(*(const double *)a, *(const double *)b);
}

/* One in twenty of the starts may have been cooler than this: the first of a morning. One that is
 * missing counts as cooler, so a missing file raises the limit for no other experiment. Not finite:
 * more than one in twenty are missing. */
static double coolest_start(const struct dataset *dataset, const struct place *places, size_t count)
{
    AUTO_FREE double *starts = mem_array(count + 1, sizeof *starts);
    size_t n = 0;
    EACH (item, places, count) {
        struct reading start = dataset->items[item->index].gpu.temperature_start_c;
        if (start.valid)
            starts[n++] = start.value;
    }
    size_t missing = count - n, cooler = count / COOLER_ONE_IN;
    if (n == 0 || missing > cooler)
        return NAN;
    qsort(starts, n, sizeof *starts, compare_doubles);
    return starts[cooler - missing];
}

static struct levels learn(const struct dataset *dataset, const struct place *places, size_t count)
{
    AUTO_FREE double *starts = mem_array(count + 1, sizeof *starts);
    struct levels out = {.rest_w = INFINITY,
                         .start_w = NAN,
                         .coolest_c = coolest_start(dataset, places, count),
                         .all = true};
    size_t n = 0;
    EACH (item, places, count) {
        const struct dataset_experiment *experiment = &dataset->items[item->index];
        if (experiment->gpu.low_power_w.valid)
            out.rest_w = fmin(out.rest_w, experiment->gpu.low_power_w.value);
        else if (!experiment->gpu.samples)
            out.all = false;
        if (experiment->gpu.power_max_w.valid)
            out.peak_w = fmax(out.peak_w, experiment->gpu.power_max_w.value);
        /* One whose start was not recorded counts as the lowest: what is not there must not raise
         * what is taken for idle. */
        bool recorded =
            experiment->gpu.early_power_w.valid && experiment->gpu.early_utilisation_percent.valid;
        if (!recorded || starts_idle(experiment))
            starts[n++] = recorded ? experiment->gpu.early_power_w.value : 0;
    }
    out.all_c = isfinite(out.coolest_c);
    if (n)
        out.start_w = stats_median(starts, n).value;
    /* Not a number is neither above nor below anything. */
    if (!isfinite(out.rest_w)) {
        out.rest_w = NAN;
        out.all = false;
    }
    return out;
}

/* How long the next sample takes at some powers. */
struct pace {
    double count, seconds;
};

static double interval_of(const struct pace *pace)
{
    return pace->count > 0 ? pace->seconds / pace->count : 0;
}

/* On a GPU without a client, and without persistence mode, each query loads the driver: it wakes
 * the GPU and takes longer. A program that holds the GPU keeps the driver loaded. */
static void judge_monitor(struct dataset *dataset, size_t folder, const struct place *places,
                          size_t count, struct levels *levels)
{
    struct pace awake = {0}, rest = {0};
    double low_w = (1 - LIMIT_ALIKE) * levels->start_w,
           high_w = (1 + LIMIT_ALIKE) * levels->start_w;
    double rest_w = levels->rest_w + LIMIT_SCREEN_W;
    if (!(low_w > rest_w))
        return;
    EACH (item, places, count) {
        const struct dataset_trace *trace = dataset->items[item->index].trace;
        if (!trace || dataset->items[item->index].parallel)
            continue;
        trace_intervals_sum(&trace->intervals, low_w, high_w, &awake.count, &awake.seconds);
        trace_intervals_sum(&trace->intervals, 0, rest_w, &rest.count, &rest.seconds);
    }
    levels->woken = awake.count >= PACE_LEAST && rest.count >= PACE_LEAST &&
                    interval_of(&awake) >= woken_slower * interval_of(&rest);
    if (levels->woken)
        dataset_problem(
            dataset, folder,
            "its monitor wakes the idle GPU: samples at %.3g to %.3g W come every %.3g s, "
            "those below %.3g W every %.3g s, as each query loads the driver "
            "(persistence mode off); this energy is not another program's",
            low_w, high_w, interval_of(&awake), rest_w, interval_of(&rest));
}

static bool is_near_rest(double power_w, const struct levels *levels)
{
    return power_w <= (1 + LIMIT_ABOVE_IDLE) * levels->rest_w ||
           power_w <= (1 + LIMIT_ABOVE_IDLE) * levels->start_w;
}

static void judge_start(struct dataset_experiment *experiment, struct judge_state *state,
                        const struct levels *levels)
{
    const struct dataset_gpu *gpu = &experiment->gpu;
    struct reading early = gpu->early_utilisation_percent, power = gpu->early_power_w;
    if (!early.valid || !power.valid) {
        dataset_check(experiment, CHECK_IDLE_BEFORE, CHECK_NOT_MADE,
                      "no %s of its first two seconds was recorded",
                      power.valid ? "utilisation" : "power");
        state->unseen = !experiment->parallel;
        return;
    }
    state->at_rest = early.value < LIMIT_BUSY_PERCENT && is_near_rest(power.value, levels);
    if (early.value >= LIMIT_BUSY_PERCENT) {
        if (experiment->parallel) {
            dataset_check(
                experiment, CHECK_IDLE_BEFORE, CHECK_NOT_NEEDED,
                "%.3g %% busy in the first two seconds: its background training may have begun",
                early.value);
            return;
        }
        /* A driver that is loaded for each reading says "busy" of a GPU that rests: no load adds so
         * little to what others began at. */
        bool little = early.value < LIMIT_WORKING_PERCENT,
             rests = (little && (is_near_rest(power.value, levels) ||
                                 power.value <= levels->rest_w + LIMIT_SCREEN_W)) ||
                     power.value <= levels->start_w + LIMIT_SCREEN_W;
        state->busy = !rests;
        if (little || rests) {
            dataset_check(experiment, CHECK_IDLE_BEFORE, CHECK_NOT_MADE,
                          "%.3g %% busy at %.4g W in the first two seconds: a screen, a driver "
                          "that was being loaded, or a "
                          "program that computes little",
                          early.value, power.value);
            return;
        }
        dataset_check(experiment, CHECK_IDLE_BEFORE, CHECK_FAILED,
                      "%.3g %% busy at %.4g W in the first two seconds", early.value, power.value);
        AUTO_FREE char *rest =
            isfinite(levels->rest_w)
                ? mem_printf("at rest it draws %.4g W in this folder", levels->rest_w)
                : mem_strdup("its power at rest is not known in this folder");
        dataset_evidence(experiment, "gpu_busy_before",
                         "the GPU was %.3g %% busy at %.4g W in the first two seconds, before a "
                         "training can have "
                         "begun to use it; %s",
                         early.value, power.value, rest);
        dataset_evidence_at(experiment, (struct reading){0, true}, (struct reading){2, true});
        return;
    }
    state->fell =
        !experiment->parallel && gpu->first_power_w.value > (1 + LIMIT_FALL) * power.value;
    if (state->fell) {
        dataset_check(experiment, CHECK_IDLE_BEFORE, CHECK_NOT_MADE,
                      "power fell from %.4g to %.4g W in the first two seconds: something had just "
                      "worked on the GPU",
                      gpu->first_power_w.value, power.value);
        return;
    }
    bool rests = levels->all && power.value <= (1 + LIMIT_ABOVE_IDLE) * levels->rest_w;
    if (rests || power.value <= (1 + LIMIT_ABOVE_IDLE) * levels->start_w)
        dataset_check(experiment, CHECK_IDLE_BEFORE, CHECK_PASSED,
                      "%.3g %% busy at %.4g W in the first two seconds, %s %.4g W", early.value,
                      power.value, rests ? "where the GPU rests at" : "where most begin at",
                      rests ? levels->rest_w : levels->start_w);
    else
        dataset_check(experiment, CHECK_IDLE_BEFORE, CHECK_NOT_MADE,
                      "%.4g W in the first two seconds, where most begin at %.4g W: something may "
                      "have held the GPU",
                      power.value, levels->start_w);
}

/* A program beside all of the folder that holds the GPU raises the power at which it seems to rest,
 * and no comparison shows it: so the lowest power must be what GPUs rest at, and little of the
 * energy hang on a start above it. */
static void judge_rest(struct dataset_experiment *experiment, const struct levels *levels)
{
    const struct dataset_gpu *gpu = &experiment->gpu;
    double rest_w = levels->all ? levels->rest_w : 0;
    if (!isfinite(levels->rest_w) && gpu->samples > 0)
        dataset_check(experiment, CHECK_IDLE_BEFORE, CHECK_NOT_MADE,
                      "the power at rest is not known: it takes samples in three seconds in a row, "
                      "and no trace of the "
                      "folder has them");
    else if (levels->rest_w > LIMIT_REST * levels->peak_w)
        dataset_check(experiment, CHECK_IDLE_BEFORE, CHECK_NOT_MADE,
                      "the lowest power of the folder, %.4g W, is %.3g %% of the highest: another "
                      "program may have "
                      "held the GPU all the time",
                      levels->rest_w, 100 * levels->rest_w / levels->peak_w);
    if (!experiment->success || !gpu->early_power_w.valid || !gpu->idle_share.valid ||
        !gpu->power_mean_w.valid || gpu->power_mean_w.value <= 0)
        return;
    if (levels->woken && gpu->early_power_w.value <= (1 + LIMIT_ALIKE) * levels->start_w)
        return;
    double above = gpu->idle_share.value * fmax(0, gpu->early_power_w.value - rest_w) /
                   gpu->power_mean_w.value;
    if (above > LIMIT_UNCERTAIN)
        dataset_check(experiment, CHECK_LIKE_ENERGY, CHECK_NOT_MADE,
                      "it began at %.4g W, where the GPU rests at %.4g W: %.10g %% of its energy "
                      "may be another "
                      "program's that holds the GPU",
                      gpu->early_power_w.value, rest_w, number_round(100 * fmin(1, above), 2));
}

/* Heat: a GPU that is warmer draws more and may lower its clocks. The study recorded no clocks. */
static void judge_heat(struct dataset_experiment *experiment, const struct levels *levels)
{
    struct reading start = experiment->gpu.temperature_start_c,
                   most = experiment->gpu.temperature_max_c;
    if (!levels->all_c || !start.valid || !most.valid)
        dataset_check(
            experiment, CHECK_THROTTLING, CHECK_NOT_MADE, "%s",
            !start.valid || !most.valid
                ? "its temperatures are missing"
                : "temperatures of more than one in twenty experiments of this folder are missing");
    else if (start.value > levels->coolest_c + LIMIT_WARMER_K)
        dataset_check(experiment, CHECK_THROTTLING, CHECK_NOT_MADE,
                      "the GPU was at %.3g C when it began, where the coolest starts of the folder "
                      "were at %.3g C: a "
                      "warmer GPU draws more",
                      start.value, levels->coolest_c);
    else if (most.value >= LIMIT_HOT_C)
        dataset_check(experiment, CHECK_THROTTLING, CHECK_NOT_MADE,
                      "the GPU reached %.3g C, where GPUs lower their clocks", most.value);
    else
        dataset_check(experiment, CHECK_THROTTLING, CHECK_PASSED,
                      "the GPU was at %.3g C when it began, %.3g C above the coolest starts of the "
                      "folder, and at most "
                      "at %.3g C; clocks were "
                      "not recorded",
                      start.value, fmax(0, start.value - levels->coolest_c), most.value);
}

/* One whose start was not recorded may have begun on a busy GPU. */
static bool tells(const struct dataset_experiment *experiment)
{
    return !experiment->parallel;
}

/* What began busy may have been there before it, and after it. left, right: the places of the
 * experiments on either side that tell, or SIZE_MAX; between them is one whose start was idle or
 * cannot tell. */
static void judge_one_between(struct dataset *dataset, struct judge_state *states,
                              const struct place *places, size_t left, size_t at, size_t right)
{
    struct dataset_experiment *experiment = &dataset->items[places[at].index];
    const struct dataset_experiment *before = left == SIZE_MAX
                                                  ? NULL
                                                  : &dataset->items[places[left].index],
                                    *after = right == SIZE_MAX
                                                 ? NULL
                                                 : &dataset->items[places[right].index];
    bool was = before && states[places[left].index].busy,
         will = after && states[places[right].index].busy;
    if (was && will && experiment->parallel) {
        double low = before->gpu.early_power_w.value, high = after->gpu.early_power_w.value;
        if (fmax(low, high) <= (1 + LIMIT_ALIKE) * fmin(low, high)) {
            dataset_evidence(experiment, "foreign_span",
                             "inferred: %.60s before it and %.60s after it both began on a GPU "
                             "that was busy, at %.4g "
                             "and %.4g W, so something used it in between",
                             before->id, after->id, low, high);
            states[places[at].index].busy = true;
            return;
        }
    }
    if (will || (was && experiment->parallel))
        dataset_check(
            experiment, CHECK_PROCESSES_DURING, CHECK_NOT_MADE,
            "%.60s %s it began on a GPU that was busy: whether that was there %s is not recorded",
            will ? after->id : before->id, will ? "after" : "before", will ? "already" : "still");
}

/* Something that comes and goes is not always there when an experiment begins: between two that may
 * have begun beside it, and during the first of them, it may have run. */
static void judge_span(struct dataset *dataset, const struct judge_state *states,
                       const struct place *places, size_t from, size_t to)
{
    const struct judge_state *first = &states[places[from].index],
                             *last = &states[places[to].index];
    const struct dataset_experiment *before = &dataset->items[places[from].index],
                                    *after = &dataset->items[places[to].index];
    bool unseen = first->unseen || last->unseen;
    for (size_t k = from; k < to; k++) {
        struct dataset_experiment *experiment = &dataset->items[places[k].index];
        if (states[places[k].index].busy || (k == from && first->unseen))
            continue;
        AUTO_FREE char *left =
            k == from ? mem_strdup("it") : mem_printf("%.60s before it", before->id);
        dataset_check(
            experiment, CHECK_PROCESSES_DURING, CHECK_NOT_MADE,
            unseen ? "whether the GPU was idle when %s and %.60s after it began is not recorded"
                   : "%s and %.60s after it began on a GPU that was busy, or had just been: "
                     "what it was may come and go",
            left, after->id);
    }
}

static void judge_between(struct dataset *dataset, struct judge_state *states,
                          const struct place *places, size_t count)
{
    AUTO_FREE size_t *next = mem_array(count + 1, sizeof *next);
    size_t left = SIZE_MAX, busy = SIZE_MAX;
    next[count] = SIZE_MAX;
    for (size_t i = count; i-- > 0;)
        next[i] = tells(&dataset->items[places[i].index]) ? i : next[i + 1];
    for (size_t i = 0; i < count; i++) {
        struct judge_state *state = &states[places[i].index];
        state->rank = i;
        state->next[0] = i ? places[i - 1].index : JUDGE_NOBODY;
        state->next[1] = i + 1 < count ? places[i + 1].index : JUDGE_NOBODY;
        if (!state->busy)
            judge_one_between(dataset, states, places, left, i, next[i + 1]);
        if (!tells(&dataset->items[places[i].index]))
            continue;
        left = i;
        if (!state->busy && !state->fell && !state->unseen)
            continue;
        if (busy != SIZE_MAX && (double)(i - busy) <= LIMIT_BETWEEN)
            judge_span(dataset, states, places, busy, i);
        busy = i;
    }
}

void judge_idle(struct dataset *dataset, struct judge_state *states)
{
    AUTO_FREE struct place *places = mem_array(dataset->count + 1, sizeof *places);
    for (size_t f = 0; f < dataset->folder_count; f++) {
        size_t count = 0;
        if (dataset->folders[f].layout != DATASET_STUDY)
            continue;
        for (size_t i = 0; i < dataset->count; i++)
            if (dataset->items[i].folder == f) {
                const struct dataset_experiment *of = &dataset->items[i];
                double duration_s = of->duration_s.valid ? of->duration_s.value : 0;
                duration_s = duration_s > 0 && duration_s < 1e9 ? duration_s : 0;
                places[count++] =
                    (struct place){of->end_local_ns - (int64_t)(duration_s * (double)NS_PER_S), i};
            }
        if (count > 1)
            qsort(places, count, sizeof *places, compare_places);
        struct levels levels = learn(dataset, places, count);
        judge_monitor(dataset, f, places, count, &levels);
        EACH (item, places, count) {
            judge_start(&dataset->items[item->index], &states[item->index], &levels);
            judge_rest(&dataset->items[item->index], &levels);
            states[item->index].rest_high = levels.rest_w > LIMIT_REST * levels.peak_w;
            judge_heat(&dataset->items[item->index], &levels);
        }
        judge_between(dataset, states, places, count);
    }
}
