/* read: the three kinds of folders. Private to judge/. */
#ifndef TARE_RESULTS_JUDGE_READ_H
#define TARE_RESULTS_JUDGE_READ_H

#include "base/err.h"
#include "base/reading.h"
#include "results/judge/dataset.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* folder: index of the dataset's entry. */
bool read_own(struct dataset *dataset, size_t folder, struct err *err);
bool read_study(struct dataset *dataset, size_t folder, int dir, struct err *err);
bool read_codecarbon(struct dataset *dataset, size_t folder, int dir, struct err *err);

#define CODECARBON_FILE "emissions.csv"
/* Its rows as experiments. False: it is none of CodeCarbon's (err). */
bool codecarbon_take(struct dataset *dataset, size_t folder, const char *bytes, size_t count,
                     struct err *err);

/* A table of another program, CSV or hyperfine's JSON, which is file in dir. */
bool read_plain_table(struct dataset *dataset, size_t folder, int dir, const char *file,
                      struct err *err);
/* The same of its bytes; file: its name, for messages. */
bool plain_table_parse(struct dataset *dataset, size_t folder, const char *file,
                       const struct text *text, struct err *err);

/* Whether it is a CSV without the study's column experiment_id. */
bool plain_table_is(int dir, const char *file);

/* The error of an open folder without results: what it is instead. Gives false. */
bool read_no_results(const char *path, int dir, struct err *err);

/* experiment.json of the study, or of tare, into what the row did not say; text: its bytes. False:
 * damaged (err). */
bool study_json_take(struct dataset_experiment *experiment, const char *text, size_t length,
                     struct err *err);

/* The rows of summary.csv alone, as experiments of one folder. False: err. */
bool study_read_rows(struct dataset *dataset, int dir, const char *path, struct err *err);

/* values_differ: one figure in two files. */
void contradiction_add(struct dataset_experiment *experiment, unsigned quantities,
                       const char *figure, const char *left, const char *left_file,
                       const char *right, const char *right_file);

/* The experiments of facts, which are the dataset's last ones: experiment.json, summary.csv and the
 * log against them. */
void contradictions_of_run(struct dataset *dataset, size_t folder, const struct facts *facts);

/* Metrics whose number is on no line of the log. bytes: of the whole log, so that one that is not
 * whole is not judged; -1: unknown. file: where the metrics are from. */
void contradictions_in_log(struct dataset_experiment *experiment, int folder, const char *name,
                           int64_t bytes, const char *file);

/* Adds or replaces. */
/* takes value */
void study_param_set(struct dataset_experiment *experiment, const char *name, struct value value);
struct dataset_metric *study_metric_set(struct dataset_experiment *experiment, const char *name,
                                        struct reading value);

/* Figures in the study's files, parsed in place and fast, and what "perf stat" printed there. */

/* What a cell holds. */
enum numeric_cell_kind {
    FIGURE_IS, /* a finite number */
    /* empty, "N/A", "[N/A]", "[Not Supported]", "[Unknown Error]", "nan" and the like */
    FIGURE_ABSENT,
    FIGURE_BAD /* neither */
};

/* The bytes from at to end, blanks around them left out. Thousands may be parted by commas
 * ("13,138.35"), one unit may follow ("74.69 W"). Correctly rounded, as strtod is. */
enum numeric_cell_kind numeric_cell_read(const char *at, const char *end, double *out);

/* As how many decimals a figure was printed, as far as it shows: at least so many, at most six; and
 * half a unit of the last of so many, the most by which printing rounds. */
unsigned numeric_decimals(double value, unsigned least);
double numeric_half_unit(unsigned decimals);

/* Decimal digits alone: whole seconds. False for all else, and for what does not fit. */
bool numeric_cell_read_whole(const char *at, const char *end, int64_t *out);

/* What "perf stat" printed, as the study kept it (cpu_energy_raw.txt) and summed it up
 * (cpu_energy.txt). */

struct perf {
    struct reading package_j, dram_j;
    struct reading elapsed_s;
    bool has_started;
    int64_t started_local_s; /* "# started on ...", the local time's fields as if they were UTC */
};

/* Lines that are not known are left out. */
void perf_parse(const char *text, size_t count, struct perf *out);

/* The study's files of samples ("timestamp,power_draw_w" and the like), read in one pass by a
 * buffer of fixed size: memory does not depend on their length. */

#define TRACE_COLUMNS 2 /* behind the time-stamp */

/* So many rows are handed over at a time. */
#define TRACE_ROWS 256

struct trace_column {
    enum numeric_cell_kind kinds[TRACE_ROWS];
    double values[TRACE_ROWS]; /* of those that are FIGURE_IS */
};

/* Consecutive rows. Columns stand apart, as whoever takes them runs through one of them. */
struct trace_rows {
    size_t count;            /* 1 or more */
    int64_t t_s[TRACE_ROWS]; /* whole seconds since 1970; some files have fractions: cut off */
    struct trace_column columns[TRACE_COLUMNS];
};

/* Called for all rows in order, some at a time. */
typedef void trace_each_fn(void *context, const struct trace_rows *rows);

/* What the file was like. */
struct trace_file {
    bool missing;     /* there is no such file, or it is a link or no file */
    bool empty;       /* not even a header */
    bool cut;         /* the last line has no end: it is not used */
    size_t rows;      /* well-formed ones */
    size_t damaged;   /* lines that are no rows: each is left out */
    size_t backwards; /* rows stamped before one before them: each is left out */
};

#define TRACE_BUFFER 262144

/* The file of that name in a folder (never through a link); columns: how many stand behind the
 * time-stamp. buffer: TRACE_BUFFER bytes of the caller's. False: it could not be read (err); what
 * is wrong with its contents is in out. */
bool trace_read(int dir, const char *name, size_t columns, char *buffer, trace_each_fn *each,
                void *context, struct trace_file *out, struct err *err);

/* The same from bytes in memory (tests, fuzzing). */
void trace_parse(const char *bytes, size_t count, size_t columns, trace_each_fn *each,
                 void *context, struct trace_file *out);

/* A trace of power samples as an energy, in one pass. docs/reference/judging.md derives the
 * figures. (power.c) */

/* Farther apart than this, samples leave a gap in which anything may have happened. */
#define POWER_GAP_S 3

/* The samples before and after one that it is compared with. */
enum { POWER_NEAR = 5, POWER_RECENT = 2 * POWER_NEAR + 1 };

/* A sample shows the power of a moment, or its mean over the second before. */
enum power_sensor { POWER_UNKNOWN, POWER_INSTANT, POWER_MEAN };

/* Rises from one steady power to another, by whether a sample lies between the two. */
struct power_rises {
    size_t sharp, gradual;
};

struct power {
    double begin_s, end_s; /* the window; all times in seconds since any one moment */
    bool has_window;
    size_t samples; /* with a value */
    size_t outside; /* of them, stamped more than a second outside of the window */
    size_t seconds; /* different seconds of the window that were sampled */
    int64_t first_s, last_s, longest_gap_s;
    double sum, squares, lowest, highest, first, last;
    /* each sample until the next; until the one before; squares of the steps, W2 */
    double until_next, until_last, moves;
    double integral;       /* of the straight lines between samples, within the window */
    double later_integral; /* the same within the window moved by half a second */
    /* variance of the shape between samples, if power changes rarely, W2 s2 */
    double lines;
    /* what it has more if power also changes between samples, W2 s2 */
    double turns;
    /* sum of squares of each sample less the mean of those near it, W2 */
    double apart;
    /* sum of squares of what half a second of each stamp moves, W2 */
    double stamps;
    double gaps;                      /* sum of squared lengths of gaps, s2 */
    int64_t joined_s;                 /* seconds of the steps that are not gaps */
    size_t joined;                    /* how many */
    double before, step, step_before; /* the last sample but one; the last two changes */
    int64_t span;                     /* seconds of the last step */
    double recent[POWER_RECENT];      /* the last samples, each at its number modulo POWER_RECENT */
    int64_t recent_s[POWER_RECENT];
    struct power_rises rises;
};

/* Without a window (begin_s of it not finite) it is that of the samples. */
void power_begin(struct power *power, double begin_s, double end_s);
void power_add_all(struct power *power, const int64_t *t_s, const double *watts, size_t count);

struct power_energy {
    /* if samples are instants; after power_settle: of the sensor */
    struct reading energy_j, half_width_j;
    struct reading of_means_j, of_means_half_j; /* if they are means of a second */
    struct reading mean_w, deviation_w;
    /* seconds of the window with a sample, by its length; at most 1 */
    struct reading sampled_share;
    double window_s;
    double longest_gap_s; /* edges of the window counted */
    /* a mean of a second does not resolve how power changes within the window */
    bool is_short;
    struct power_rises rises;
    struct reading interval_s;      /* mean time between samples, its longest gap left out */
    struct reading integral_low_j;  /* whichever way samples were multiplied by their times, */
    struct reading integral_high_j; /* between the first and the last one */
    double first_w, last_w, span_s;
    struct reading late_s, early_s; /* samples begin after, and end before, the window's edges */
    size_t outside;                 /* samples more than a second outside of it */
};

/* Once, after the last sample. */
struct power_energy power_end(struct power *power);

/* The sensor that such rises, of all traces that it took, show. */
enum power_sensor power_sensor_find(const struct power_rises *rises);
const char *power_sensor_name(enum power_sensor sensor);

/* The energy and half-width of this sensor; an unknown one's interval covers both kinds. False: the
 * window is shorter than the sensor resolves, or the sensor may be such a one; then energy,
 * half-width and mean become unknown. */
bool power_settle(struct power_energy *energy, enum power_sensor sensor);

/* One experiment's folder, open: its energy files and what they give rise to. buffer: TRACE_BUFFER
 * bytes. power: its GPU energy, for study_energy_settle. */
void study_energy_read(struct dataset_experiment *experiment, int dir, char *buffer,
                       int64_t *zone_s, bool *has_zone, struct power_energy *power);

/* Its GPU energy as read by this sensor, by a monitor of this interval; the folder's other traces
 * show which they are. */
void study_energy_settle(struct dataset_experiment *experiment, struct power_energy power,
                         enum power_sensor sensor, double interval_s);

/* Whether the recorded GPU energy is the sum of its samples, or power times seconds. */
bool study_energy_is_sum(const struct dataset_experiment *experiment);
bool study_energy_is_integral(const struct dataset_experiment *experiment);

/* A trace of any length as at most BINS_MOST means of equal spans; and the one lasting change in
 * it. (bins.c) */

#define BINS_MOST 512

struct bins {
    int64_t first_s, width_s; /* the span doubles when there are too many */
    unsigned shift;           /* width_s is 1 << shift: no division for each sample */
    size_t count;
    double sums[BINS_MOST];
    uint32_t counts[BINS_MOST];
};

void bins_begin(struct bins *bins);
void bins_add_all(struct bins *bins, const int64_t *t_s, const double *values,
                  size_t count); /* none before the first */

struct bins_step {
    bool found;
    int64_t at_s;         /* where the new level begins */
    double before, after; /* means */
    double explained;     /* share of the variance that the two levels leave no more, 0 to 1 */
};

/* The two levels, each at least least_s seconds and a tenth of the whole, that leave the least
 * variance. */
struct bins_step bins_find_step(const struct bins *bins, int64_t least_s);

/* The same of falls alone, behind the first fifth, in which a training starts up. */
struct bins_step bins_find_fall(const struct bins *bins, int64_t least_s);

/* The lowest mean of three neighbouring spans that all have values: one alone may be a sample gone
 * wrong. */
struct reading bins_lowest(const struct bins *bins);

#endif
