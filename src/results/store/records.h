/* records: compares the files of a run with its journal, and rewrites those that were changed. */
#ifndef TARE_RESULTS_STORE_RECORDS_H
#define TARE_RESULTS_STORE_RECORDS_H

#include "results/store/worker.h"

/* Whether the files of a run hold what the store wrote, and making anew what does not. What the
 * runner holds in memory and in its own copy of the lines is the truth. On the store's thread, or
 * when it has nothing to do. */

/* Remembers which file run.db is: it may be removed or replaced while it is open. */
bool records_know_db(struct worker *worker, struct err *err);

/* Before events are written: a run.db that is no longer there is made anew at once. */
bool records_keep_db(struct worker *worker, struct err *err);

/* Compares all files, and makes anew those that were changed; worker->changed says which, and
 * whether that could be done. False: run.db is lost. */
bool records_settle(struct worker *worker, enum settling settling);

#endif
