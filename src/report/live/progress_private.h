/* What progress.c (events in) and progress_line.c (lines out) share. Private to live/. */
#ifndef TARE_REPORT_LIVE_PROGRESS_PRIVATE_H
#define TARE_REPORT_LIVE_PROGRESS_PRIVATE_H

#include "base/reading.h"
#include "base/text.h"
#include "measure/guard/evidence.h"
#include "report/live/estimate.h"
#include "report/live/parts.h"
#include "report/live/progress.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Lines for a person or a program that never hold up the run: a stopped terminal or a slow reader
 * is waited for at the end only. (output.c) */

struct output {
    int fd; /* stays the caller's */
    struct text waiting;
    size_t sent; /* of what waits */
    /* errno: it cannot be written (EPIPE: the reader is gone), and nothing more is; 0: it can */
    int broken;
};

/* The energy an attempt used, in the few words that fit into a line of progress. Pure. (parts.c) */

struct drawn {
    struct reading gpu_j, gpu_half_width_j, cpu_j, cpu_half_width_j;
};

#define PROGRESS_GREEN  "\033[32m"
#define PROGRESS_RED    "\033[31m"
#define PROGRESS_YELLOW "\033[33m"

/* Rows of the live display: parts are kept whole, groups together where they fit. Pure.
 * (layout.c) */

#define LAYOUT_PART  "\x1e" /* between two parts */
#define LAYOUT_GROUP "\x1d" /* between two groups of parts */

enum { METRICS_SHOWN = 3 };
struct shown_metric {
    char *name; /* NULL: none */
    double value;
    int trend; /* below 0: it fell; above: it rose */
    uint64_t seen;
};

/* What is known of one lane's experiment. */
struct shown {
    size_t current; /* experiment, from 1; 0: none yet */
    bool ended;     /* it is over, and nothing follows it yet */
    int64_t attempt;
    int64_t experiment_ns, attempt_ns; /* when it began */
    int64_t pause_end_ns;              /* 0: no pause */
    bool pause_is_retry;
    /* when the grace of the attempt that is being stopped is over; 0: none is */
    int64_t stop_end_ns;
    bool interrupted; /* it is stopped because a person said so */
    bool alone;       /* the background of a parallel experiment runs, its foreground not yet */
    bool from_first;  /* the attempts of this experiment all belong to this session */
    struct shown_metric metrics[METRICS_SHOWN]; /* the last ones seen, each at its place */
    uint64_t metrics_seen;
    struct training training;
    /* hyperparameters by which it differs from others; NULL: none */
    char *params;
    int64_t paused_ns;                      /* when the pause began; 0: none */
    double planned_s;                       /* how long it was to be */
    char *attempt_error;                    /* of the attempt that ended last */
    char *retried_error;                    /* shown when the last retry began */
    bool attempt_interrupted;               /* it did not fail */
    enum verdict of_experiment, of_attempt; /* what was seen so far makes of it */
    struct reading power_w, use_percent;    /* now */
    struct drawn drawn_by;                  /* by the attempt that ended last */
    char *gpus;                             /* of the lane; NULL: there is one lane */
};

enum { ROWS_MAX = 24 };

/* Of EVENT_GUARD: a GPU was free, its memory came back, it had cooled. */
enum normal { NORMAL_FREE, NORMAL_BACK, NORMAL_COOL, NORMAL_KINDS };

enum { MACHINE_KINDS = 3 }; /* of evidence, that the machine and not one experiment causes */

struct progress {
    struct progress_options options;
    struct output output;
    struct estimate estimate;
    struct shown *lanes; /* at least one */
    size_t lane_count;
    struct shown *lane;       /* whose event it is */
    struct shown other;       /* what comes of an experiment that no lane has any more */
    size_t done;              /* experiments that have ended, in earlier sessions too */
    size_t rows;              /* live lines that stand there */
    size_t columns[ROWS_MAX]; /* of each */
    bool said[NORMAL_KINDS];  /* what is normal is told once */
    bool told_of_machine[MACHINE_KINDS];
    bool detached;
};

#endif
