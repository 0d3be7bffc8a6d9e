/* metrics_file: a run's metrics in a file for node_exporter's textfile collector, replaced about every 15 s and at the end. A thread of its
 * own reads the run's folder (results/store/live.h) and writes, so that a disk that hangs does not delay the run. */
#ifndef TARE_SESSION_METRICS_FILE_H
#define TARE_SESSION_METRICS_FILE_H

#include "base/err.h"

#include <stdbool.h>

struct metrics_file;

/* Whether path can be that of such a file: the collector reads names that end in ".prom" only. */
bool metrics_file_check_name(const char *path, struct err *err);

/* Writes the file at once, and says on standard error when that fails; it is tried again each time. Its mode is 0644. A link of that name
 * is replaced, not followed. path NULL: there is none, and NULL is given. */
struct metrics_file *metrics_file_start(const char *path, const char *run_dir);

/* For when the run's records are closed: writes the file a last time, waits a few seconds for that, says what failed unless that was said, and
 * frees. The file stays. */
void metrics_file_end(struct metrics_file *file);

#endif
