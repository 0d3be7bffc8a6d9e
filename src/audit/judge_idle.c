/* Whether the GPU was idle before each experiment: from folders without process lists, by power and utilisation. */
#include "audit/judge_private.h"

#include "base/clock.h"
#include "base/mem.h"
#include "stats/describe.h"

#include <math.h>

/* docs/audit.md gives the reason for each. */
static const double busy_percent = 5, idle_factor = 1.25, alike_factor = 1.25;
static const struct reading none = {0};

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
    return (left->index > right->index) - (left->index < right->index);
}

/* What the GPU draws at rest, and what it draws as most experiments begin on it: its clocks may be up before a program
 * uses it. Not finite: nobody knows. */
struct levels {
    double rest_w, start_w;
};

static bool starts_idle(const struct dataset_experiment *experiment)
{
    const struct dataset_gpu *gpu = &experiment->gpu;
    return gpu->early_power_w.valid && gpu->early_utilisation_percent.valid &&
           gpu->early_utilisation_percent.value < busy_percent;
}

static struct levels learn(const struct dataset *dataset, const struct place *places, size_t count)
{
    AUTO_FREE double *starts = mem_array(count + 1, sizeof *starts);
    struct levels out = {INFINITY, NAN};
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const struct dataset_experiment *experiment = &dataset->items[places[i].index];
        if (experiment->gpu.low_power_w.valid)
            out.rest_w = fmin(out.rest_w, experiment->gpu.low_power_w.value);
        if (starts_idle(experiment))
            starts[n++] = experiment->gpu.early_power_w.value;
    }
    if (n)
        out.start_w = stats_median(starts, n).value;
    return out;
}

static void judge_start(struct dataset_experiment *experiment, struct judge_state *state, const struct levels *levels)
{
    const struct dataset_gpu *gpu = &experiment->gpu;
    struct reading early = gpu->early_utilisation_percent, power = gpu->early_power_w;
    if (!early.valid || !power.valid) {
        dataset_check(experiment, CHECK_IDLE_BEFORE, CHECK_NOT_MADE, "no %s of its first two seconds was recorded",
                      power.valid ? "utilisation" : "power");
        return;
    }
    if (early.value >= busy_percent) {
        if (experiment->parallel) {
            dataset_check(experiment, CHECK_IDLE_BEFORE, CHECK_NOT_NEEDED,
                          "%.3g %% busy in the first two seconds: its background training may have begun", early.value);
            return;
        }
        dataset_check(experiment, CHECK_IDLE_BEFORE, CHECK_FAILED, "%.3g %% busy at %.4g W in the first two seconds",
                      early.value, power.value);
        dataset_evidence(experiment, "gpu_busy_before", (struct reading){0, true}, (struct reading){2, true},
                         "the GPU was %.3g %% busy at %.4g W in the first two seconds, before a training can have "
                         "begun to use it; at rest it draws %.4g W in this folder",
                         early.value, power.value, levels->rest_w);
        state->busy = true;
        return;
    }
    bool rests = power.value <= idle_factor * levels->rest_w;
    if (rests || power.value <= idle_factor * levels->start_w)
        dataset_check(experiment, CHECK_IDLE_BEFORE, CHECK_PASSED, "%.3g %% busy at %.4g W in the first two seconds, %s %.4g W",
                      early.value, power.value, rests ? "where the GPU rests at" : "where most begin at",
                      rests ? levels->rest_w : levels->start_w);
    else
        dataset_check(experiment, CHECK_IDLE_BEFORE, CHECK_NOT_MADE,
                      "%.4g W in the first two seconds, where most begin at %.4g W: something may have held the GPU",
                      power.value, levels->start_w);
}

/* Between two experiments that began on a GPU busy with something else, that something is likely to have been there all
 * the time; beside one of them nobody knows. */
static void judge_between(struct dataset *dataset, struct judge_state *states, const struct place *places, size_t count)
{
    size_t before = SIZE_MAX; /* the last one that began alone */
    for (size_t i = 0; i < count; i++) {
        const struct dataset_experiment *now = &dataset->items[places[i].index];
        if (now->parallel || !now->gpu.early_utilisation_percent.valid)
            continue;
        bool busy = states[places[i].index].busy, was = before != SIZE_MAX && states[places[before].index].busy;
        for (size_t k = before == SIZE_MAX ? i : before; k < i && (busy || was); k++) {
            struct dataset_experiment *between = &dataset->items[places[k].index];
            if (states[places[k].index].busy)
                continue;
            double left = before == SIZE_MAX ? NAN : dataset->items[places[before].index].gpu.early_power_w.value,
                   right = now->gpu.early_power_w.value, factor = fmax(left, right) / fmin(left, right);
            if (busy && was && factor <= alike_factor) {
                dataset_evidence(between, "foreign_span", none, none,
                                 "inferred: %.60s before it and %.60s after it both began on a GPU that was busy, at "
                                 "%.4g and %.4g W, so something used it in between",
                                 dataset->items[places[before].index].id, now->id, left, right);
                states[places[k].index].busy = true;
            } else if (k > before || busy) {
                dataset_check(between, CHECK_PROCESSES_DURING, CHECK_NOT_MADE,
                              "%.60s %s it began on a GPU that was busy, at %.4g W: nobody knows whether that was there "
                              "%s",
                              busy ? now->id : dataset->items[places[before].index].id, busy ? "after" : "before",
                              busy ? right : left, busy ? "already" : "still");
            }
        }
        before = i;
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
                places[count++] = (struct place){of->end_local_ns - (int64_t)(duration_s * (double)NS_PER_S), i};
            }
        if (count > 1)
            qsort(places, count, sizeof *places, compare_places);
        struct levels levels = learn(dataset, places, count);
        for (size_t i = 0; i < count; i++)
            judge_start(&dataset->items[places[i].index], &states[places[i].index], &levels);
        judge_between(dataset, states, places, count);
    }
}
