#include "results/judge/judge_background.h"
#include "results/judge/identical.h"

#include "base/mem.h"
#include "stats/describe.h"

#include <math.h>
#include <string.h>

enum { ALONE_LEAST = 2, OTHERS_LEAST = 3 };
static const double slower = 0.1, under_load_share = 0.8, took_less_share = 0.08;

/* Medians of the trainings of its model alone, with the same hyperparameters where there are
 * some. */
struct alone {
    size_t count;
    struct reading time_s, cpu_j, power_w, utilisation_percent, most_percent;
};

static bool has_background(const struct dataset_experiment *experiment,
                           const struct dataset_experiment *other)
{
    return other->parallel && other->folder == experiment->folder && experiment->background &&
           other->background && strcmp(experiment->background, other->background) == 0;
}

static bool is_same_model(const struct dataset_experiment *a, const struct dataset_experiment *b)
{
    return strcmp(a->repo, b->repo) == 0 && strcmp(a->model, b->model) == 0;
}

static struct reading median_of(const struct dataset *dataset, const size_t *items, size_t count,
                                size_t offset)
{
    AUTO_FREE double *values = mem_array(count + 1, sizeof *values);
    size_t n = 0;
    EACH (item, items, count) {
        const struct reading *value = (const void *)((const char *)&dataset->items[*item] + offset);
        if (value->valid)
            values[n++] = value->value;
    }
    return n >= ALONE_LEAST ? stats_median(values, n) : (struct reading){0};
}

static struct alone find_alone(const struct dataset *dataset,
                               const struct dataset_experiment *experiment, const size_t *items,
                               size_t count)
{
    AUTO_FREE size_t *chosen = mem_array(count + 1, sizeof *chosen);
    AUTO_FREE char *key = audit_params_key(experiment, false);
    size_t n = 0;
    for (int same = 1; same >= 0 && n < ALONE_LEAST; same--) {
        n = 0;
        EACH (item, items, count) {
            const struct dataset_experiment *other = &dataset->items[*item];
            AUTO_FREE char *own = audit_params_key(other, false);
            if (other->folder == experiment->folder && other->success &&
                (!same || strcmp(own, key) == 0))
                chosen[n++] = *item;
        }
    }
#define MEDIAN(member) median_of(dataset, chosen, n, offsetof(struct dataset_experiment, member))
    return (struct alone){n,
                          MEDIAN(duration_s),
                          MEDIAN(cpu_j),
                          MEDIAN(gpu.power_mean_w),
                          MEDIAN(gpu.utilisation_mean_percent),
                          MEDIAN(gpu.utilisation_max_percent)};
#undef MEDIAN
}

/* "examples mnist" of a background is a model that loads the GPU where it is trained alone. */
static bool loads_gpu_alone(const struct dataset *dataset,
                            const struct dataset_experiment *experiment)
{
    EACH (other, dataset->items, dataset->count) {
        AUTO_FREE char *name = mem_printf("%s %s", other->repo, other->model);
        if (!other->parallel && other->folder == experiment->folder && other->success &&
            experiment->background && strcmp(name, experiment->background) == 0 &&
            other->gpu.utilisation_max_percent.valid &&
            other->gpu.utilisation_max_percent.value >= LIMIT_WORKING_PERCENT)
            return true;
    }
    return false;
}

/* By how much more than alone; not a number where it is not known. */
static double more_than(struct reading value, struct reading alone)
{
    return value.valid && alone.valid && alone.value > 0 ? value.value / alone.value - 1 : NAN;
}

/* The GPU was never busy: nothing ran, unless neither of the two uses a GPU. */
static void judge_idle_gpu(const struct dataset *dataset, struct dataset_experiment *experiment,
                           const struct alone *alone)
{
    const struct dataset_gpu *gpu = &experiment->gpu;
    double time = more_than(experiment->duration_s, alone->time_s);
    double cpu = more_than(experiment->cpu_j, alone->cpu_j);
    bool took_more = time >= slower || cpu >= slower;
    bool uses_none = alone->most_percent.valid && alone->most_percent.value < LIMIT_BUSY_PERCENT &&
                     !loads_gpu_alone(dataset, experiment);
    if (took_more && uses_none) {
        dataset_check(experiment, CHECK_BACKGROUND_LOAD, CHECK_PASSED,
                      "its background used no GPU; time was %.3g %% and CPU energy %.3g %% above "
                      "trainings of its model alone, so it ran",
                      100 * time, 100 * cpu);
        dataset_evidence(experiment, "background_without_gpu",
                         "its background used no GPU; time was %.3g %% above trainings of its "
                         "model alone",
                         100 * time);
        return;
    }
    if (uses_none || took_more) {
        dataset_check(experiment, CHECK_BACKGROUND_LOAD, CHECK_NOT_MADE,
                      "the GPU was never more than %.3g %% busy, and %s",
                      gpu->utilisation_max_percent.value,
                      took_more ? "yet it took more than trainings of its model alone"
                                : "neither time nor CPU energy show that its background ran");
        return;
    }
    dataset_check(experiment, CHECK_BACKGROUND_LOAD, CHECK_FAILED, "idle");
    dataset_evidence(
        experiment, "background_no_load",
        "the GPU was never more than %.3g %% busy, at %.4g W on average: no background "
        "worked on it",
        gpu->utilisation_max_percent.value, gpu->power_mean_w.value);
}

/* It began on a GPU at rest: the background had not begun, or never did. */
static void judge_rest_start(const struct dataset *dataset, const struct judge_state *states,
                             size_t index, const struct alone *alone)
{
    static const char format[] =
        "it began on a GPU at rest (%.4g W), where %zu of %zu others with this "
        "background began under load: its background was late or missing";
    struct dataset_experiment *experiment = &dataset->items[index];
    const struct judge_state *state = &states[index];
    size_t others = 0, loaded = 0;
    for (size_t i = 0; i < dataset->count; i++) {
        const struct dataset_experiment *other = &dataset->items[i];
        if (other == experiment || !has_background(experiment, other) ||
            !other->gpu.early_power_w.valid)
            continue;
        others++;
        loaded += !states[i].at_rest;
    }
    bool usual = others >= OTHERS_LEAST && (double)loaded >= under_load_share * (double)others;
    bool uses_gpu = usual || loads_gpu_alone(dataset, experiment);
    bool like_alone = more_than(experiment->duration_s, alone->time_s) <= LIMIT_MORE &&
                      more_than(experiment->gpu.power_mean_w, alone->power_w) <= LIMIT_SHOWN &&
                      more_than(experiment->gpu.utilisation_mean_percent,
                                alone->utilisation_percent) <= LIMIT_SHOWN;
    if (uses_gpu && like_alone) {
        dataset_check(experiment, CHECK_BACKGROUND_LOAD, CHECK_FAILED, "like alone");
        dataset_evidence(experiment, "background_no_load",
                         "it began on a GPU at rest (%.4g W), and its time, power and utilisation "
                         "are those of its model alone",
                         experiment->gpu.early_power_w.value);
    } else if (usual) {
        /* Without a background a training takes less than beside one. */
        const struct stats_prediction *time = &state->like[LIKE_TIME].prediction;
        bool took_less = time->valid && time->excess < -fmax(took_less_share, time->sigma);
        dataset_check(experiment, CHECK_BACKGROUND_LOAD, took_less ? CHECK_FAILED : CHECK_NOT_MADE,
                      format, experiment->gpu.early_power_w.value, loaded, others);
        if (took_less)
            dataset_evidence(experiment, "background_late", format,
                             experiment->gpu.early_power_w.value, loaded, others);
    }
}

static void judge_one(const struct dataset *dataset, const struct judge_state *states, size_t index,
                      const size_t *alone_items, size_t alone_count)
{
    struct dataset_experiment *experiment = &dataset->items[index];
    const struct dataset_gpu *gpu = &experiment->gpu;
    if (!gpu->idle_share.valid || !gpu->power_mean_w.valid) {
        dataset_check(experiment, CHECK_BACKGROUND_LOAD, CHECK_NOT_MADE,
                      "no trace of power and utilisation");
        return;
    }
    struct alone alone = find_alone(dataset, experiment, alone_items, alone_count);
    if (gpu->utilisation_max_percent.valid &&
        gpu->utilisation_max_percent.value < LIMIT_BUSY_PERCENT) {
        judge_idle_gpu(dataset, experiment, &alone);
        return;
    }
    if (states[index].at_rest)
        judge_rest_start(dataset, states, index, &alone);
    dataset_check(experiment, CHECK_BACKGROUND_LOAD, CHECK_PASSED,
                  "below 5 %% busy in %.3g %% of the samples, %.4g W on average; its effect is "
                  "like its siblings' by "
                  "like_time and like_energy",
                  100 * gpu->idle_share.value, gpu->power_mean_w.value);
}

void judge_background(struct dataset *dataset, const struct judge_state *states)
{
    AUTO_FREE size_t *order = NULL, *groups = NULL;
    size_t count = audit_group(dataset, &order, &groups);
    for (size_t g = 0; g < count; g++) {
        const struct dataset_experiment *first = &dataset->items[order[groups[g]]];
        /* Trainings of a model alone come just before its parallel ones. */
        bool has_alone = g > 0 && is_same_model(&dataset->items[order[groups[g - 1]]], first);
        for (size_t i = groups[g]; first->parallel && i < groups[g + 1]; i++)
            if (dataset->folders[dataset->items[order[i]].folder].layout == DATASET_STUDY)
                judge_one(dataset, states, order[i], has_alone ? order + groups[g - 1] : NULL,
                          has_alone ? groups[g] - groups[g - 1] : 0);
    }
}
