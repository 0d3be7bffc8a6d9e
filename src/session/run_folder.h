/* run_folder: where a run's files go. */
#ifndef TARE_SESSION_RUN_FOLDER_H
#define TARE_SESSION_RUN_FOLDER_H

#include "base/err.h"

#include <stdint.h>

/* Makes and opens a new folder OUTPUT/KIND_YYYYMMDD_HHMMSS (local time; "_2", "_3" ... behind it when it is taken),
 * where kind is "run", "bench" or "feasibility": its descriptor, or -1. path: fresh, as a person would name it from here. */
int run_folder_new(const char *output, const char *kind, int64_t realtime_ns, char **path, struct err *err);

/* The newest folder KIND_* in output, by its name; fresh, NULL: there is none. */
char *run_folder_newest(const char *output, const char *kind);

/* Opens the folder of an earlier run; path without slashes at its end. */
int run_folder_open(const char *run_dir, char **path, struct err *err);

#endif
