/* own: what this process keeps for itself, in memory that a forked child finds empty (MADV_WIPEONFORK): a child
 * has no GPU memory of its parent's, and no lock of another thread of its parent's stays taken in it. */
#ifndef TARE_PRELOAD_OWN_H
#define TARE_PRELOAD_OWN_H

#include "base/gpu_ledger.h"
#include "preload/pointers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { OWN_GPUS = 64 /* as the process numbers them */, OWN_POOLS = 64 };

struct own_pool {
    _Atomic(void *) pool; /* NULL: free */
    int gpu;
    _Atomic uint64_t reserved; /* as it was when it was last asked */
    _Atomic uint64_t used;     /* what programs have of it */
    _Atomic uint64_t calls;
};

struct own_gpu {
    _Atomic int place; /* in the ledger, + 1; 0: not known yet; -1: none */
    void *primary;     /* its primary context, as last given out */
};

struct own {
    pthread_mutex_t lock; /* of what is set up once, and of pools */
    atomic_bool ready;
    struct gpu_ledger *ledger; /* NULL: there is none, and everything goes by */
    struct gpu_ledger_process *process; /* NULL: no place was free */
    struct own_gpu gpus[OWN_GPUS];
    struct own_pool pools[OWN_POOLS];
    _Atomic uint64_t held[GPU_LEDGER_GPUS]; /* also where there is no place in the ledger */
    _Atomic uint64_t context[GPU_LEDGER_GPUS];
    _Atomic int64_t context_read_ns[GPU_LEDGER_GPUS];
    _Atomic uint64_t calls; /* between the books and the driver: those under way, and << 32 those ever begun */
    atomic_bool captures;   /* a stream has been captured, or may have been */
    _Atomic uint64_t changes; /* of contexts and current pools: what threads remember of them is old */
    atomic_flag reading;    /* one thread asks the driver at a time */
    struct pointers pointers;
    struct virtuals *virtuals; /* virtual.c */
};

/* Set up for this process; NULL: there is no ledger. */
struct own *own_get(void);

/* Takes processes that are gone out of the totals. */
void own_reap(struct gpu_ledger *ledger);

/* Where events go; "": nowhere. */
const char *own_trace_path(void);

#endif
