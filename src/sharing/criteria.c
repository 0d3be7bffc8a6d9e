/* What a study must show for its predictions to be believed. */
#include "sharing/feasibility.h"

#include <stdio.h>

static void set(struct pairs_criterion *out, const char *what, size_t met, size_t of, const char *things)
{
    *out = (struct pairs_criterion){.what = what, .known = of > 0, .met = met == of};
    snprintf(out->detail, sizeof out->detail, "%zu of %zu %s", met, of, things);
}

static void count_models(const struct feasibility *study, struct pairs_criterion *out)
{
    size_t met = 0, ran = 0;
    for (size_t i = 0; i < study->model_count; i++) {
        ran += study->models[i].ran;
        met += study->models[i].succeeded;
    }
    set(out, "every model runs alone to its end", met, ran, "models");
}

struct counts {
    size_t ran, predicted; /* predicted: to fit */
    size_t started, finished, kept, proven, wrong_fit, wrong_miss, missed;
};

/* Of pairs that were predicted to fit: whether they started, finished, and kept their background. */
static void count_pair(const struct pairs_pair *pair, struct counts *counts)
{
    const struct pairs_outcome *outcome = &pair->outcome;
    bool proven = outcome->result == PAIRS_PROVEN;
    if (!outcome->ran || !pair->prediction.known)
        return;
    counts->ran++;
    if (!pair->prediction.fits) {
        counts->missed++;
        counts->wrong_miss += proven;
        return;
    }
    counts->predicted++;
    counts->started += outcome->started;
    counts->finished += outcome->finished;
    counts->kept += !outcome->background_failed;
    counts->proven += proven;
    counts->wrong_fit += outcome->out_of_memory;
}

void feasibility_criteria(const struct feasibility *study, struct pairs_criterion out[PAIRS_CRITERIA])
{
    struct counts counts = {0};
    for (size_t i = 0; i < study->pair_count; i++)
        count_pair(&study->pairs[i], &counts);
    const char *pairs = "pairs predicted to fit";
    count_models(study, &out[0]);
    set(&out[1], "every pair predicted to fit starts", counts.started, counts.predicted, pairs);
    set(&out[2], "its foreground finishes its epoch", counts.finished, counts.predicted, pairs);
    set(&out[3], "its background goes on beside it", counts.kept, counts.predicted, pairs);
    set(&out[4], "none of them runs out of memory", counts.predicted - counts.wrong_fit, counts.predicted, pairs);
    set(&out[5], "at most one pair predicted not to fit does", counts.missed - counts.wrong_miss, counts.missed,
        "pairs predicted not to fit did not");
    out[5].met = counts.wrong_miss <= 1;
    set(&out[6], "every pair predicted to fit is proven", counts.proven, counts.predicted, pairs);
}
