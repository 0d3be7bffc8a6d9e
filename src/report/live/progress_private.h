/* What progress.c (events in) and progress_line.c (lines out) share. Private to live/. */
#ifndef TARE_REPORT_LIVE_PROGRESS_PRIVATE_H
#define TARE_REPORT_LIVE_PROGRESS_PRIVATE_H

#include "base/reading.h"
#include "base/text.h"
#include "measure/guard/evidence.h"
#include "report/live/estimate.h"
#include "report/live/progress.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Lines for a person or a program that never hold up the run: a stopped terminal or a slow reader is waited
 * for at the end only. (output.c) */

struct output {
    int fd; /* stays the caller's */
    struct text waiting;
    size_t sent;  /* of what waits */
    int broken;   /* errno: it cannot be written (EPIPE: the reader is gone), and nothing more is; 0: it can */
};

/* What cannot be written now is kept. */
void output_add(struct output *output, const char *bytes, size_t count);

/* Tries again to write what was kept. True: nothing is kept any more. */
bool output_push(struct output *output);

/* Waits at most this long until all is written, then frees. */
void output_fini(struct output *output, int timeout_ms);

/* What an attempt drew, in the few words that fit into a line of progress. Pure. (drawn.c) */

struct drawn {
    struct reading gpu_j, gpu_half_width_j, cpu_j, cpu_half_width_j;
};

/* "energy" of EVENT_ATTEMPT_ENDED; NULL, or null: nothing was measured. */
struct drawn drawn_read(const json_t *energy);

/* ", GPU 36.000 kJ ± 0.003, CPU 3.00 kJ ± 0.01"; nothing where nothing is known. */
void drawn_add(const struct drawn *drawn, struct text *out);

/* "1.914 kJ ± 0.011": as many digits as the half-width allows, at most three behind the point. */
void drawn_add_energy(struct reading energy_j, struct reading half_width_j, struct text *out);

#define PROGRESS_GREEN  "\033[32m"
#define PROGRESS_RED    "\033[31m"
#define PROGRESS_YELLOW "\033[33m"

/* What is known of one lane's experiment. */
struct shown {
    size_t current; /* experiment, from 1; 0: none yet */
    bool ended;     /* it is over, and nothing follows it yet */
    int64_t attempt;
    int64_t experiment_ns, attempt_ns; /* when it began */
    int64_t pause_end_ns;              /* 0: no pause */
    bool pause_is_retry;
    int64_t stop_end_ns; /* when the grace of the attempt that is being stopped is over; 0: none is */
    bool interrupted;    /* it is stopped because a person said so */
    bool alone;          /* the background of a parallel experiment runs, its foreground not yet */
    bool from_first;     /* the attempts of this experiment all belong to this session */
    char *metric_name;   /* the last one seen */
    double metric_value;
    char *attempt_error;                    /* of the attempt that ended last */
    bool attempt_interrupted;               /* it did not fail */
    enum verdict of_experiment, of_attempt; /* what was seen so far makes of it */
    struct reading power_w;                 /* now */
    struct drawn drawn_by;                  /* by the attempt that ended last */
    char *gpus;                             /* of the lane; NULL: there is one lane */
};

struct progress {
    struct progress_options options;
    struct output output;
    struct estimate estimate;
    struct shown *lanes; /* at least one */
    size_t lane_count;
    struct shown *lane; /* whose event it is */
    struct shown other; /* what comes of an experiment that no lane has any more */
    size_t done;        /* experiments that have ended, in earlier sessions too */
    size_t rows;        /* live lines that stand there */
    bool detached;
};

int64_t progress_now_ns(const struct progress *progress);
double progress_seconds_since(const struct progress *progress, int64_t start_ns);

/* NULL: the plan has no such experiment. */
const struct plan_experiment *progress_experiment_at(const struct progress *progress, int64_t number);

/* "[3/14] mnist_cnn_003", a metric's value, and whole seconds. */
void progress_add_head(const struct progress *progress, const struct plan_experiment *experiment, struct text *out);
void progress_add_number(struct text *out, double number);
void progress_add_seconds(struct text *out, double seconds);

/* The live lines: taken away, drawn anew. */
void progress_erase(struct progress *progress);
void progress_draw(struct progress *progress);

/* A line that stays. colour: of its last part, from byte coloured_from on; NULL: none. */
void progress_say(struct progress *progress, const struct text *line, const char *colour, size_t coloured_from);

#endif
