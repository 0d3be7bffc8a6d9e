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

/* Provenance, written once per session (that of the session before becomes machine.<n>.json, n from
 * 1): machine.json (host, kernel, cpu, memory, version, GPUs by name where /proc says, containment,
 * per repository: path, git commit, dirty flag; per interpreter: path, version, packages; per
 * script: the digests of its files; the lanes' processors). Starts no shell. */
struct cpu_sets; /* run/cpu_sets.h */
struct machine_facts {
    const struct cpu_sets *sets;                       /* NULL: none */
    const struct energy_meters_options *energy_meters; /* whose calibrations are used; NULL: none */
    const json_t *software;                            /* machine_software */
    int64_t session;                                   /* 0: none */
};
bool machine_write(int dir, const struct plan *plan, const struct containment *containment,
                   const struct machine_facts *facts, struct err *err);

/* The part of machine.json that is compared between sessions (run/fingerprint.h): drivers,
 * interpreters, code. A new reference. */
json_t *machine_software(const struct plan *plan, const struct containment *containment,
                         const struct strv *environment);

#endif
