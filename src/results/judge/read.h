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

#define CODECARBON_FILE "emissions.csv"

/* What a cell holds. */
enum numeric_cell_kind {
    FIGURE_IS, /* a finite number */
    /* empty, "N/A", "[N/A]", "[Not Supported]", "[Unknown Error]", "nan" and the like */
    FIGURE_ABSENT,
    FIGURE_BAD /* neither */
};

struct perf {
    struct reading package_j, dram_j;
    struct reading elapsed_s;
    bool has_started;
    int64_t started_local_s; /* "# started on ...", the local time's fields as if they were UTC */
};

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

#define BINS_MOST 512

struct bins {
    int64_t first_s, width_s; /* the span doubles when there are too many */
    unsigned shift;           /* width_s is 1 << shift: no division for each sample */
    size_t count;
    double sums[BINS_MOST];
    uint32_t counts[BINS_MOST];
};

struct bins_step {
    bool found;
    int64_t at_s;         /* where the new level begins */
    double before, after; /* means */
    double explained;     /* share of the variance that the two levels leave no more, 0 to 1 */
};

#endif
