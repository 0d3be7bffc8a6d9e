/* summary: writes summary.csv: its columns, its rows, and the file as a whole. */
#ifndef TARE_RESULTS_STORE_SUMMARY_H
#define TARE_RESULTS_STORE_SUMMARY_H

#include "results/store/worker.h"

void summary_init(struct summary *summary, int dir, const struct plan *plan, bool scratch);
void summary_fini(struct summary *summary);

/* Of these experiments something may have changed: one that has no row gets it, if it ended; one
 * that has one gets it anew, if not now then later. */
bool summary_put(struct summary *summary, sqlite3 *db, const size_t *numbers, size_t count,
                 struct err *err);

/* Writes what is left for later, and makes the files safe on the disk. */
bool summary_finish(struct summary *summary, sqlite3 *db, struct err *err);

const char *summary_name(size_t file);

/* Of what was written this session; false: nothing was. */
bool summary_digest(const struct summary *summary, size_t file, struct digest *out);

/* All files anew, now. */
bool summary_remake(struct summary *summary, sqlite3 *db, struct err *err);

#endif
