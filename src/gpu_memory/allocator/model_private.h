/* model_private: what the files of the model share. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_MODEL_PRIVATE_H
#define TARE_GPU_MEMORY_ALLOCATOR_MODEL_PRIVATE_H

#include "gpu_memory/allocator/free_set.h"
#include "gpu_memory/allocator/model.h"

#define MIN_BLOCK    UINT64_C(512)
#define SMALL_MAX    (UINT64_C(1) << 20)
#define SMALL_BUFFER (UINT64_C(2) << 20)
#define LARGE_MIN    (UINT64_C(10) << 20)
#define LARGE_BUFFER (UINT64_C(20) << 20)
#define LARGE_ROUND  (UINT64_C(2) << 20)
#define REQUEST_MAX  (UINT64_C(1) << 48) /* no device holds more: refused without asking */

struct expandable {
    uint64_t addr, size, page;
};

/* Unmapped blocks of a pool and stream by address: few. */
struct unmapped {
    uint32_t *blocks;
    size_t count;
};

struct model {
    struct model_options options;
    bool counts_age; /* searches are counted only with a cap and a threshold */
    struct model_block *blocks;
    size_t block_count;
    uint32_t *spare; /* freed places of blocks */
    size_t spare_count;
    struct free_set *free;     /* [pool half * stream_count + stream] */
    struct unmapped *unmapped; /* the same */
    uint64_t *searches;        /* [pool half] */
    struct expandable *expandables;
    size_t expandable_count;
    uint32_t *pending; /* freed blocks that wait, in their order; MODEL_NONE: gone */
    size_t pending_count, pending_live;
    struct model_stats stats;
};

struct request {
    uint64_t requested, size, segment_size;
    uint16_t half, stream;
};

static inline size_t queue_of(const struct model *model, uint16_t half, uint16_t stream)
{
    return (size_t)half * model->options.stream_count + stream;
}

static inline void energy_meters_add(struct model_energy_meters *energy_meters, uint64_t amount)
{
    energy_meters->now += amount;
    if (energy_meters->now > energy_meters->peak)
        energy_meters->peak = energy_meters->now;
}

static inline void energy_meters_sub(struct model_energy_meters *energy_meters, uint64_t amount)
{
    energy_meters->now -= amount;
}

static inline bool is_split(const struct model_block *block)
{
    return block->prev != MODEL_NONE || block->next != MODEL_NONE;
}

/* Neighbours in their segment; one of the two may be none. */
static inline void link_blocks(struct model *model, uint32_t prev, uint32_t next)
{
    if (prev != MODEL_NONE)
        model->blocks[prev].next = next;
    if (next != MODEL_NONE)
        model->blocks[next].prev = prev;
}

static inline bool model_is_small(uint16_t half)
{
    return half & 1;
}

#endif
