/* again: which experiments of a run are done again: what is not clean, or what a person names. */
#ifndef TARE_RUN_AGAIN_H
#define TARE_RUN_AGAIN_H

#include "results/store/store.h"

struct other_code; /* run/environment/other_code.h */

/* An experiment has one: the first of these that holds. */
enum again_reason {
    AGAIN_UNVERIFIED,
    AGAIN_SUSPECT,
    AGAIN_CONTAMINATED,
    AGAIN_FAILED,
    AGAIN_NAMED,
    AGAIN_PENDING, /* planned by an earlier session, which did not finish it */
    AGAIN_REASONS
};

struct again {
    bool *items;            /* by number - 1: it is to be done again */
    enum verdict *verdicts; /* by number - 1: of the result that stands */
    size_t size;
    size_t count;                  /* of those */
    size_t reasons[AGAIN_REASONS]; /* of those, by what chose them */
    /* ended before verdicts were given: left alone, as nothing speaks against them */
    size_t unjudged;
};

/* Results that are not clean, and what an earlier session planned again and did not finish. */
void again_choose_unclean(const struct results *results, struct again *out);

/* which: "failed", "unverified", "suspect", "contaminated" and ids of experiments, with commas
 * between: these and no others; an id that did not end counts, too. NULL: as again_choose_unclean.
 * other: makes results unverified; NULL: none. */
bool again_choose(const struct results *results, const char *which, const struct other_code *other,
                  struct again *out, struct err *err);
void again_fini(struct again *again);

/* "1 unverified, 1 suspect, 2 contaminated, 1 failed, 1 named, 1 planned before"; fresh. */
char *again_reasons_text(const struct again *again);

#endif
