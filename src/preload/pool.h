/* pool: memory of streams comes from pools, which keep what is freed into them: what a pool has reserved is what
 * counts as held. */
#ifndef TARE_PRELOAD_POOL_H
#define TARE_PRELOAD_POOL_H

#include "preload/book.h"
#include "preload/own.h"

#include <stdbool.h>
#include <stdint.h>

/* Asks the driver what the pool has reserved now and books the difference to what was known, of which taken is
 * booked already. */
void pool_settle(void *pool, int gpu, uint64_t taken);

/* Every pool on that GPU: they shrink whenever their streams are waited for. */
void pool_settle_all(int gpu);

/* -1: it is not known. */
int pool_gpu(struct own *own, cu_pool pool);

void pool_gone(struct own *own, const void *pool);

/* One allocation on its way. */
struct pool_call {
    cu_pool pool;
    int gpu;
    struct own_pool *place; /* NULL: there are too many pools */
    uint64_t taken;         /* the room for what the pool may grow by */
    bool under_way;         /* or else nothing new is needed, as far as the books know */
};

/* Before the driver is asked for so many bytes; pool and gpu are set. False: the limit refuses them. */
bool pool_take(struct own *own, struct pool_call *call, uint64_t size);

/* The driver did not give it. */
void pool_failed(const struct pool_call *call);

/* The driver gave it. True: it stands in the books; false: what the pool has reserved must be looked at first (false:
 * it is beyond the limit now), and then it is entered, or was freed again and is given up. */
bool pool_given(struct own *own, const struct pool_call *call, const struct pointer_entry *entry);
bool pool_grown(const struct pool_call *call);
void pool_entered(struct own *own, const struct pool_call *call, const struct pointer_entry *entry);
void pool_given_up(struct own *own, const struct pool_call *call, const struct pointer_entry *entry);

/* With the books held: the memory of the entry, which was taken out, is about to be freed; nothing physical changes by
 * that. Then, with what this said, what the driver said. */
bool pool_leaves(struct own *own, const struct pointer_entry *entry);
void pool_left(const struct pointer_entry *entry, bool settled, cu_result result);

#endif
