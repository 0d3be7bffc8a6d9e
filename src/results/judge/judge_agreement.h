/* judge_agreement: whether figures agree with those of comparable experiments. It needs no list of
 * processes, so it says less than a verdict. A figure is consistent where its siblings exclude that
 * a disturbance of LIMIT_EXCLUDED changed it. */
#ifndef TARE_RESULTS_JUDGE_JUDGE_AGREEMENT_H
#define TARE_RESULTS_JUDGE_JUDGE_AGREEMENT_H

#include "results/judge/dataset.h"
#include "results/judge/judge_private.h"

const char *agreement_name(enum agreement agreement); /* "unknown", "consistent", "contradicted" */

const char *agreement_reason_text(enum agreement_reason reason); /* plain words, or NULL */

/* Whether figures agree with those of siblings: sets agreement. After all evidence is found. */
void judge_agreement(struct dataset *dataset, const struct judge_state *judged);

#endif
