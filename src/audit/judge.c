#include "audit/judge.h"

#include "audit/judge_siblings.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

/* docs/audit.md gives the reason for each. */
static const double busy_percent = 5, sampled_least = 0.95, gap_most_s = 5, load_idle_share = 0.1;
static const struct reading none = {0};

static struct reading at(double seconds)
{
    return (struct reading){seconds, true};
}

bool audit_id_well_formed(const struct dataset_experiment *experiment)
{
    size_t repo = strlen(experiment->repo), model = strlen(experiment->model);
    const char *id = experiment->id;
    if (!repo || !model || strncmp(id, experiment->repo, repo) != 0 || id[repo] != '_' ||
        strncmp(id + repo + 1, experiment->model, model) != 0 || id[repo + 1 + model] != '_')
        return false;
    const char *number = id + repo + model + 2;
    size_t digits = strspn(number, "0123456789");
    return digits >= 3 && strcmp(number + digits, experiment->parallel ? "_parallel" : "") == 0;
}

/* In the first two seconds no training has loaded its program and its data; in a parallel experiment the background
 * training has loaded the GPU by then. */
static void judge_start(struct dataset_experiment *experiment)
{
    const struct dataset_gpu *gpu = &experiment->gpu;
    struct reading early = gpu->early_utilisation_percent;
    if (!experiment->parallel && early.valid && early.value >= busy_percent)
        dataset_evidence(
            experiment, "gpu_busy_before", at(0), at(2),
            "the GPU was %.3g %% busy in the first two seconds, before a training can have begun to use it",
            early.value);
    if (!experiment->parallel)
        return;
    bool late = early.valid && early.value < busy_percent;
    bool lacking = gpu->idle_share.valid && gpu->idle_share.value > load_idle_share;
    if (late || lacking)
        dataset_evidence(experiment, "background_no_load", none, none,
                         "the background training should keep the GPU busy: %s%.3g %% of the samples show it idle, "
                         "%.3g s at a stretch",
                         late ? "it did not in the first two seconds; " : "", 100 * gpu->idle_share.value,
                         gpu->longest_idle_s.value);
}

static void judge_sampling(struct dataset_experiment *experiment)
{
    const struct dataset_gpu *gpu = &experiment->gpu;
    /* Where duration and trace disagree, what of the window was sampled is the same question. */
    if (!gpu->sampled_share.valid || !gpu->window_s.valid || dataset_has_evidence(experiment, "duration_differs"))
        return;
    /* Whole seconds: one of them more or less at the window's edges says nothing. */
    double share = gpu->sampled_share.value + 1 / gpu->window_s.value;
    if (share < sampled_least)
        dataset_evidence(experiment, "sampling_short", none, none,
                         "%.3g %% of the %.6g s were sampled, so the sum of the samples, %.6g J, is not the energy: "
                         "%.6g J ± %.6g",
                         100 * gpu->sampled_share.value, gpu->window_s.value, gpu->samples_sum_j.value,
                         gpu->energy_j.value, number_round(gpu->half_width_j.value, 2));
    if (gpu->longest_gap_s.valid && gpu->longest_gap_s.value > gap_most_s)
        dataset_evidence(experiment, "sampling_gap", none, none, "nothing was sampled for %.6g s",
                         gpu->longest_gap_s.value);
}

static void judge_recorded(struct dataset_experiment *experiment)
{
    struct reading recorded = experiment->recorded[RECORDED_GPU_TOTAL], sum = experiment->gpu.samples_sum_j;
    if (recorded.valid && sum.valid && fabs(recorded.value - sum.value) > 0.05 + 1e-6 * fabs(sum.value))
        dataset_evidence(
            experiment, "energy_differs", none, none,
            "recorded are %.8g J, its samples add up to %.8g J: the trace is not the one that was recorded",
            recorded.value, sum.value);
    if (experiment->retries > 0)
        dataset_evidence(experiment, "energy_overwritten", none, none,
                         "it was retried %lld time%s: what the earlier attempts drew is lost, the figures are the last "
                         "one's",
                         (long long)experiment->retries, experiment->retries == 1 ? "" : "s");
}

static void judge_impossible(struct dataset_experiment *experiment)
{
    const struct reading *recorded = experiment->recorded;
    if (experiment->duration_s.valid && experiment->duration_s.value <= 0)
        dataset_evidence(experiment, "value_impossible", none, none, "it took %g s", experiment->duration_s.value);
    for (int i = 0; i < RECORDED_COUNT; i++) {
        bool percent = i == RECORDED_UTILISATION_MEAN || i == RECORDED_UTILISATION_MAX;
        bool celsius = i == RECORDED_TEMPERATURE_MEAN || i == RECORDED_TEMPERATURE_MAX;
        double low = celsius ? -50 : 0, high = percent ? 100 : celsius ? 150 : INFINITY;
        if (recorded[i].valid && (recorded[i].value < low || recorded[i].value > high))
            dataset_evidence(experiment, "value_impossible", none, none, "%s is %g",
                             dataset_recorded_name((enum dataset_recorded)i), recorded[i].value);
    }
    struct reading mean = recorded[RECORDED_GPU_MEAN], least = recorded[RECORDED_GPU_MIN],
                   most = recorded[RECORDED_GPU_MAX];
    if (mean.valid && least.valid && most.valid &&
        (mean.value < least.value * (1 - 1e-9) || mean.value > most.value * (1 + 1e-9)))
        dataset_evidence(experiment, "value_impossible", none, none,
                         "the mean power, %g W, is not between the lowest, %g W, and the highest, %g W", mean.value,
                         least.value, most.value);
}

static void judge_metrics(struct dataset_experiment *experiment, bool expected)
{
    for (size_t i = 0; i < experiment->metric_count; i++)
        if (experiment->metrics[i].value.valid)
            return;
    if (expected && experiment->has_success && experiment->success)
        dataset_evidence(experiment, "success_without_metrics", none, none,
                         "it counts as a success, and none of its results is there");
}

static void judge_missing(struct dataset_experiment *experiment, unsigned expected)
{
    static const char *const files[] = {"gpu_power.csv", "gpu_utilization.csv", "gpu_temperature.csv",
                                        "cpu_energy_raw.txt"};
    if (!experiment->has_end)
        dataset_evidence(experiment, "value_missing", none, none, "when it ended is not known");
    if (!experiment->duration_s.valid)
        dataset_evidence(experiment, "value_missing", none, none, "how long it took is not known");
    if (!experiment->has_success)
        dataset_evidence(experiment, "value_missing", none, none, "whether it succeeded is not known");
    for (unsigned i = 0; i < 4; i++)
        if (experiment->gpu.missing & expected & 1U << i)
            dataset_evidence(experiment, "value_missing", none, none, "there is no energy/%s", files[i]);
}

/* Files that at least one experiment of the folder has. */
static unsigned expected_files(const struct dataset *dataset, size_t folder)
{
    unsigned expected = 0;
    for (size_t i = 0; i < dataset->count; i++)
        if (dataset->items[i].folder == folder)
            expected |= ~dataset->items[i].gpu.missing;
    return expected;
}

static void judge_each(struct dataset *dataset)
{
    size_t known = SIZE_MAX;
    unsigned expected = 0;
    for (size_t i = 0; i < dataset->count; i++) {
        struct dataset_experiment *experiment = &dataset->items[i];
        if (dataset->folders[experiment->folder].layout != DATASET_STUDY) {
            judge_metrics(experiment, experiment->metric_count > 0); /* its plan says which there are */
            continue;
        }
        if (experiment->folder != known)
            expected = expected_files(dataset, known = experiment->folder);
        judge_start(experiment);
        judge_sampling(experiment);
        judge_recorded(experiment);
        judge_impossible(experiment);
        judge_missing(experiment, expected);
        judge_metrics(experiment, true);
        if (!audit_id_well_formed(experiment))
            dataset_evidence(experiment, "malformed_id", none, none, "'%.200s' is not <repository>_<model>_<number>%s",
                             experiment->id, experiment->parallel ? "_parallel" : "");
    }
}

struct named {
    const char *id;
    size_t folder, item;
};

static int compare_named(const void *a, const void *b)
{
    const struct named *left = a, *right = b;
    if (left->folder != right->folder)
        return left->folder > right->folder ? 1 : -1;
    int order = strcmp(left->id, right->id);
    return order ? order : (left->item > right->item) - (left->item < right->item);
}

static void judge_duplicates(struct dataset *dataset)
{
    AUTO_FREE struct named *names = mem_array(dataset->count + 1, sizeof *names);
    for (size_t i = 0; i < dataset->count; i++)
        names[i] = (struct named){dataset->items[i].id, dataset->items[i].folder, i};
    qsort(names, dataset->count, sizeof *names, compare_named);
    for (size_t from = 0, to; from < dataset->count; from = to) {
        for (to = from + 1; to < dataset->count && names[to].folder == names[from].folder &&
                            strcmp(names[to].id, names[from].id) == 0;)
            to++;
        for (size_t i = from; to - from > 1 && i < to; i++)
            dataset_evidence(&dataset->items[names[i].item], "duplicate_id", none, none,
                             "%zu experiments have the id %.200s", to - from, names[i].id);
    }
}

void audit_judge(struct dataset *dataset)
{
    judge_each(dataset);
    judge_duplicates(dataset);
    judge_siblings(dataset);
    for (size_t i = 0; i < dataset->count; i++) {
        struct dataset_experiment *experiment = &dataset->items[i];
        bool watched = experiment->judged && !experiment->unwatched;
        experiment->verdict = watched ? VERDICT_CLEAN : VERDICT_NONE;
        for (size_t k = 0; experiment->judged && k < experiment->evidence_count; k++)
            experiment->verdict = verdict_with(experiment->verdict, experiment->evidence[k].kind);
        experiment->verdict = verdict_of_end(experiment->verdict, experiment->success);
    }
}
