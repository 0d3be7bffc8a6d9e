/* recommend: finds allocator settings that need less GPU memory, and the least memory they need. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_RECOMMEND_H
#define TARE_GPU_MEMORY_ALLOCATOR_RECOMMEND_H

#include "gpu_memory/allocator/replay.h"

void recommend_run(const struct snapshot *snapshot, size_t device, const struct program *program,
                   uint64_t total_bytes, struct recommendation *out);
void recommend_fini(struct recommendation *recommendation);

/* The smallest that holds so much; NULL: none does. */
const struct gpu_size *gpu_size_for(uint64_t reserved_bytes);

#endif
