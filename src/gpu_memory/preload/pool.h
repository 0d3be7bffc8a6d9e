/* pool: memory of streams comes from pools, which keep what is freed into them: what a pool has
 * reserved is what counts as held. */
#ifndef TARE_GPU_MEMORY_PRELOAD_POOL_H
#define TARE_GPU_MEMORY_PRELOAD_POOL_H

#include "gpu_memory/preload/ledger.h"
#include "gpu_memory/preload/process_state.h"

#include <stdbool.h>
#include <stdint.h>

/* Asks the driver what the pool has reserved now and books the difference to what was known, of
 * which taken is booked already. */
void pool_settle(void *pool, int gpu, uint64_t taken);

/* Every pool on that GPU: they shrink whenever their streams are waited for. */
void pool_settle_all(int gpu);

/* -1: it is not known. */
int pool_gpu(struct process_state *state, cu_pool pool);

void pool_gone(struct process_state *state, const void *pool);

/* One allocation on its way. */
struct pool_call {
    cu_pool pool;
    int gpu;
    struct pool_state *place; /* NULL: there are too many pools */
    uint64_t taken;           /* the room for what the pool may grow by */
    bool under_way;           /* or else nothing new is needed, as far as the ledger knows */
};

/* Before the driver is asked for so many bytes; pool and gpu are set. False: the limit refuses
 * them. */
bool pool_reserve(struct process_state *state, struct pool_call *call, uint64_t size);

/* The driver did not give so many bytes. */
void pool_failed(const struct pool_call *call, uint64_t size, cu_result result);

/* The driver gave it. True: it is in the ledger; false: what the pool has reserved must be looked
 * at first (false: it is beyond the limit now), and then it is entered, or was freed again and is
 * given up. */
bool pool_given(struct process_state *state, const struct pool_call *call,
                const struct pointer_entry *entry);
bool pool_grown(const struct pool_call *call);
void pool_commit(struct process_state *state, const struct pool_call *call,
                 const struct pointer_entry *entry);
void pool_cancel(struct process_state *state, const struct pool_call *call,
                 const struct pointer_entry *entry);

/* With the state locked: the memory of the entry, which was taken out, is about to be freed;
 * nothing physical changes by that. Then, with what this said, what the driver said. */
bool pool_release_begin(struct process_state *state, const struct pointer_entry *entry);
void pool_release_end(const struct pointer_entry *entry, bool settled, cu_result result);

/* The way back of any allocation (allocate.c). The entry is taken out before the driver is told to
 * free the memory, as another thread may be given the same address at once. */
struct release {
    bool ours;
    bool settled; /* memory of streams: as pool_release_begin said */
    struct pointer_entry entry;
};
struct release release_begin(uint64_t key);
void release_end(const struct release *release, cu_result result);

#endif
