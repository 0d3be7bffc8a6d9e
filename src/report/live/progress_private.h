/* What progress.c (events in) and progress_line.c (lines out) share. Private to ui/. */
#ifndef TARE_REPORT_LIVE_PROGRESS_PRIVATE_H
#define TARE_REPORT_LIVE_PROGRESS_PRIVATE_H

#include "measure/guard/evidence.h"
#include "report/live/drawn.h"
#include "report/live/estimate.h"
#include "report/live/output.h"
#include "report/live/progress.h"

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
