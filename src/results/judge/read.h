/* read: the three kinds of folders. Private to judge/. */
#ifndef TARE_RESULTS_JUDGE_READ_H
#define TARE_RESULTS_JUDGE_READ_H

#include "results/judge/dataset.h"

#include <jansson.h>

/* folder: index of the dataset's entry. */
bool read_own(struct dataset *dataset, size_t folder, struct err *err);
bool read_study(struct dataset *dataset, size_t folder, int dir, struct err *err);
bool read_codecarbon(struct dataset *dataset, size_t folder, int dir, struct err *err);

#define CODECARBON_FILE "emissions.csv"
/* Its rows as experiments. False: it is none of CodeCarbon's (err). */
bool codecarbon_take(struct dataset *dataset, size_t folder, const char *bytes, size_t count, struct err *err);

/* The errors of a path that is no folder, and of an open folder without results: what it is instead.
 * Both give false. */
bool read_no_folder(const char *path, struct err *err);
bool read_no_results(const char *path, int dir, struct err *err);

/* experiment.json of the study, or of tare, into what the row did not say; text: its bytes. False: damaged (err). */
bool study_json_take(struct dataset_experiment *experiment, const char *text, size_t length, struct err *err);

/* One experiment's folder, open: its energy files and what they give rise to. buffer: TRACE_BUFFER bytes. */
void study_energy_read(struct dataset_experiment *experiment, int dir, char *buffer, int64_t *zone_s, bool *has_zone);

/* "mutation" or "default" as a name that stays; NULL: neither. */
const char *read_mode(const char *text);

/* Adds or replaces. */
void study_param_set(struct dataset_experiment *experiment, const char *name, struct value value); /* takes value */
struct dataset_metric *study_metric_set(struct dataset_experiment *experiment, const char *name, struct reading value);

#endif
