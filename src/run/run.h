/* run: carries out a plan: one event loop (sd-event) for all lanes: signals, timers, pidfds, pipes.
 * Knows no terminal: it tells its listener what happens. */
#ifndef TARE_RUN_RUN_H
#define TARE_RUN_RUN_H

#include "run/request.h"

enum run_outcome {
    RUN_FINISHED,    /* every experiment ended (some may have failed) */
    RUN_INTERRUPTED, /* by a signal: signal_number */
    RUN_BUDGET,      /* experiments are left, and a budget is used up, or not enough for another */
    RUN_BROKEN       /* journal not writable, survivors: err says */
};

struct run_summary {
    enum run_outcome outcome;
    int signal_number;
    size_t succeeded, failed, interrupted, not_run;
    /* the first experiment, whose script refused its command line or could not be loaded: nothing
     * began after it; 0: none */
    size_t refused_by;
};

/* Runs what the store says is not done yet (never done, or interrupted), after ending what a dead
 * session left alive. SIGINT, SIGTERM: end the job, record, return; a second one: at once. SIGHUP:
 * the listener is told EVENT_NOTE with "detached" and the run goes on. Blocks until the end; those
 * signals stay out meanwhile. TARE_TIME_SCALE in the environment, 0.001 to 1, shortens the pauses
 * of the plan and other waits of tare's own, such as what a parallel experiment's background is
 * waited for; with GPUs that are not played it is refused (machine/sensors/time_scale.h). False:
 * the run is broken (RUN_BROKEN), err says why. Call from the main thread. */
bool run_plan(const struct run_request *request, struct run_summary *out, struct err *err);

#endif
