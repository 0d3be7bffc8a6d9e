/* machines: reads machine.json, which each session of a run writes of its machine. */
#ifndef TARE_RESULTS_STORE_MACHINES_H
#define TARE_RESULTS_STORE_MACHINES_H

#include "results/model.h"

/* One for each session, the newest without a number, as far as they are there. dir: the run's
 * folder, open, or -1. */
void machines_read(int dir, struct machines *out);
void machines_fini(struct machines *machines);

void machine_record_read(const json_t *json, struct machine_record *out);
void machine_record_fini(struct machine_record *machine);

/* That of the session's host and boot; NULL: it is not there. */
const struct machine_record *machines_find(const struct machines *machines, const char *host,
                                           const char *boot_id);

#endif
