/* check: replays a record through the model and compares each event and the final layout. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_CHECK_H
#define TARE_GPU_MEMORY_ALLOCATOR_CHECK_H

#include "gpu_memory/allocator/replay.h"

/* cap_bytes: the cap it was recorded under; MODEL_NO_CAP: none, or not known. total_bytes: of the
 * device, for expandable segments; 0: not known. */
void check_run(const struct snapshot *snapshot, size_t device, const struct program *program,
               uint64_t cap_bytes, uint64_t total_bytes, struct check *out);
void check_fini(struct check *check);

#endif
