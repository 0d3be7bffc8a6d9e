/* schema: the tables of run.db, and the checks of one from an untrusted source. */
#ifndef TARE_RESULTS_STORE_SCHEMA_H
#define TARE_RESULTS_STORE_SCHEMA_H

#include "results/store/tables.h"

/* Makes the tables of an empty database. */
bool schema_make(sqlite3 *db, struct err *err);

/* Refuses a database that holds no run, was made by a newer tare or one that was never released, is
 * damaged, or has in its tables what is computed. One of an older format gets the tables that it
 * lacks, without rows. */
bool schema_check(sqlite3 *db, struct err *err);
bool schema_no_plan(struct err *err); /* gives false */

#endif
