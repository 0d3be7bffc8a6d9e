/* recommend: which settings need the least memory, and how much a program needs at least. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_RECOMMEND_H
#define TARE_GPU_MEMORY_ALLOCATOR_RECOMMEND_H

#include "gpu_memory/allocator/replay.h"

struct advice {
    struct alloc_settings settings;
    struct replay free_run; /* with no cap */
    uint64_t least_bytes;   /* the smallest cap under which it fits, to within step_bytes */
    uint64_t step_bytes;
    uint64_t retries;       /* at that cap: each costs time, as the GPU is waited for */
    bool recorded;          /* the settings it was recorded under */
};

/* GPUs as they are sold. */
struct gpu_size {
    unsigned gib;
    const char *examples;
};

struct recommendation {
    struct advice *advices; /* the one that needs least first; of equals the simpler one first */
    size_t count;
};

void recommend_run(const struct snapshot *snapshot, size_t device, const struct program *program, uint64_t total_bytes,
                   struct recommendation *out);
void recommend_fini(struct recommendation *recommendation);

/* The smallest that holds so much; NULL: none does. */
const struct gpu_size *gpu_size_for(uint64_t reserved_bytes);

#endif
