/* codecarbon: codeCarbon's emissions.csv, of versions 1 to 3: a row for each run of a tracker,
 * energies in kWh (https://mlco2.github.io/codecarbon/output.html). It says what was used and
 * nothing of what else ran on the machine: its rows are never more than unverified. */
#ifndef TARE_RESULTS_JUDGE_CODECARBON_H
#define TARE_RESULTS_JUDGE_CODECARBON_H

#include "results/judge/read.h"

bool read_codecarbon(struct dataset *dataset, size_t folder, int dir, struct err *err);

/* Its rows as experiments. False: it is none of CodeCarbon's (err). */
bool codecarbon_take(struct dataset *dataset, size_t folder, const char *bytes, size_t count,
                     struct err *err);

#endif
