#include "plan/planner.h"
#include "results/judge/identical.h"
#include "results/judge/judge_agreement.h"
#include "results/judge/judge_background.h"
#include "results/judge/judge_change.h"
#include "results/judge/judge_idle.h"
#include "results/judge/judge_like.h"
#include "results/judge/judge_siblings.h"
#include "results/judge/numeric_cell.h"
#include "results/judge/study_energy.h"
#include "results/store/energy.h"

#include "base/amount.h"
#include "base/mem.h"
#include "base/value.h"
#include "stats/describe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SAME_LEAST = 3, GAP_INTERVALS = 3 };

const char *audit_id_number(const struct dataset_experiment *experiment)
{
    static const char parallel[] = "_parallel";
    size_t length = strlen(experiment->id), tail = experiment->parallel ? strlen(parallel) : 0;
    if (length < tail || (tail && strcmp(experiment->id + length - tail, parallel) != 0))
        return NULL;
    size_t end = length - tail, digits = 0;
    while (digits < end && strchr("0123456789", experiment->id[end - digits - 1]))
        digits++;
    const char *number = experiment->id + end - digits;
    return digits >= 3 && digits < end && number[-1] == '_' ? number : NULL;
}

/* Where repository or model are not recorded, any name may be theirs. */
bool audit_id_well_formed(const struct dataset_experiment *experiment)
{
    const char *number = audit_id_number(experiment);
    if (!number)
        return false;
    if (!*experiment->repo || !*experiment->model)
        return number > experiment->id + 1 && !strchr(experiment->id, '/');
    AUTO_FREE char *like = plan_experiment_id(experiment->repo, experiment->model, 0, false);
    size_t names = strlen(like) - strlen("000");
    return names == (size_t)(number - experiment->id) && strncmp(experiment->id, like, names) == 0;
}

static void judge_sampling(struct dataset_experiment *experiment, double interval_s)
{
    const struct dataset_gpu *gpu = &experiment->gpu;
    /* Where duration and trace disagree, what of the window was sampled is the same question. */
    if (!gpu->sampled_share.valid || !gpu->window_s.valid ||
        dataset_has_evidence(experiment, "duration_differs")) {
        dataset_check(experiment, CHECK_SAMPLING, CHECK_NOT_MADE, "%s",
                      gpu->window_s.valid ? "how long it took is in dispute"
                                          : "there is no trace of its power");
        return;
    }
    /* Whole seconds: one of them more or less at the window's edges says nothing. */
    double share = gpu->sampled_share.value * fmax(1, interval_s) + 1 / gpu->window_s.value;
    AUTO_FREE char *energy = amount_format_with(gpu->energy_j, gpu->half_width_j, "J");
    bool known = gpu->energy_j.valid && gpu->energy_j.value > 0 &&
                 gpu->half_width_j.value <= LIMIT_HALF_WIDTH * gpu->energy_j.value;
    if (gpu->energy_unknown) {
        dataset_check(experiment, CHECK_SAMPLING, CHECK_NOT_MADE, "%.6g s are %s",
                      gpu->window_s.value, gpu->energy_unknown);
        return;
    }
    dataset_check(experiment, CHECK_SAMPLING, known ? CHECK_PASSED : CHECK_NOT_MADE,
                  "%.3g %% of the seconds sampled, GPU energy %s", 100 * gpu->sampled_share.value,
                  *energy ? energy : "unknown");
    if (evidence_is_imprecise(gpu->energy_j, gpu->half_width_j, LIMIT_USEFUL))
        dataset_evidence(experiment, "energy_imprecise",
                         "%s, where %g %% are useful: recorded too coarsely", energy, LIMIT_USEFUL);
    if (share < LIMIT_SAMPLED && !known)
        dataset_evidence(experiment, "sampling_short",
                         "%.3g %% of the %.6g s were sampled, so the sum of the samples, %.6g J, "
                         "is not the energy: "
                         "%s",
                         100 * gpu->sampled_share.value, gpu->window_s.value,
                         gpu->samples_sum_j.value, energy);
    if (gpu->longest_gap_s.valid &&
        gpu->longest_gap_s.value > fmax(LIMIT_GAP_S, GAP_INTERVALS * interval_s))
        dataset_evidence(experiment, "sampling_gap", "nothing was sampled for %.6g s",
                         gpu->longest_gap_s.value);
}

static void judge_length(struct dataset_experiment *experiment)
{
    bool known = experiment->duration_s.valid && experiment->gpu.samples > 0;
    if (known && experiment->duration_s.value < LIMIT_SHORTEST_S)
        dataset_evidence(experiment, "training_short",
                         "it took %.3g s, of which %zu samples tell too little",
                         experiment->duration_s.value, experiment->gpu.samples);
    dataset_check(experiment, CHECK_LENGTH,
                  !known                                            ? CHECK_NOT_MADE
                  : experiment->duration_s.value < LIMIT_SHORTEST_S ? CHECK_FAILED
                                                                    : CHECK_PASSED,
                  "%.6g s, %zu samples", experiment->duration_s.value, experiment->gpu.samples);
}

/* Each recorded figure against the trace that it is of, where the trace is whole. */
static void judge_sums(struct dataset_experiment *experiment, unsigned expected)
{
    const struct dataset_gpu *gpu = &experiment->gpu;
    const struct reading *recorded = experiment->recorded;
    struct reading mean = {gpu->samples ? gpu->samples_sum_j.value / (double)gpu->samples : 0,
                           gpu->samples > 0};
    struct reading both = {recorded[RECORDED_CPU_PACKAGE].value + recorded[RECORDED_CPU_RAM].value,
                           recorded[RECORDED_CPU_PACKAGE].valid &&
                               recorded[RECORDED_CPU_RAM].valid};
    const struct reading of_trace[RECORDED_COUNT] = {
        [RECORDED_CPU_PACKAGE] = experiment->cpu_j,
        [RECORDED_CPU_RAM] = experiment->dram_j,
        [RECORDED_CPU_TOTAL] = both,
        [RECORDED_GPU_TOTAL] = gpu->samples_sum_j,
        [RECORDED_GPU_MEAN] = mean,
        [RECORDED_GPU_MAX] = gpu->power_max_w,
        [RECORDED_GPU_MIN] = gpu->power_min_w,
        [RECORDED_TEMPERATURE_MEAN] = gpu->temperature_mean_c,
        [RECORDED_TEMPERATURE_MAX] = gpu->temperature_max_c,
        [RECORDED_UTILISATION_MEAN] = gpu->utilisation_mean_percent,
        [RECORDED_UTILISATION_MAX] = gpu->utilisation_max_percent};
    if (dataset_has_evidence(experiment, "file_damaged") ||
        dataset_has_evidence(experiment, "time_backwards") ||
        dataset_has_evidence(experiment, "value_missing"))
        return;
    for (int i = 0; i < RECORDED_COUNT; i++) {
        double apart = fabs(recorded[i].value - of_trace[i].value);
        if (experiment->line > 0 && expected & 1U << i && !recorded[i].valid && of_trace[i].valid) {
            dataset_evidence(experiment, "value_missing",
                             "there is no %s in summary.csv, and its samples are there",
                             energy_column((size_t)i));
            dataset_evidence_touches(experiment, 1u << QUANTITY_ENERGY);
        }
        if (i == RECORDED_GPU_TOTAL) /* judge_recorded's */
            continue;
        if (experiment->recorded_finer && i >= RECORDED_GPU_MEAN)
            continue;
        if (!recorded[i].valid || !of_trace[i].valid ||
            apart <= 0.02 + 1e-3 * fabs(of_trace[i].value))
            continue;
        experiment->contradicts = true;
        dataset_evidence(experiment, "values_differ",
                         "%s in summary.csv is %.8g, by energy/ it is %.8g",
                         energy_column((size_t)i), recorded[i].value, of_trace[i].value);
        dataset_evidence_touches(experiment, 1u << QUANTITY_ENERGY);
    }
}

/* Twice the half-width is four deviations: chance alone does not get there. */
static void judge_finer(struct dataset_experiment *experiment, struct reading recorded)
{
    const struct dataset_gpu *gpu = &experiment->gpu;
    double apart_j = fabs(recorded.value - gpu->energy_j.value);
    AUTO_FREE char *energy = amount_format_with(gpu->energy_j, gpu->half_width_j, "J");
    if (!recorded.valid || !gpu->energy_j.valid || apart_j <= 2 * gpu->half_width_j.value)
        return;
    experiment->contradicts = true;
    dataset_evidence(experiment, "energy_differs", "recorded are %.8g J, the samples give %s",
                     recorded.value, energy);
}

/* expected: the figures that some row of its summary.csv has, bits of enum dataset_recorded. */
static void judge_recorded(struct dataset_experiment *experiment, unsigned expected,
                           bool integrated)
{
    const struct dataset_gpu *gpu = &experiment->gpu;
    struct reading recorded = experiment->recorded[RECORDED_GPU_TOTAL];
    bool known = recorded.valid && gpu->samples_sum_j.valid;
    if (experiment->recorded_finer) {
        judge_finer(experiment, recorded);
    } else if (known && integrated && !study_energy_is_integral(experiment)) {
        experiment->contradicts = true;
        dataset_evidence(experiment, "energy_differs",
                         "recorded are %.8g J, its samples times their seconds are %.8g to %.8g J: "
                         "the trace is not the one that was recorded",
                         recorded.value, gpu->integral_low_j, gpu->integral_high_j);
    } else if (known && !integrated && !study_energy_is_sum(experiment)) {
        experiment->contradicts = true;
        dataset_evidence(experiment, "energy_differs",
                         "recorded are %.8g J, its samples add up to %.8g J: the trace is not the "
                         "one that was recorded",
                         recorded.value, gpu->samples_sum_j.value);
    }
    judge_sums(experiment, expected);
    /* A failure has no energy of a result that its retries could have changed. */
    if (experiment->retries > 0 && experiment->success)
        dataset_evidence(experiment, "energy_overwritten",
                         "it was retried %lld time%s: the energy that the earlier attempts used is "
                         "lost, the figures are the last "
                         "one's",
                         (long long)experiment->retries, experiment->retries == 1 ? "" : "s");
}

static void judge_impossible(struct dataset_experiment *experiment)
{
    const struct reading *recorded = experiment->recorded;
    if (experiment->duration_s.valid && experiment->duration_s.value <= 0)
        dataset_evidence(experiment, "value_impossible", "it took %g s",
                         experiment->duration_s.value);
    for (int i = 0; i < RECORDED_COUNT; i++) {
        bool percent = i == RECORDED_UTILISATION_MEAN || i == RECORDED_UTILISATION_MAX;
        bool celsius = i == RECORDED_TEMPERATURE_MEAN || i == RECORDED_TEMPERATURE_MAX;
        double low = celsius ? -50 : 0, high = percent ? 100 : celsius ? 150 : INFINITY;
        if (recorded[i].valid && (recorded[i].value < low || recorded[i].value > high))
            dataset_evidence(experiment, "value_impossible", "%s is %g", energy_column((size_t)i),
                             recorded[i].value);
    }
    struct reading mean = recorded[RECORDED_GPU_MEAN], least = recorded[RECORDED_GPU_MIN],
                   most = recorded[RECORDED_GPU_MAX];
    if (mean.valid && least.valid && most.valid &&
        (mean.value < least.value * (1 - 1e-9) || mean.value > most.value * (1 + 1e-9)))
        dataset_evidence(
            experiment, "value_impossible",
            "the mean power, %g W, is not between the lowest, %g W, and the highest, %g W",
            mean.value, least.value, most.value);
}

static void judge_metrics(struct dataset_experiment *experiment, bool expected)
{
    if (!dataset_has_metric(experiment) && expected && experiment->has_success &&
        experiment->success)
        dataset_evidence(experiment, "success_without_metrics",
                         "it counts as a success, and none of its results is there");
}

static void judge_missing(struct dataset_experiment *experiment, unsigned expected,
                          bool has_summary)
{
    static const char *const files[] = {"gpu_power.csv", "gpu_utilization.csv",
                                        "gpu_temperature.csv", "cpu_energy_raw.txt",
                                        "cpu_energy.txt"};
    if (!experiment->has_end)
        dataset_evidence(experiment, "value_missing", "when it ended is not known");
    if (!experiment->duration_s.valid)
        dataset_evidence(experiment, "value_missing", "how long it took is not known");
    if (!experiment->has_success)
        dataset_evidence(experiment, "value_missing", "whether it succeeded is not known");
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++)
        if (experiment->gpu.missing & expected & 1U << i)
            dataset_evidence(experiment, "value_missing", "there is no energy/%s", files[i]);
        else if (experiment->gpu.missing & 1U << i)
            dataset_check(experiment, CHECK_DATA, CHECK_NOT_MADE,
                          "no experiment of the folder has energy/%s", files[i]);
    if (!has_summary)
        dataset_check(experiment, CHECK_DATA, CHECK_NOT_MADE,
                      "there is no summary.csv to compare its record with");
}

/* Which files and figures at least one experiment of the folder has. */
static void find_expected(const struct dataset *dataset, size_t folder, unsigned *files,
                          unsigned *figures)
{
    *files = *figures = 0;
    EACH (experiment, dataset->items, dataset->count) {
        if (experiment->folder == folder)
            *files |= ~experiment->gpu.missing;
        for (unsigned f = 0; f < RECORDED_COUNT && experiment->folder == folder; f++)
            *figures |= (unsigned)experiment->recorded[f].valid << f;
    }
}

static void judge_each(struct dataset *dataset)
{
    size_t known = SIZE_MAX;
    unsigned expected = 0, figures = 0;
    for (size_t i = 0; i < dataset->count; i++) {
        struct dataset_experiment *experiment = &dataset->items[i];
        if (dataset->folders[experiment->folder].layout != DATASET_STUDY) {
            /* its plan says which there are */
            judge_metrics(experiment, experiment->metric_count > 0);
            continue;
        }
        if (experiment->folder != known)
            find_expected(dataset, known = experiment->folder, &expected, &figures);
        const struct dataset_folder *folder = &dataset->folders[experiment->folder];
        judge_sampling(experiment, folder->interval_s);
        judge_length(experiment);
        judge_recorded(experiment, figures, folder->energy_integrated);
        judge_impossible(experiment);
        judge_missing(experiment, expected, dataset->folders[experiment->folder].has_summary);
        judge_metrics(experiment, true);
        if (!audit_id_well_formed(experiment))
            dataset_evidence(experiment, "malformed_id",
                             "'%.200s' is not <repository>_<model>_<number>%s", experiment->id,
                             experiment->parallel ? "_parallel" : "");
    }
}

static void judge_duplicates(struct dataset *dataset)
{
    AUTO_FREE char **keys = mem_array(dataset->count + 1, sizeof *keys);
    AUTO_FREE size_t *order = NULL, *groups = NULL;
    for (size_t i = 0; i < dataset->count; i++)
        keys[i] = mem_printf("%zu\n%s", dataset->items[i].folder, dataset->items[i].id);
    size_t count = audit_group_by(keys, dataset->count, &order, &groups);
    for (size_t g = 0; g < count; g++) {
        size_t alike = groups[g + 1] - groups[g];
        for (size_t i = groups[g]; alike > 1 && i < groups[g + 1]; i++)
            dataset_evidence(&dataset->items[order[i]], "duplicate_id",
                             "%zu experiments have the id %.200s", alike,
                             dataset->items[order[i]].id);
    }
}

/* What a folder in the study's layout does not tell is told by others of its checks. */
static void judge_untold(struct dataset_experiment *experiment)
{
    static const struct {
        enum check check;
        const char *text;
    } untold[] = {
        {CHECK_PROCESSES_BEFORE, "no process lists in this folder: judged by idle_before"},
        {CHECK_PROCESSES_AFTER,
         "no process lists in this folder: judged by how the next one begins"},
        {CHECK_BASELINE, "not recorded in this layout"},
        {CHECK_MEMORY_BACK, "not recorded in this layout: judged by how the next one begins"},
    };
    EACH_OF (item, untold)
        dataset_check(experiment, item->check, CHECK_NOT_NEEDED, "%s", item->text);
    if (!experiment->parallel)
        dataset_check(experiment, CHECK_BACKGROUND_LOAD, CHECK_NOT_NEEDED,
                      "no background was planned");
}

static const struct {
    enum check check;
    const char *what, *evidence;
} comparisons[LIKE_MAIN] = {
    [LIKE_TIME] = {CHECK_LIKE_TIME, "time", "time_unlike"},
    [LIKE_GPU_ENERGY] = {CHECK_LIKE_ENERGY, "GPU energy", "energy_unlike"},
    [LIKE_CPU_ENERGY] = {CHECK_OTHER_CPU, "CPU energy", "energy_unlike"},
};

static bool is_unlike(const struct judge_figure *figure, double p_value)
{
    const struct stats_prediction *p = &figure->prediction;
    double far = fmin(fabs(p->excess), fabs(figure->off));
    return p->valid && figure->same >= SAME_LEAST && far >= LIMIT_UNLIKE &&
           far > p->sigma * special_t_quantile(1 - p_value / 2, figure->df);
}

static void write_seen(const struct judge_figure *figure, enum like_figure which, char out[160])
{
    const struct stats_prediction *p = &figure->prediction;
    double off = 100 * expm1(p->excess);
    snprintf(out, 160, "%s %+.1f %% off what %.0f others let expect (standard deviation %.1f %%)",
             comparisons[which].what, fabs(off) < 0.05 ? 0.0 : off, p->others, 100 * p->sigma);
}

/* Of a run that made its own checks a comparison adds what is beyond chance alone. */
static void tell_unlike(struct dataset_experiment *experiment, const struct judge_state *state,
                        double p_value)
{
    char seen[160];
    for (int f = 0; f < LIKE_MAIN; f++)
        if (is_unlike(&state->like[f], p_value)) {
            write_seen(&state->like[f], (enum like_figure)f, seen);
            dataset_evidence(experiment, comparisons[f].evidence, "%s", seen);
        }
}

/* Whether the bounds of what it is off its kind are small enough; what disturbs a training mostly
 * makes it take more. */
static bool is_like(const struct judge_figure *figure)
{
    const struct stats_prediction *p = &figure->prediction;
    double slack = LIMIT_DEVIATIONS * p->sigma;
    return p->valid && p->agreeing >= 1 - LIMIT_APART && p->excess + slack <= LIMIT_MORE &&
           slack - p->excess <= LIMIT_LESS;
}

/* Disturbances add to time and energy. One far below the others may be the only undisturbed one;
 * one that drew more but took far less time ran on a machine that was faster, not beside a program.
 */
static bool may_be_undisturbed(const struct judge_state *state, enum like_figure which,
                               double p_value)
{
    const struct judge_figure *time = &state->like[LIKE_TIME];
    return state->like[which].prediction.excess < 0 ||
           (is_unlike(time, p_value) && time->prediction.excess < 0);
}

/* One comparison: passed where a disturbance of that size would have shown, failed where it is
 * beyond chance in a folder with so many comparisons, else it cannot tell. */
static void compare_like(struct dataset_experiment *experiment, const struct judge_state *state,
                         enum like_figure which, double p_value)
{
    const struct judge_figure *figure = &state->like[which];
    const struct stats_prediction *p = &figure->prediction;
    enum check check = comparisons[which].check;
    char seen[160];
    if (!experiment->success) {
        dataset_check(experiment, check, CHECK_NOT_NEEDED, "it did not succeed");
        return;
    }
    if (!p->valid) {
        dataset_check(experiment, check, CHECK_NOT_MADE, "%s", figure->why);
        return;
    }
    write_seen(figure, which, seen);
    if (state->changed) {
        dataset_check(experiment, check, CHECK_NOT_MADE,
                      "%s: the machine may have changed in between", seen);
    } else if (is_unlike(figure, p_value) && may_be_undisturbed(state, which, p_value)) {
        dataset_check(experiment, check, CHECK_NOT_MADE, "%s: it or all of its kind were disturbed",
                      seen);
    } else if (is_unlike(figure, p_value)) {
        dataset_check(experiment, check, CHECK_FAILED, "%s", seen);
        dataset_evidence(experiment, comparisons[which].evidence, "%s", seen);
    } else if (which != LIKE_TIME && figure->below && is_like(figure)) {
        dataset_check(experiment, check, CHECK_NOT_MADE,
                      "%s: others of its kind are far lower, which may be the undisturbed ones",
                      seen);
    } else if (is_like(figure)) {
        dataset_check(experiment, check, CHECK_PASSED, "%s", seen);
    } else {
        dataset_check(experiment, check, CHECK_NOT_MADE, "%s: %s", seen,
                      p->agreeing < 1 - LIMIT_APART
                          ? "its kind falls into groups, nobody knows which is undisturbed"
                          : "chance or a disturbance, nobody can tell");
    }
}

/* What lasted as long as a whole kind that ran in a row did not end just where the kind did, but
 * for a chance: those that ran before and behind it would show it. Programs on the processors show
 * nowhere else. */
static void judge_row(struct dataset *dataset, const struct judge_state *states, size_t index)
{
    struct dataset_experiment *experiment = &dataset->items[index];
    for (int side = 0; states[index].in_a_row && experiment->success && side < 2; side++) {
        size_t end = states[index].ends[side];
        if (end != JUDGE_NOBODY &&
            !(dataset->items[end].success && is_like(&states[end].like[LIKE_CPU_ENERGY])))
            dataset_check(experiment, CHECK_OTHER_CPU, CHECK_NOT_MADE,
                          "all of its kind ran one after another, and CPU energy of %.60s, just %s "
                          "them, is not known "
                          "to be like its kind's: "
                          "the same may have run beside all",
                          dataset->items[end].id, side ? "behind" : "before");
    }
}

static void judge_compared(struct dataset *dataset, const struct judge_state *states, size_t index,
                           double p_value)
{
    struct dataset_experiment *experiment = &dataset->items[index];
    const struct judge_state *state = &states[index];
    for (int f = 0; f < LIKE_MAIN; f++)
        compare_like(experiment, state, (enum like_figure)f, p_value);
    judge_row(dataset, states, index);
    if (experiment->parallel && state->in_a_row &&
        !dataset_check_passed(experiment, CHECK_IDLE_BEFORE))
        dataset_check(experiment, CHECK_PROCESSES_DURING, CHECK_NOT_MADE,
                      "its background hides what else ran, and all of its kind ran one after "
                      "another: the same may have "
                      "run beside all");
}

/* Which quantities a row has: of a training whose model has no metrics none is asked for. */
static unsigned quantities_of(const struct dataset_experiment *experiment)
{
    unsigned has = 1u << QUANTITY_TIME | 1u << QUANTITY_ENERGY;
    EACH (item, experiment->checks, experiment->check_count)
        if (item->check == CHECK_METRIC_PLAUSIBLE && item->outcome != CHECK_NOT_NEEDED)
            has |= 1u << QUANTITY_METRIC;
    return dataset_has_metric(experiment) ? has | 1u << QUANTITY_METRIC : has;
}

/* A run that recorded no checks is judged by its evidence alone. */
static void set_verdict(struct dataset_experiment *experiment, bool watched)
{
    AUTO_FREE struct evidence_found *found =
        mem_array(experiment->evidence_count + 1, sizeof *found);
    struct check_result unlisted[CHECKS];
    bool listed = experiment->check_count > 0;
    for (unsigned i = 0; i < CHECKS; i++)
        unlisted[i] = (struct check_result){(enum check)i, CHECK_NOT_NEEDED, NULL};
    for (size_t i = 0; i < experiment->evidence_count; i++)
        found[i] = (struct evidence_found){experiment->evidence[i].kind,
                                           experiment->evidence[i].quantities};
    experiment->verdicts = verdicts_judge(
        quantities_of(experiment), listed ? experiment->checks : unlisted,
        listed ? experiment->check_count : CHECKS, found, experiment->evidence_count);
    experiment->verdict = verdict_of_end(experiment->verdicts.row, experiment->success);
    /* Of a failure, and of what nobody watched, only what speaks against it is told. */
    bool tells = watched && experiment->success;
    if (!tells && experiment->verdict <= VERDICT_UNVERIFIED)
        experiment->verdict = VERDICT_NONE;
    for (int i = 0; i < QUANTITIES; i++)
        if (!tells && experiment->verdicts.of[i] <= VERDICT_UNVERIFIED)
            experiment->verdicts.of[i] = VERDICT_NONE;
}

static bool is_doubted(const struct dataset_experiment *experiment)
{
    EACH (item, experiment->evidence, experiment->evidence_count) {
        const struct evidence_kind *kind = evidence_find(item->kind);
        unsigned touched = item->quantities ? item->quantities : kind->quantities;
        if (!item->of_temperature && kind->weight >= EVIDENCE_INCONSISTENT &&
            touched & (1u << QUANTITY_TIME | 1u << QUANTITY_ENERGY))
            return true;
    }
    return false;
}

/* Nothing in a folder in the study's layout excludes that another program ran, so time and energy
 * are not clean: consistency says how well they agree. After judge_agreement, which reads what the
 * starts of neighbours show of this check. */
static void judge_unrecorded(struct dataset *dataset)
{
    for (size_t i = 0; i < dataset->count; i++) {
        struct dataset_experiment *experiment = &dataset->items[i];
        if (dataset->folders[experiment->folder].layout != DATASET_STUDY)
            continue;
        dataset_check(experiment, CHECK_PROCESSES_DURING, CHECK_NOT_MADE, DATASET_NO_PROCESSES);
        if (experiment->judged)
            set_verdict(experiment, !experiment->unwatched);
    }
}

void audit_judge(struct dataset *dataset)
{
    AUTO_FREE struct judge_state *states = mem_array(dataset->count + 1, sizeof *states);
    size_t tests = 0;
    judge_each(dataset);
    judge_duplicates(dataset);
    consistency_find(dataset);
    judge_idle(dataset, states);
    for (size_t i = 0; i < dataset->count; i++) {
        states[i].doubted = is_doubted(&dataset->items[i]) ||
                            dataset_has_evidence(&dataset->items[i], "training_short");
        states[i].lacking = dataset->items[i].gpu.missing &
                            (MISSING_POWER | MISSING_UTILISATION | MISSING_PERF | MISSING_RECORD);
    }
    judge_like(dataset, states, NULL);
    judge_change(dataset, states);
    judge_siblings(dataset, states);
    judge_background(dataset, states);
    EACH (state, states, dataset->count)
        for (int f = 0; f < LIKE_MAIN; f++)
            tests += state->like[f].prediction.valid;
    for (size_t i = 0; i < dataset->count; i++) {
        struct dataset_experiment *experiment = &dataset->items[i];
        if (dataset->folders[experiment->folder].layout == DATASET_STUDY) {
            judge_compared(dataset, states, i, LIMIT_FALSE / (double)(tests + 1));
            judge_untold(experiment);
        } else if (experiment->success && experiment->duration_s.valid &&
                   experiment->duration_s.value >= LIMIT_SHORTEST_S)
            tell_unlike(experiment, &states[i], LIMIT_FALSE / (double)(tests + 1));
        if (experiment->judged)
            set_verdict(experiment, !experiment->unwatched);
    }
    judge_agreement(dataset, states);
    judge_unrecorded(dataset);
    EACH (experiment, dataset->items, dataset->count) {
        struct dataset_folder *folder = &dataset->folders[experiment->folder];
        folder->has_records |= folder->layout == DATASET_TARE ||
                               (folder->layout == DATASET_STUDY && experiment->gpu.samples > 0);
    }
}
