/* judge_agreement: whether figures agree with those of comparable experiments. It needs no list of
 * processes, so it says less than a verdict. */
#include "results/judge/judge_private.h"

#include "base/mem.h"

#include <math.h>

/* Of comparable others. Fewer show neither the usual value nor its scatter. */
static const double siblings_least = 3;

const char *agreement_name(enum agreement agreement)
{
    static const char *const names[] = {"unknown", "consistent", "contradicted"};
    return names[agreement];
}

static bool has_siblings(const struct judge_figure *figure)
{
    const struct stats_prediction *p = &figure->prediction;
    return p->valid && p->agreeing >= 1 - LIMIT_APART &&
           p->others / p->agreeing >= siblings_least - 0.5;
}

/* A disturbance mostly adds to a figure, so the upper limit is the narrower one. */
static bool is_inside(const struct judge_figure *figure)
{
    double slack = LIMIT_AGREE_DEVIATIONS * figure->prediction.sigma;
    return figure->prediction.excess + slack <= LIMIT_AGREE_MORE &&
           slack - figure->prediction.excess <= LIMIT_AGREE_LESS;
}

/* Time and GPU energy, or without a GPU CPU energy; CPU energy where it is known. */
static bool agrees_with_siblings(const struct judge_state *state)
{
    size_t energies = 0;
    for (int f = 0; f < LIKE_FIGURES; f++) {
        const struct judge_figure *figure = &state->like[f];
        if (figure->prediction.valid && (!has_siblings(figure) || !is_inside(figure)))
            return false;
        energies += f != LIKE_TIME && figure->prediction.valid;
    }
    return !state->changed && !state->busy && state->like[LIKE_TIME].prediction.valid &&
           energies > 0;
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

/* Where the GPU is never busy, rest and peak are alike. */
static bool was_at_rest(const struct dataset *dataset, const struct judge_state *states,
                        size_t index)
{
    const struct judge_state *state = &states[index];
    struct reading most = dataset->items[index].gpu.utilisation_max_percent;
    bool unused = most.valid && most.value < LIMIT_BUSY_PERCENT;
    return state->at_rest && !state->fell && (!state->rest_high || unused);
}

/* A background begins first, so the start of a parallel one shows nothing: the next that ran alone
 * does, or the last if none follows. Only folders of the study are in the order of their starts;
 * runs of tare checked it themselves. */
static bool was_idle(const struct dataset *dataset, const struct judge_state *states, size_t index)
{
    const struct dataset_experiment *experiment = &dataset->items[index];
    if (dataset->folders[experiment->folder].layout != DATASET_STUDY)
        return dataset_check_passed(experiment, CHECK_IDLE_BEFORE);
    if (was_at_rest(dataset, states, index))
        return true;
    size_t beside = alone_beside(dataset, states, index, 1);
    if (beside == JUDGE_NOBODY && experiment->parallel)
        beside = alone_beside(dataset, states, index, 0);
    return beside != JUDGE_NOBODY && was_at_rest(dataset, states, beside);
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

static enum agreement agreement_of(const struct dataset_experiment *experiment,
                                   enum quantity quantity, bool agrees)
{
    enum evidence_weight weight = weight_against(experiment, quantity);
    if (experiment->is_copy || experiment->contradicts || weight >= EVIDENCE_SUSPECT ||
        failed_consistency(experiment, quantity))
        return AGREEMENT_CONTRADICTED;
    bool known = quantity == QUANTITY_TIME     ? experiment->duration_s.valid
                 : quantity == QUANTITY_ENERGY ? dataset_energy(experiment).valid
                                               : dataset_has_metric(experiment);
    return agrees && known && weight == EVIDENCE_RECORDED ? AGREEMENT_CONSISTENT
                                                          : AGREEMENT_UNKNOWN;
}

/* Of the row: contradicted as soon as one figure is, consistent where all that it has are. */
static enum agreement agreement_of_row(const struct dataset_experiment *experiment)
{
    enum agreement row = AGREEMENT_CONSISTENT;
    for (int i = 0; i < QUANTITIES; i++) {
        enum agreement one = experiment->agreement[i];
        if (one == AGREEMENT_CONTRADICTED)
            return one;
        if (one == AGREEMENT_UNKNOWN && (i != QUANTITY_METRIC || dataset_has_metric(experiment)))
            row = AGREEMENT_UNKNOWN;
    }
    return row;
}

void judge_agreement(struct dataset *dataset, const struct judge_state *states)
{
    for (size_t i = 0; i < dataset->count; i++) {
        struct dataset_experiment *experiment = &dataset->items[i];
        bool agrees = experiment->success && agrees_with_siblings(&states[i]) &&
                      was_idle(dataset, states, i) && passed_consistency(experiment);
        for (int quantity = 0; experiment->judged && quantity < QUANTITIES; quantity++)
            experiment->agreement[quantity] =
                agreement_of(experiment, (enum quantity)quantity,
                             agrees && !(quantity == QUANTITY_ENERGY && states[i].rest_high));
        experiment->row_agreement =
            experiment->judged ? agreement_of_row(experiment) : AGREEMENT_UNKNOWN;
    }
}
