/* energy_split: divides the energy of the processors among several lanes, and adds up their work.
 */
#ifndef TARE_RUN_OBSERVERS_ENERGY_SPLIT_H
#define TARE_RUN_OBSERVERS_ENERGY_SPLIT_H

#include "run/lane.h"

/* After the meters were started. */
void energy_split_begin(struct runner *runner);

/* For EVENT_SESSION_ENDED; null with one lane (docs/reference/files.md). */
json_t *energy_split_json(struct runner *runner);
/* This lane's part since the session began. */
int64_t energy_split_part_mj(const struct lane *lane);

#endif
