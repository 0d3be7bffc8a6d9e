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
    _Atomic uint64_t used;     /* what programs have of it; written with the books held */
    uint64_t calls;            /* with the books held */
};

struct own_gpu {
    _Atomic int place; /* in the ledger, + 1; 0: not known yet; -1: none */
    void *primary;     /* its primary context, as last given out */
};

struct own {
    /* What every call touches, together. */
    atomic_flag books;        /* held by own_hold: of all below that says so */
    atomic_bool ready;
    atomic_bool captures;     /* a stream has been captured, or may have been */
    struct gpu_ledger *ledger; /* NULL: there is none, and everything goes by */
    struct gpu_ledger_process *process; /* NULL: no place was free */
    _Atomic uint64_t changes; /* of contexts and current pools: what threads remember of them is old */
    struct pointers pointers; /* with the books held */
    uint64_t calls_under_way, calls_begun; /* between the books and the driver; with the books held */
    struct own_pool pools[OWN_POOLS];
    _Atomic uint64_t held[GPU_LEDGER_GPUS]; /* also where there is no place in the ledger; written with the books held */
    /* What few do. */
    pthread_mutex_t lock;     /* of what is set up once, and of pools; taken before the books */
    struct own_gpu gpus[OWN_GPUS];
    _Atomic uint64_t context[GPU_LEDGER_GPUS];
    _Atomic int64_t context_read_ns[GPU_LEDGER_GPUS];
    bool context_read[GPU_LEDGER_GPUS]; /* the driver has told it; written by whoever holds `reading` */
    atomic_flag reading;      /* one thread asks the driver at a time */
    struct virtuals *virtuals; /* virtual.c */
};

extern _Atomic(struct own *) own_page; /* own_get's */
struct own *own_set_up(void);          /* own_get's, the first time in this process */

/* Set up for this process; NULL: there is no ledger. */
static inline struct own *own_get(void)
{
    struct own *own = atomic_load_explicit(&own_page, memory_order_acquire);
    if (!own || !atomic_load_explicit(&own->ready, memory_order_acquire))
        return own_set_up();
    return own->ledger ? own : NULL;
}

/* The books of this process are written by one thread at a time: a few plain stores under one lock cost less than each
 * of them alone as an atomic one. Nobody waits for anything while he holds it. */
void own_wait(struct own *own);

static inline void own_hold(struct own *own)
{
    if (atomic_flag_test_and_set_explicit(&own->books, memory_order_acquire))
        own_wait(own);
}

static inline void own_let_go(struct own *own)
{
    atomic_flag_clear_explicit(&own->books, memory_order_release);
}

/* With the books held: from now on what the driver holds and what the books say may differ; calls_under_way-- ends it. */
static inline void own_call_begins(struct own *own)
{
    own->calls_begun++;
    own->calls_under_way++;
}

/* Takes processes that are gone out of the totals. */
void own_reap(struct gpu_ledger *ledger);

/* Where events go; "": nowhere. */
const char *own_trace_path(void);

#endif
