/* study: the study's layout: summary.csv, and a folder for each experiment. */
#ifndef TARE_RESULTS_JUDGE_STUDY_H
#define TARE_RESULTS_JUDGE_STUDY_H

#include "results/judge/read.h"

bool read_study(struct dataset *dataset, size_t folder, int dir, struct err *err);

/* The rows of summary.csv alone, as experiments of one folder. False: err. */
bool study_read_rows(struct dataset *dataset, int dir, const char *path, struct err *err);

#endif
