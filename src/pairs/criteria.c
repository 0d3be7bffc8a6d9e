/* What a study must show for its predictions to be believed. */
#include "pairs/feasibility.h"

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
    size_t ran, foretold; /* foretold: to fit */
    size_t started, finished, kept, proven, wrong_fit, wrong_miss, missed;
};

/* Of pairs that were foretold to fit: whether they started, finished, and kept their background. */
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
    counts->foretold++;
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
    const char *pairs = "pairs foretold to fit";
    count_models(study, &out[0]);
    set(&out[1], "every pair foretold to fit starts", counts.started, counts.foretold, pairs);
    set(&out[2], "its foreground finishes its epoch", counts.finished, counts.foretold, pairs);
    set(&out[3], "its background goes on beside it", counts.kept, counts.foretold, pairs);
    set(&out[4], "none of them runs out of memory", counts.foretold - counts.wrong_fit, counts.foretold, pairs);
    set(&out[5], "at most one pair foretold not to fit does", counts.missed - counts.wrong_miss, counts.missed,
        "pairs foretold not to fit did not");
    out[5].met = counts.wrong_miss <= 1;
    set(&out[6], "every pair foretold to fit is proven", counts.proven, counts.foretold, pairs);
}
