/* mlflow: the experiments of a dataset as an MLflow file store (docs/reference/judging.md). */
#ifndef TARE_RESULTS_JUDGE_MLFLOW_H
#define TARE_RESULTS_JUDGE_MLFLOW_H

#include "base/err.h"
#include "results/judge/dataset.h"

#include <stdbool.h>
#include <stddef.h>

/* Writes all experiments that have ended below folder, which is made, and gives their number. The
 * same dataset gives the same files again. A folder with other files in it, or with another run of
 * the same name, is refused unless forced. No link in it is followed. */
bool mlflow_write(const struct dataset *dataset, const char *folder, bool force, size_t *written,
                  struct err *err);

#endif
