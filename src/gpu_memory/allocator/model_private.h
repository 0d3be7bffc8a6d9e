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

void model_emit(const struct model *model, enum name action, uint64_t addr, uint64_t size,
                uint16_t stream);

uint32_t model_block_new(struct model *model, const struct model_block *like);
void model_block_drop(struct model *model, uint32_t block);

/* Puts a free block among the free ones of its pool, and takes it out again. */
void model_free_insert(struct model *model, uint32_t at);
void model_free_take(struct model *model, uint32_t at);
void model_unmapped_insert(struct model *model, uint32_t at);
void model_unmapped_remove(struct model *model, uint32_t at);

/* dst takes in its neighbour src where both are free alike; gives the bytes taken, or 0. src may be
 * MODEL_NONE. */
uint64_t model_merge_blocks(struct model *model, uint32_t dst, uint32_t src);

/* A freed block that a stream may still use. */
void model_pending_add(struct model *model, uint32_t at);

/* Moves a block that nothing uses any more to the free ones. */
void model_block_to_free(struct model *model, uint32_t at);

/* Makes room for mapped blocks of total bytes in the expandable segment whose address space begins
 * at base, which is made when there is none: between which blocks they come. Gives its number, from
 * 1 on; 0: there is no room. */
uint32_t model_expandable_carve(struct model *model, const struct model_early *early,
                                uint64_t total, uint32_t *prev, uint32_t *next);

/* Expandable segments. grow gives a block of at least the request's size that is in no free set;
 * MODEL_NONE: refused. */
uint32_t model_expandable_grow(struct model *model, const struct request *request);
void model_expandable_unmap(struct model *model, uint32_t at);

void model_collect_garbage(struct model *model);
bool model_release_oversize(struct model *model, const struct request *request);
bool model_garbage_is_due(const struct model *model);

#endif
