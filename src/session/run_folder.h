/* run_folder: where a run's files go. */
#ifndef TARE_SESSION_RUN_FOLDER_H
#define TARE_SESSION_RUN_FOLDER_H

#include "base/err.h"
#include "results/judge/dataset.h"
#include "session/command.h"

#include <stdint.h>

/* Makes and opens a new folder OUTPUT/KIND_YYYYMMDD_HHMMSS (local time; "_2", "_3" ... behind it
 * when it is taken), where kind is "run", "bench" or "feasibility": its descriptor, or -1. path:
 * fresh, as a person would name it from here. */
int run_folder_new(const char *output, const char *kind, int64_t realtime_ns, char **path,
                   struct err *err);

/* Where new runs go when nobody says where. */
#define RUN_FOLDER_RESULTS "results"

/* The newest folder KIND_YYYYMMDD_HHMMSS in output, by its name; fresh, NULL: there is none. A
 * symbolic link is none. */
char *run_folder_newest(const char *output, const char *kind);

/* What a person called a run: "latest" is the newest in RUN_FOLDER_RESULTS, anything else the path
 * that it is (./latest, too). Fresh; NULL: there is none. */
char *run_folder_named(const char *given, struct err *err);

/* Opens the folder of an earlier run; path without slashes at its end. _named: as
 * run_folder_named. */
int run_folder_open(const char *run_dir, char **path, struct err *err);
int run_folder_open_named(const char *given, char **path, struct err *err);

/* What audit, stats, compare and export begin with. */

/* Reads the folders and judges them. registry: the file whose defaults stand for blank
 * hyperparameters, or NULL. out->columns says how tables are read, else NULL. An exit code; CLI_OK:
 * out is to be freed. Errors and what is wrong were printed. */
int reading_folders(char *const *paths, size_t count, const char *registry, struct dataset *out);

/* The same without the rows that disagree with their folders, which are named in a warning. */
int reading_rows(char *const *paths, size_t count, struct dataset *out);

/* Leaves them out of a dataset that was read, names them in a warning, and adds their ids. Gives
 * the warning's text, fresh; NULL: none. */
char *reading_leave_out(struct dataset *dataset, struct strv *ids);

#endif
