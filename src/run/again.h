/* again: which experiments of a run are done again because their figures cannot be relied on. */
#ifndef TARE_RUN_AGAIN_H
#define TARE_RUN_AGAIN_H

#include "base/err.h"
#include "results/store/store.h"

#include <stdbool.h>
#include <stddef.h>

struct again {
    bool *items;            /* by number - 1: it is to be done again */
    enum verdict *verdicts; /* by number - 1: of the result that stands */
    size_t size;
    size_t count;        /* of those */
    size_t unverified, suspect, contaminated, pending; /* of which: not planned again yet, by their verdict; planned by an earlier session */
    size_t unjudged;     /* ended before verdicts were given: left alone, as nothing speaks against them */
};

/* From what the store holds: results that are not clean, and what an earlier session planned again and did not
 * finish. */
bool again_choose(struct store *store, struct again *out, struct err *err);
void again_of_results(const struct results *results, struct again *out);
void again_fini(struct again *again);

/* "1 unverified, 1 suspect, 2 contaminated, 1 planned before"; fresh. */
char *again_why(const struct again *again);

#endif
