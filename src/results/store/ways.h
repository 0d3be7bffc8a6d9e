/* ways: the journal, event by event, as spans of the lanes. */
#ifndef TARE_RESULTS_STORE_WAYS_H
#define TARE_RESULTS_STORE_WAYS_H

#include "results/store/tables.h"

bool ways_read(sqlite3 *db, const struct plan *plan, struct ways *out, struct err *err);
void ways_fini(struct ways *ways);

/* SIZE_MAX: not known. attempt 0: the last one. */
size_t ways_of_attempt(const struct ways *ways, int64_t experiment, int64_t attempt);

#endif
