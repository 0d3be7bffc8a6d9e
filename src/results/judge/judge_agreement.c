#include "results/judge/judge_agreement.h"
#include "results/judge/identical.h"
#include "results/judge/judge_change.h"
#include "results/judge/judge_like.h"

#include "base/mem.h"
#include "stats/describe.h"

#include <math.h>
#include <string.h>

/* Counted among comparable experiments. Fewer show neither the usual value nor its scatter. */
static const double siblings_least = 3;
/* What a folder's kinds show of the scatter counts for one kind as so many degrees of freedom, and
 * LIMIT_NOISE for a folder as so many. A median of distances has this share of the information. The
 * highest power counts the folder more: its disturbed siblings would hide each other. */
static const double folder_df = 8, peak_df = 40, usual_df = 2, median_share = 0.37,
                    median_to_sd = 1.4826;
static const struct stats_noise usual_noise = {LIMIT_NOISE * LIMIT_NOISE * 4, 4};

const char *agreement_name(enum agreement agreement)
{
    static const char *const names[] = {"unknown", "consistent", "contradicted"};
    return names[agreement];
}

const char *agreement_reason_text(enum agreement_reason reason)
{
    static const char *const texts[AGREEMENT_REASONS] = {
        [AGREEMENT_FAILED] = "the training failed",
        [AGREEMENT_NOT_RECORDED] = "the figure was not recorded",
        [AGREEMENT_DATA] = "its own files are incomplete or imprecise",
        [AGREEMENT_CHANGED] = "the machine changed between the experiments",
        [AGREEMENT_NOT_IDLE] = "the GPU is not known to have been idle before or after",
        [AGREEMENT_HOT] = "the GPU was hotter at its start than at most others",
        [AGREEMENT_REST_HIGH] = "the idle GPU draws much power, maybe for another program",
        [AGREEMENT_BACKGROUND] = "the background is not known to have used the GPU",
        [AGREEMENT_UNUSED] = "it did not use the GPU, as others of its repository did",
        [AGREEMENT_FEW_SIBLINGS] = "fewer than three comparable siblings",
        [AGREEMENT_GROUPS] = "the siblings fall into groups, or one is far below the others",
        [AGREEMENT_SCATTER] = "the siblings scatter too much to exclude a disturbance of 10 %",
        [AGREEMENT_PEAK] = "its highest power differs from the siblings'",
        [AGREEMENT_DIFFERS] = "its distance to the siblings does not exclude a disturbance of 10 %",
    };
    return texts[reason];
}

/* Those that estimate effects of hyperparameters show no scatter. */
static double count_siblings(const struct judge_figure *figure)
{
    const struct stats_prediction *p = &figure->prediction;
    return fmax((double)figure->same, p->others / p->agreeing - (double)figure->varied);
}

static bool has_groups(const struct judge_figure *figure)
{
    return figure->prediction.agreeing < 1 - LIMIT_GROUPS || figure->below;
}

/* Whether the siblings show the value that a figure should have. */
static enum agreement_reason check_siblings(const struct judge_figure *figure)
{
    if (!figure->prediction.valid || count_siblings(figure) < siblings_least - 0.5)
        return AGREEMENT_FEW_SIBLINGS;
    return has_groups(figure) ? AGREEMENT_GROUPS : AGREEMENT_NO_REASON;
}

/* The disturbance that a figure may have, as an interval: it must not hold LIMIT_EXCLUDED. */
static enum agreement_reason check_interval(const struct judge_figure *figure)
{
    const struct stats_prediction *p = &figure->prediction;
    double more = log1p(LIMIT_EXCLUDED), less = log1p(-LIMIT_EXCLUDED);
    double df = folder_df + fmax(0, p->others - 1 - (double)figure->varied);
    double half_width = special_t_quantile(1 - LIMIT_MISSED, df) * p->sigma;
    if (2 * half_width > more - less)
        return AGREEMENT_SCATTER;
    return p->excess + half_width > more || p->excess - half_width < less ? AGREEMENT_DIFFERS
                                                                          : AGREEMENT_NO_REASON;
}

static bool is_off(const struct judge_figure *figure)
{
    return fabs(figure->prediction.excess) > LIMIT_OFF * figure->prediction.sigma;
}

/* Time by its interval, energy by those of the GPU and the processors. The others must not be off:
 * a program beside it may add to one and leave the other. */
static enum agreement_reason compare_figures(const struct judge_state *state,
                                             enum quantity quantity)
{
    enum agreement_reason found = AGREEMENT_NO_REASON;
    size_t energies = 0;
    const struct judge_figure *peak = &state->like[LIKE_POWER_MAX];
    if (is_off(peak))
        return AGREEMENT_PEAK;
    for (int f = 0; f < LIKE_MAIN && !found; f++) {
        const struct judge_figure *figure = &state->like[f];
        if (f != LIKE_TIME && !figure->prediction.valid)
            continue;
        energies += f != LIKE_TIME;
        found = check_siblings(figure);
        if (!found)
            found = (f == LIKE_TIME) == (quantity == QUANTITY_TIME) ? check_interval(figure)
                    : is_off(figure)                                ? AGREEMENT_DIFFERS
                                                                    : AGREEMENT_NO_REASON;
    }
    return found || energies > 0 ? found : AGREEMENT_FEW_SIBLINGS;
}

/* The nearest on one side of the folder's order that ran alone; JUDGE_NOBODY without one. */
static size_t alone_beside(const struct dataset *dataset, const struct judge_state *states,
                           size_t index, int side)
{
    do
        index = states[index].next[side];
    while (index != JUDGE_NOBODY && dataset->items[index].parallel);
    return index;
}

/* Whether its GPU drew no more than at rest as it began, and was idle. */
static bool was_at_rest(const struct judge_state *state)
{
    return state->at_rest && !state->fell;
}

/* Whether the experiments beside it began on a GPU that was busy, or may have been. */
static bool can_be_shared(const struct dataset_experiment *experiment)
{
    EACH (result, experiment->checks, experiment->check_count)
        if (result->check == CHECK_PROCESSES_DURING && result->outcome == CHECK_NOT_MADE)
            return true;
    return false;
}

/* A background begins first, so the start of a parallel one shows nothing: the next that ran alone
 * does, or the last if none follows. Only folders of the study are in the order of their starts;
 * runs of tare checked it themselves. */
static bool was_idle(const struct dataset *dataset, const struct judge_state *states, size_t index)
{
    const struct dataset_experiment *experiment = &dataset->items[index];
    if (dataset->folders[experiment->folder].layout != DATASET_STUDY)
        return dataset_check_passed(experiment, CHECK_IDLE_BEFORE);
    if (can_be_shared(experiment))
        return false;
    if (was_at_rest(&states[index]))
        return true;
    /* Clocks may be up before a program uses the GPU, but nothing else computes on it then. */
    if (!experiment->parallel && experiment->gpu.early_utilisation_percent.value > 0)
        return false;
    size_t beside = alone_beside(dataset, states, index, 1);
    if (beside == JUDGE_NOBODY && experiment->parallel)
        beside = alone_beside(dataset, states, index, 0);
    return beside != JUDGE_NOBODY && was_at_rest(&states[beside]);
}

/* One that others of its repository differ from by their use of the GPU may have fallen back to the
 * processors, and so may all of its kind: sets unused. */
static void find_unused(const struct dataset *dataset, struct judge_state *states)
{
    AUTO_FREE char **keys = mem_array(dataset->count + 1, sizeof *keys);
    AUTO_FREE size_t *order = NULL, *groups = NULL;
    for (size_t i = 0; i < dataset->count; i++)
        keys[i] = mem_strdup(dataset->items[i].repo);
    size_t count = audit_group_by(keys, dataset->count, &order, &groups);
    for (size_t g = 0; g < count; g++) {
        bool used = false;
        for (int round = 0; round < 2; round++)
            for (size_t i = groups[g]; i < groups[g + 1]; i++) {
                const struct dataset_experiment *experiment = &dataset->items[order[i]];
                struct reading most = experiment->gpu.utilisation_max_percent;
                bool busy = most.valid && most.value >= LIMIT_BUSY_PERCENT;
                used |= busy;
                states[order[i]].unused = used && most.valid && !busy;
            }
    }
}

/* A GPU that is hot from other work may lower its clocks: sets hot. */
static void find_hot(const struct dataset *dataset, struct judge_state *states)
{
    AUTO_FREE double *starts = mem_array(dataset->count + 1, sizeof *starts);
    for (size_t folder = 0; folder < dataset->folder_count; folder++) {
        size_t n = 0;
        EACH (experiment, dataset->items, dataset->count)
            if (experiment->folder == folder && experiment->gpu.temperature_start_c.valid)
                starts[n++] = experiment->gpu.temperature_start_c.value;
        double usual = n ? stats_median(starts, n).value : 0;
        for (size_t i = 0; i < dataset->count; i++) {
            struct reading start = dataset->items[i].gpu.temperature_start_c;
            if (dataset->items[i].folder == folder)
                states[i].hot = start.valid && start.value > usual + LIMIT_HOTTER_K;
        }
    }
}

static bool passed_consistency(const struct dataset_experiment *experiment)
{
    EACH_OF (outcome, experiment->consistency)
        if (*outcome == CHECK_FAILED || *outcome == CHECK_NOT_MADE)
            return false;
    return true;
}

/* The heaviest evidence against a quantity. */
static enum evidence_weight weight_against(const struct dataset_experiment *experiment,
                                           enum quantity quantity)
{
    enum evidence_weight heaviest = EVIDENCE_RECORDED;
    EACH (item, experiment->evidence, experiment->evidence_count) {
        const struct evidence_kind *kind = evidence_find(item->kind);
        unsigned touched = item->quantities ? item->quantities : kind ? kind->quantities : ~0u;
        enum evidence_weight weight = evidence_weight(item->kind);
        if (touched & 1u << quantity && weight > heaviest)
            heaviest = weight;
    }
    return heaviest;
}

/* Checks of consistency may weigh little and yet contradict. */
static bool failed_consistency(const struct dataset_experiment *experiment, enum quantity quantity)
{
    for (int i = 0; i < CONSISTENCIES; i++) {
        const struct evidence_kind *kind =
            evidence_find(consistency_check((enum consistency)i)->evidence);
        if (experiment->consistency[i] == CHECK_FAILED && kind->quantities & 1u << quantity)
            return true;
    }
    return false;
}

/* Metrics depend on neither time nor power, but on what the siblings and the GPU show of both. */
static void judge_quantity(struct dataset *dataset, const struct judge_state *states, size_t index,
                           enum quantity quantity)
{
    struct dataset_experiment *experiment = &dataset->items[index];
    const struct judge_state *state = &states[index];
    bool known = quantity == QUANTITY_TIME     ? experiment->duration_s.valid
                 : quantity == QUANTITY_ENERGY ? dataset_energy(experiment).valid
                                               : dataset_has_metric(experiment);
    enum evidence_weight weight = weight_against(experiment, quantity);
    enum agreement *agreement = &experiment->agreement[quantity];
    enum agreement_reason *reason = &experiment->agreement_reason[quantity];
    *reason = AGREEMENT_NO_REASON;
    *agreement = AGREEMENT_CONTRADICTED;
    if (experiment->is_copy || experiment->contradicts || weight >= EVIDENCE_SUSPECT ||
        failed_consistency(experiment, quantity))
        return;
    *agreement = AGREEMENT_UNKNOWN;
    if (!experiment->success)
        *reason = AGREEMENT_FAILED;
    else if (!known)
        *reason = AGREEMENT_NOT_RECORDED;
    else if (weight > EVIDENCE_RECORDED || state->lacking || !passed_consistency(experiment))
        *reason = AGREEMENT_DATA;
    else if (state->changed || state->busy)
        *reason = state->changed ? AGREEMENT_CHANGED : AGREEMENT_NOT_IDLE;
    else if (!was_idle(dataset, states, index))
        *reason = AGREEMENT_NOT_IDLE;
    else if (state->hot)
        *reason = AGREEMENT_HOT;
    else if (quantity == QUANTITY_ENERGY && state->rest_high)
        *reason = AGREEMENT_REST_HIGH;
    else if (experiment->parallel && !dataset_check_passed(experiment, CHECK_BACKGROUND_LOAD))
        *reason = AGREEMENT_BACKGROUND;
    else if (state->unused)
        *reason = AGREEMENT_UNUSED;
    else
        *reason = compare_figures(state, quantity);
    if (!*reason)
        *agreement = AGREEMENT_CONSISTENT;
}

/* Contradicted as soon as one figure is, consistent where all that it has are. */
static void judge_row(struct dataset_experiment *experiment)
{
    experiment->row_agreement = AGREEMENT_CONSISTENT;
    for (int i = 0; i < QUANTITIES; i++) {
        enum agreement one = experiment->agreement[i];
        if (one == AGREEMENT_CONSISTENT ||
            (one == AGREEMENT_UNKNOWN && i == QUANTITY_METRIC && !dataset_has_metric(experiment)))
            continue;
        if (one == AGREEMENT_CONTRADICTED || experiment->row_agreement == AGREEMENT_CONSISTENT) {
            experiment->row_agreement = one;
            experiment->row_reason = experiment->agreement_reason[i];
        }
    }
}

/* The scatter of repeats that all kinds of a folder show, as three siblings alone show little of
 * it: by the median of their distances, which a disturbed minority changes little. */
static struct stats_noise learn_noise(const struct dataset *dataset,
                                      const struct judge_state *states, size_t folder, int figure)
{
    AUTO_FREE double *apart = mem_array(dataset->count + 1, sizeof *apart);
    double df = 0, usual = LIMIT_NOISE * LIMIT_NOISE;
    size_t count = 0;
    for (size_t i = 0; i < dataset->count; i++) {
        const struct stats_prediction *p = &states[i].like[figure].prediction;
        if (dataset->items[i].folder != folder || !dataset->items[i].success || !p->valid ||
            states[i].busy || states[i].doubted || has_groups(&states[i].like[figure]))
            continue;
        apart[count++] = fabs(p->excess) * p->noise / p->sigma;
        df += median_share * p->others / (1 + p->others);
    }
    double sd = count ? median_to_sd * stats_median(apart, count).value : 0;
    double variance = (df * sd * sd + usual_df * usual) / (df + usual_df);
    double known_df = figure == LIKE_POWER_MAX ? peak_df : folder_df;
    return (struct stats_noise){variance * known_df, known_df};
}

void judge_agreement(struct dataset *dataset, const struct judge_state *judged)
{
    AUTO_FREE struct judge_state *states = mem_array(dataset->count + 1, sizeof *states);
    AUTO_FREE judge_noise *noise = mem_array(dataset->folder_count + 1, sizeof *noise);
    memcpy(states, judged, dataset->count * sizeof *states);
    find_unused(dataset, states);
    find_hot(dataset, states);
    for (size_t i = 0; i < dataset->count; i++)
        states[i].doubted |=
            weight_against(&dataset->items[i], QUANTITY_TIME) >= EVIDENCE_SUSPECT ||
            weight_against(&dataset->items[i], QUANTITY_ENERGY) >= EVIDENCE_SUSPECT;
    for (size_t folder = 0; folder < dataset->folder_count; folder++)
        for (int figure = 0; figure < LIKE_FIGURES; figure++)
            noise[folder][figure] = usual_noise;
    judge_like(dataset, states, noise);
    for (size_t folder = 0; folder < dataset->folder_count; folder++)
        for (int figure = 0; figure < LIKE_FIGURES; figure++)
            noise[folder][figure] = learn_noise(dataset, states, folder, figure);
    judge_like(dataset, states, noise);
    judge_change_doubt(dataset, states);
    for (size_t i = 0; i < dataset->count; i++) {
        struct dataset_experiment *experiment = &dataset->items[i];
        if (!experiment->judged)
            continue;
        for (int quantity = 0; quantity < QUANTITIES; quantity++)
            judge_quantity(dataset, states, i, (enum quantity)quantity);
        judge_row(experiment);
    }
}
