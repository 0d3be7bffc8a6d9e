/* gpu_hold: the GPUs that jobs will see, locked from before the first job to the end, so that two
 * runs never measure on one GPU at once. */
#ifndef TARE_SESSION_GPU_HOLD_H
#define TARE_SESSION_GPU_HOLD_H

#include "base/strv.h"
#include "plan/plan.h"
#include "run/run.h"

#include <signal.h>
#include <stdbool.h>

enum gpu_hold_mode { GPU_HOLD_WAIT, GPU_HOLD_REFUSE, GPU_HOLD_OFF };

/* Their names, for an option's row; NULL-terminated. */
extern const char *const gpu_hold_modes[];
enum gpu_hold_mode gpu_hold_mode_parse(const char *name);

struct gpu_hold_options {
    enum gpu_hold_mode mode;
    /* by a person: then a lock that cannot be had for another reason is an error, else a warning */
    bool asked;
    /* of the jobs, and where the locks of the run that we are part of are told */
    const struct strv *environment;
    const struct plan *plan; /* what adds to it; NULL: none */
    const sigset_t *ends;    /* signals that end the waiting */
    bool keeps_on_hangup;    /* a lost terminal does not */
    int failed;              /* the exit code for a refusal or an error */
};

struct gpu_hold;

/* Says who holds a GPU when it must wait, or is refused; it waits for a run of ours for at most 7
 * days, for anything else that has the lock 10 minutes. Gives 0: go on (out is NULL when there is
 * nothing to hold; the lock could not be had and nobody asked for it: gpu_hold_of_run says so);
 * else the exit code: 128 + n for a signal, or options->failed. waited (may be NULL): whether
 * somebody else held one. */
int gpu_hold_take(const struct gpu_hold_options *options, struct gpu_hold **out, bool *waited);

/* For whoever waits behind us: the run's folder, as a person wrote it. */
void gpu_hold_set_run(struct gpu_hold *hold, const char *run_dir);

/* Into the jobs' environment: a command of this program inside a job finds that the lock is its own
 * run's. */
void gpu_hold_tell_jobs(const struct gpu_hold *hold, struct strv *environment);

/* What the run is to know of it, for its evidence. Borrowed. */
struct run_gpu_locks gpu_hold_of_run(const struct gpu_hold *hold);

/* Each of these: NULL does nothing. */
void gpu_hold_end(struct gpu_hold *hold);

#endif
