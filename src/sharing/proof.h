/* proof: whether the experiments of a pair prove that the two go together, and how often it takes
 * more of them. */
#ifndef TARE_SHARING_PROOF_H
#define TARE_SHARING_PROOF_H

#include "sharing/feasibility.h"

const char *pairs_result_name(enum pairs_result result); /* "not proven" */

/* The sum of both peaks alone, as the driver's samples show them; not valid: one of the two is not
 * known. */
struct reading pairs_peaks_alone(const struct feasibility *study, const struct pairs_pair *pair);

struct pairs_counts feasibility_counts(const struct feasibility *study);

/* The kinds of evidence against the pair: "foreign_process, host_pressure". The caller frees it. */
char *pairs_kinds_text(const struct pairs_outcome *outcome, const char *between);

void feasibility_criteria(const struct feasibility *study,
                          struct pairs_criterion out[PAIRS_CRITERIA]);

#endif
