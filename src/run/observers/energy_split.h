/* energy_split: how the energy of the processors is divided among several lanes, and how long each
 * lane worked. */
#ifndef TARE_RUN_OBSERVERS_ENERGY_SPLIT_H
#define TARE_RUN_OBSERVERS_ENERGY_SPLIT_H

#include "run/lane.h"
#include "run/runner.h"

/* What several lanes come to together (lanes.c): whose the processors' energy was, and how long
 * each lane worked. */
void energy_split_begin(struct runner *runner); /* the meters were started */

/* For EVENT_SESSION_ENDED, or null: docs/reference/files.md. */
json_t *energy_split_json(struct runner *runner);
/* of the packages' energy that is divided: this lane's, since the session began */
int64_t energy_split_part_mj(const struct lane *lane);

#endif
