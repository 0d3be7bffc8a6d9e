/* epochs_file: writes epochs.csv of each attempt from its marks and energies. */
#ifndef TARE_RESULTS_STORE_EPOCHS_FILE_H
#define TARE_RESULTS_STORE_EPOCHS_FILE_H

#include "results/store/tables.h"

/* Adds to a list what the marks of the experiment's last attempt cut it into: {name, part, label,
 * start_s, end_s, duration_s, source, and the energy it used (store.h)}. Seconds count from the
 * attempt's start; null: not known. */
bool epochs_add_last(sqlite3 *db, int64_t experiment, json_t *out, struct err *err);

/* energy/marks.csv in the experiment's folder for the last attempt, attempt_<k>/energy/marks.csv
 * for each one before; none where there are no marks. folder: the experiment's, open; write:
 * how. */
bool epochs_write_files(int folder, sqlite3 *db, int64_t experiment, fs_write_fn *write,
                        struct err *err);

#endif
