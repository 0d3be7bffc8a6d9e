/* run: executes a plan in one event loop (sd-event) for all lanes. Output goes through its
 * listener. */
#ifndef TARE_RUN_RUN_H
#define TARE_RUN_RUN_H

#include "run/request.h"

enum run_outcome {
    RUN_FINISHED,    /* some experiments may have failed */
    RUN_INTERRUPTED, /* see signal_number */
    RUN_BUDGET,      /* used up, or not enough for another experiment */
    RUN_BROKEN       /* see err */
};

struct run_summary {
    enum run_outcome outcome;
    int signal_number;
    size_t succeeded, failed, interrupted, not_run;
    /* the first experiment, if its script refused the command line or did not load, which stops the
     * run; 0: none */
    size_t refused_by;
};

/* Runs what the store lists as not done, after ending jobs of dead sessions, and blocks until then.
 * SIGINT and SIGTERM end the job, record it and return; a second one kills. SIGHUP reports
 * EVENT_NOTE "detached". TARE_TIME_SCALE, 0.001 to 1, shortens waits; refused with real GPUs
 * (machine/sensors/time_scale.h). False: RUN_BROKEN, see err. Main thread only. */
bool run_plan(const struct run_request *request, struct run_summary *out, struct err *err);

#endif
