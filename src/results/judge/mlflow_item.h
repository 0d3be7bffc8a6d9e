/* mlflow_item: one experiment in an MLflow file store. Private to mlflow*.c. */
#ifndef TARE_RESULTS_JUDGE_MLFLOW_ITEM_H
#define TARE_RESULTS_JUDGE_MLFLOW_ITEM_H

#include "base/digest.h"
#include "base/err.h"
#include "results/judge/dataset.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A folder of the dataset. */
struct mlflow_source {
    char *name;                /* of the folder, fit for a file */
    char key[DIGEST_HEX + 1];  /* identifies the run; the same in every export */
    int64_t first_ns, last_ns; /* of its experiments' ends */
};

/* One value that a metric had while the training ran. */
struct mlflow_point {
    size_t metric; /* of the experiment's */
    int64_t step;  /* from 1 */
    int64_t time_ns;
    double value;
};

struct mlflow_item {
    const struct dataset *dataset;
    const struct dataset_experiment *experiment;
    const struct mlflow_source *run;
    char *id; /* with a number at its end where the folder has the experiment's id twice */
    int64_t start_ns, end_ns;          /* since 1970, UTC; 0: not known */
    const struct mlflow_point *points; /* of its last attempt, by metric and step; may be none */
    size_t point_count;
};

/* dir: the store, open. */
bool mlflow_item_write(int dir, const struct mlflow_item *item, struct err *err);

/* A name of letters, digits, blanks and _.- that does not begin with a dot: fit for a file and for
 * MLflow. A name that had to be changed ends with a hash of the original, so that two names stay
 * two. Fresh. */
char *mlflow_name(const char *name);

#endif
