/* Evidence that the locks on the GPUs do not hold. */
#include "machine/gpu/lock.h"
#include "run/lane.h"

static void record_lock_evidence(struct lane *lane)
{
    const struct run_gpu_locks *gpu = &lane->runner->request->gpu_locks;
    if (gpu->kind)
        lane_add_evidence(lane, gpu->kind, "%s", gpu->text);
}

/* Checks again at the end: a lock can be removed while it is held. */
static json_t *check_locks(struct lane *lane)
{
    const struct run_gpu_locks *gpu = &lane->runner->request->gpu_locks;
    struct err err = {0};
    if (lane->attempt.end_ns != 0 && gpu->locks && !gpu_locks_check(gpu->locks, &err))
        lane_add_evidence(lane, "gpu_lock_untrusted", "%s", err.text);
    return NULL;
}

const struct observer locks_observer = {.started = record_lock_evidence, .end = check_locks};
