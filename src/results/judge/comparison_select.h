/* comparison_select: selects the experiments of one side of a comparison. */
#ifndef TARE_RESULTS_JUDGE_COMPARISON_SELECT_H
#define TARE_RESULTS_JUDGE_COMPARISON_SELECT_H

#include "results/judge/comparison.h"

/* "DIR" or "DIR:key=value[,key=value]". False: it is neither. */
bool comparison_parse(const char *text, struct comparison_side *out, struct err *err);

/* with commas between */
bool comparison_claims_parse(const char *text, struct comparison_claims *out, struct err *err);
void comparison_claims_fini(struct comparison_claims *claims);
enum comparison_outcome comparison_claim_check(const struct comparison *comparison,
                                               const struct comparison_claim *claim);
const char *comparison_outcome_name(enum comparison_outcome outcome); /* "held" */

/* Experiments that each side needs until a claim is decided in four of five cases, were the ratio
 * what it seems now; 0: not known. */
size_t comparison_claim_needs(const struct comparison *comparison,
                              const struct comparison_claim *claim);

/* Experiments that each side needs until a difference of this share is found in four of five cases;
 * 0: not known, or the quantity is not compared by a ratio. */
size_t comparison_sample_size(const struct comparison *comparison,
                              const struct comparison_quantity *quantity, double share);

/* Which experiments a side of a comparison takes: "results:model=resnet20,batch_size=32". */

/* Whether the experiment has all that the selector asks for. */
bool comparison_selects(const struct comparison_side *side,
                        const struct dataset_experiment *experiment);

/* The error of a side that takes nothing of the folder: a key that no experiment has, a value that
 * none has, or that those it names failed or are contaminated. Gives false. */
bool comparison_selects_nothing(const struct comparison *comparison, size_t which, size_t folder,
                                struct err *err);

#endif
