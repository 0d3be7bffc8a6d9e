/* export: the tables of a dataset, tidy: one row for each thing, one column for each fact, in CSV or JSON Lines. */
#ifndef TARE_RESULTS_JUDGE_EXPORT_H
#define TARE_RESULTS_JUDGE_EXPORT_H

#include "base/digest.h"
#include "base/err.h"
#include "base/reading.h"
#include "base/text.h"
#include "results/judge/dataset.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum export_table {
    EXPORT_EXPERIMENTS,
    EXPORT_ATTEMPTS,
    EXPORT_EPOCHS,
    EXPORT_HYPERPARAMETERS,
    EXPORT_METRICS,
    EXPORT_HISTORY,
    EXPORT_EVIDENCE,
    EXPORT_SAMPLES,
    EXPORT_WIDE, /* a row for each experiment, with a column for each hyperparameter and metric of all of them */
    EXPORT_TABLES
};

enum export_format {
    EXPORT_CSV,   /* what a spreadsheet would take for a formula is escaped */
    EXPORT_EXACT, /* CSV with every cell as it is */
    EXPORT_JSON_LINES
};

const char *export_table_name(enum export_table table); /* "experiments" */

/* Takes what was written so far, and empties it. False: it cannot be written (err). */
typedef bool export_flush_fn(void *context, struct text *text, struct err *err);

/* The whole table, handed on in pieces: memory does not depend on the number of samples. docs/reference/judging.md lists the
 * columns. */
bool export_make(const struct dataset *dataset, enum export_table table, enum export_format format, export_flush_fn *flush,
                 void *context, struct err *err);

/* The rows of an experiment's files in the study's layout, one by one: what export writes and what the
 * page draws. */

enum samples_file { SAMPLES_POWER, SAMPLES_UTILISATION, SAMPLES_TEMPERATURE, SAMPLES_FILES };
#define SAMPLES_COLUMNS 2 /* at most, behind the time-stamp */

/* "power_draw_w"; NULL: no such column. */
const char *samples_quantity(enum samples_file file, size_t column);

/* t_s: whole seconds since 1970. */
typedef void samples_each_fn(void *context, int64_t t_s, const struct reading values[SAMPLES_COLUMNS]);

/* Calls each for every row of that file of an experiment's energy/, open; none where there is no such file. Memory
 * does not depend on its length. False: it cannot be read (err). */
bool samples_read(int energy, enum samples_file file, samples_each_fn *each, void *context, struct err *err);

/* Experiments written as other programs that keep experiments have them: an MLflow file store, TensorBoard's event
 * files. docs/reference/judging.md says what goes where. */

/* Each writes all experiments that have ended below folder, which is made, and gives how many those are. The same dataset
 * gives the same files again. A folder with other things in it, or with another run of the same name, is refused unless
 * forced. No link in it is followed. */
typedef bool tracker_fn(const struct dataset *dataset, const char *folder, bool force, size_t *written,
                        struct err *err);
tracker_fn trackers_mlflow;
tracker_fn trackers_tensorboard;

/* What the writers share. */

/* A folder of the dataset. */
struct tracker_run {
    char *name;                /* of the folder, fit for a file */
    char key[DIGEST_HEX + 1];  /* who it is: stays when it is exported again */
    int64_t first_ns, last_ns; /* of its experiments' ends */
};

/* One value that a metric had while the training ran. */
struct tracker_point {
    size_t metric; /* of the experiment's */
    int64_t step;  /* from 1 */
    int64_t time_ns;
    double value;
};

/* One experiment to be written. */
struct tracker_item {
    const struct dataset *dataset;
    const struct dataset_experiment *experiment;
    const struct tracker_run *run;
    char *id;                           /* its own, with a number behind it where its folder has it twice */
    int64_t start_ns, end_ns;           /* since 1970, UTC; 0: not known */
    const struct tracker_point *points; /* of its last attempt, by metric and step; none: they were not recorded */
    size_t point_count;
};

/* Writes one; dir: the folder, open. */
typedef bool tracker_item_fn(int dir, const struct tracker_item *item, struct err *err);

/* Opens or makes the folder, checks it, notes the runs in it and calls write for each experiment. kind: "mlflow". */
bool trackers_write(const struct dataset *dataset, const char *folder, const char *kind, bool force,
                    tracker_item_fn *write, size_t *written, struct err *err);

/* A name of letters, digits, blanks and _.- that does not begin with a dot: fit for a file and for MLflow. One that had to
 * be changed ends with a hash of what it was, so that no two become one. Fresh. */
char *tracker_name(const char *name);

/* The values of a metric in order: those of its curve, or the last one alone, as step 0. False: each gave false. */
typedef bool tracker_point_fn(void *context, int64_t step, int64_t time_ns, double value);
bool tracker_curve(const struct tracker_item *item, size_t metric, tracker_point_fn *each, void *context);

/* What tare knows of an experiment beside its metrics, one by one: "gpu_energy_j"; what is not valid is left out. */
typedef bool tracker_figure_fn(void *context, const char *name, double value);
bool tracker_figures(const struct dataset_experiment *experiment, tracker_figure_fn *each, void *context);

#endif
