/* check: the self-check: the recorded program replayed in the model at the recorded addresses must give the recorded
 * events, layout and figures, one for one. It also finds the calls of torch.cuda.empty_cache(), which leave no event of
 * their own. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_CHECK_H
#define TARE_GPU_MEMORY_ALLOCATOR_CHECK_H

#include "gpu_memory/allocator/model.h"
#include "gpu_memory/allocator/program.h"

struct check {
    bool exact;              /* every event, address and the layout at the end */
    bool complete;           /* the record goes back to the first request */
    size_t events;           /* compared */
    size_t differs_at;       /* not exact: the event, or the number of events when only the layout differs */
    char difference[240];    /* what differs, in words; "" when exact */
    struct model_stats stats;
    size_t *empty_caches;    /* places in program->ops before which the cache was emptied */
    size_t empty_cache_count;
};

/* cap_bytes: the cap it was recorded under; MODEL_NO_CAP: none, or not known. total_bytes: of the device, for
 * expandable segments; 0: not known. */
void check_run(const struct snapshot *snapshot, size_t device, const struct program *program, uint64_t cap_bytes,
               uint64_t total_bytes, struct check *out);
void check_fini(struct check *check);

#endif
