/* pool: memory of streams comes from pools, which keep what is freed into them: what a pool has reserved is what
 * counts as held. */
#ifndef TARE_PRELOAD_POOL_H
#define TARE_PRELOAD_POOL_H

#include <stdint.h>

/* Asks the driver what the pool has reserved now and books the difference to what was known, of which taken is
 * booked already. */
void pool_settle(void *pool, int gpu, uint64_t taken);

/* size bytes of it were freed. */
void pool_freed(void *pool, int gpu, uint64_t size);

/* Every pool on that GPU: they shrink whenever their streams are waited for. */
void pool_settle_all(int gpu);

#endif
