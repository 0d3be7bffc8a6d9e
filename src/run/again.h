/* again: which experiments are repeated: those without clean results, or those that a person names.
 */
#ifndef TARE_RUN_AGAIN_H
#define TARE_RUN_AGAIN_H

#include "results/store/store.h"

struct other_code; /* run/environment/other_code.h */

/* The first reason that applies counts. */
enum again_reason {
    AGAIN_UNVERIFIED,
    AGAIN_SUSPECT,
    AGAIN_CONTAMINATED,
    AGAIN_FAILED,
    AGAIN_NAMED,
    AGAIN_PENDING, /* planned, but not finished, by an earlier session */
    AGAIN_REASONS
};

struct again {
    bool *items;            /* by number - 1: to be repeated */
    enum verdict *verdicts; /* by number - 1: of the current result */
    size_t size;
    size_t count;
    size_t reasons[AGAIN_REASONS]; /* the same, by reason */
    /* ended before verdicts existed: not repeated */
    size_t unjudged;
};

/* Results that are not clean, and repetitions that an earlier session did not finish. */
void again_choose_unclean(const struct results *results, struct again *out);

/* which: "failed", "unverified", "suspect", "contaminated" and ids, separated by commas; NULL: as
 * again_choose_unclean. other: makes results unverified; may be NULL. */
bool again_choose(const struct results *results, const char *which, const struct other_code *other,
                  struct again *out, struct err *err);
void again_fini(struct again *again);

/* "1 unverified, 2 contaminated, 1 named"; the caller frees. */
char *again_reasons_text(const struct again *again);

#endif
