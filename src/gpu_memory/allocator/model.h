/* model: PyTorch's caching allocator (1.12 to 2.11) as a deterministic machine: requests in;
 * addresses, segments and figures out. Where new segments lie and whether the device refuses them
 * is asked of a driver, so that a recorded run can be repeated address for address, and another
 * setting be tried with a driver that is a model itself. Source of the rules: PyTorch's
 * c10/cuda/CUDACachingAllocator.cpp. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_MODEL_H
#define TARE_GPU_MEMORY_ALLOCATOR_MODEL_H

#include "gpu_memory/allocator/conf.h"
#include "gpu_memory/allocator/pickle.h"
#include "gpu_memory/allocator/snapshot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_NONE   UINT32_MAX
#define MODEL_NO_CAP UINT64_MAX

/* Answers for the device. take: an address for a segment; false: refused. give: it comes back.
 * reserve: address space for an expandable segment, of which nothing is mapped yet. grow: whether
 * an expandable segment may get more pages (NULL: yes). */
struct model_driver {
    bool (*take)(void *context, uint64_t size, uint64_t *addr);
    void (*give)(void *context, uint64_t addr, uint64_t size);
    bool (*reserve)(void *context, uint64_t size, uint64_t *addr);
    bool (*grow)(void *context);
    void *context;
};

/* Each event as PyTorch's trace would have it; requested bytes for alloc and free_*, real ones for
 * segment_*, the rounded request for oom. */
typedef void model_listener(void *context, enum name action, uint64_t addr, uint64_t size,
                            uint16_t stream);

struct model_options {
    struct alloc_settings settings;
    uint64_t cap_bytes;           /* set_per_process_memory_fraction; MODEL_NO_CAP: none */
    uint64_t address_space_bytes; /* of an expandable segment: 9/8 of the device's memory */
    size_t stream_count;
    size_t pool_count; /* 1 and those of CUDA graphs */
    struct model_driver driver;
    model_listener *listener; /* NULL: nobody listens */
    void *listener_context;
};

struct model_energy_meters {
    uint64_t now, peak;
};

struct model_stats {
    struct model_energy_meters allocated, active, requested, reserved, inactive_split; /* bytes */
    struct model_energy_meters segments; /* a number; expandable ones do not count */
    uint64_t retries, ooms;
};

struct model_block {
    uint64_t addr, size;
    uint64_t requested;
    uint64_t gc_base;
    uint32_t prev, next;   /* neighbours in the segment; MODEL_NONE at its ends */
    uint32_t expandable;   /* 1 + the expandable segment it lies in; 0: none */
    uint16_t stream, pool; /* pool: twice the pool's number, + 1 for its small half */
    bool allocated, pending, mapped, used;
};

struct model;

struct model *model_new(const struct model_options *options);
void model_free(struct model *model);

/* free: still_used: another stream may be reading it, so that it stays until model_complete. */
void model_release(struct model *model, uint32_t at, bool still_used);
/* nothing, when it is not pending any more */
void model_complete(struct model *model, uint32_t at);

/* A segment from before the record began, and its blocks one after the other. */
struct model_piece {
    uint64_t size, requested;
    bool allocated, pending; /* neither: free */
};
struct model_early {
    uint64_t addr;
    uint64_t base; /* of an expandable one: where its address space begins; 0: not expandable */
    uint16_t pool, stream;
    bool small;
};
void model_preload(struct model *model, const struct model_early *early,
                   const struct model_piece *pieces, size_t count, uint32_t *blocks);

const struct model_stats *model_stats(const struct model *model);
const struct model_block *model_block(const struct model *model, uint32_t block);

/* All blocks that are used, in no order: visit each once. *at begins with 0. */
bool model_next_block(const struct model *model, uint32_t *at, uint32_t *block);

/* Where a CUDA driver puts new segments, modelled on an H200's: address space is taken in chunks of
 * 32 MiB from the highest gap that has room; within chunks that are in use, the lowest address that
 * fits is given first. Addresses break ties between free blocks of equal size, so they matter a
 * little for what a replay under other settings comes to. */

struct driver;

/* How it answers: as an H200 does, or in ways that are simpler than any driver's; what comes out
 * the same under all of them does not hang on guessed addresses. */
enum driver_kind {
    DRIVER_CHUNKS,
    DRIVER_CHUNKS_APART, /* without repeating the recorded addresses */
    DRIVER_FALLING,      /* each segment below the last */
    DRIVER_KINDS
};

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

#endif
