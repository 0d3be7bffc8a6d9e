/* tables_compare: whether two databases hold the same run. */
#ifndef TARE_RESULTS_STORE_TABLES_COMPARE_H
#define TARE_RESULTS_STORE_TABLES_COMPARE_H

#include "results/store/worker.h"

/* Adds to out the tables in which the two differ: "table attempts from experiment 3 on". */
bool tables_compare(sqlite3 *a, sqlite3 *b, struct text *out, struct err *err);

#endif
