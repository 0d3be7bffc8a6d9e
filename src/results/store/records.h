/* records: whether the files of a run hold what the store wrote, and making anew what does not. What the runner holds in memory and in its
 * own copy of the lines is the truth. On the store's thread, or when it has nothing to do. Private to store/. */
#ifndef TARE_RESULTS_STORE_RECORDS_H
#define TARE_RESULTS_STORE_RECORDS_H

#include "results/store/worker.h"

/* Remembers which file run.db is: it may be removed or replaced while it is open. */
bool records_know_db(struct worker *worker, struct err *err);
bool records_db_is_there(const struct worker *worker);

/* Before events are written: a run.db that is no longer there is made anew at once. */
bool records_keep_db(struct worker *worker, struct err *err);

/* Compares all files, and makes anew those that were changed; worker->changed says which, and whether that could be done. opening: what a
 * crash left unfinished is not compared. False: run.db is lost. */
bool records_settle(struct worker *worker, bool opening);

/* The last record: the hashes of all files. */
bool records_close(struct worker *worker, struct err *err);

#endif
