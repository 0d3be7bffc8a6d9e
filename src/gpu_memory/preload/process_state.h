/* process_state: what this process keeps for itself, in memory that a forked child finds empty
 * (MADV_WIPEONFORK): a child has no GPU memory of its parent's, and no lock of another thread of
 * its parent's stays taken in it. */
#ifndef TARE_GPU_MEMORY_PRELOAD_PROCESS_STATE_H
#define TARE_GPU_MEMORY_PRELOAD_PROCESS_STATE_H

#include "base/gpu_ledger.h"
#include "gpu_memory/preload/pointers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { STATE_GPUS = 64 /* as the process numbers them */, STATE_POOLS = 64 };

struct pool_state {
    _Atomic(void *) pool; /* NULL: free */
    int gpu;
    _Atomic uint64_t reserved; /* as it was when it was last asked */
    _Atomic uint64_t used;     /* what programs have of it; written with the state locked */
    uint64_t calls;            /* with the state locked */
};

struct gpu_state {
    _Atomic int place; /* in the ledger, + 1; 0: not known yet; -1: none */
    void *primary;     /* its primary context, as last given out */
};

struct process_state {
    /* What every call touches, together. */
    atomic_flag spin; /* held by process_state_lock: of all below that says so */
    atomic_bool ready;
    atomic_bool captures;      /* a stream has been captured, or may have been */
    struct gpu_ledger *ledger; /* NULL: there is none, and everything goes by */
    /* of each GPU, in this process's place; written with the state locked */
    struct gpu_ledger_use *uses;
    /* of contexts and current pools: what threads remember of them is old */
    _Atomic uint64_t changes;
    struct pointers pointers; /* with the state locked */
    /* between the ledger and the driver; with the state locked */
    uint64_t calls_under_way, calls_begun;
    struct pool_state pools[STATE_POOLS];
    /* What few do. */
    struct gpu_ledger_process *place;                /* NULL: none was free */
    struct gpu_ledger_use unplaced[GPU_LEDGER_GPUS]; /* then these are its uses */
    /* of what is set up once, and of pools; taken before the state is locked */
    pthread_mutex_t lock;
    struct gpu_state gpus[STATE_GPUS];
    /* while the first is made; written with the state locked */
    _Atomic uint64_t context_reserved[GPU_LEDGER_GPUS];
    _Atomic int64_t context_read_ns[GPU_LEDGER_GPUS];
    /* the driver has told it; written by whoever holds `reading` */
    bool context_read[GPU_LEDGER_GPUS];
    atomic_flag reading;       /* one thread asks the driver at a time */
    struct virtuals *virtuals; /* virtual.c */
};

extern _Atomic(struct process_state *) process_state_page; /* process_state_get's */
/* process_state_get's, the first time in this process */
struct process_state *process_state_set_up(void);

/* Set up for this process; NULL: there is no ledger. */
static inline struct process_state *process_state_get(void)
{
    struct process_state *state = atomic_load_explicit(&process_state_page, memory_order_acquire);
    if (!state || !atomic_load_explicit(&state->ready, memory_order_acquire))
        return process_state_set_up();
    return state->ledger ? state : NULL;
}

/* One thread at a time writes: a few plain stores under one lock cost less than each of them alone
 * as an atomic one. Nobody waits for anything while he holds it. */
void process_state_wait(struct process_state *state);

static inline void process_state_lock(struct process_state *state)
{
    if (atomic_flag_test_and_set_explicit(&state->spin, memory_order_acquire))
        process_state_wait(state);
}

static inline void process_state_unlock(struct process_state *state)
{
    atomic_flag_clear_explicit(&state->spin, memory_order_release);
}

static inline void process_state_unlock_end(struct process_state **state)
{
    process_state_unlock(*state);
}

/* Locks the state to the end of the block. */
#define STATE_LOCKED(state)                                                                    \
    __attribute__((cleanup(process_state_unlock_end))) struct process_state *locked = (state); \
    process_state_lock(locked)

/* With the state locked: from now on what the driver holds and what the ledger says may differ;
 * calls_under_way-- ends it. */
static inline void process_state_call_begin(struct process_state *state)
{
    state->calls_begun++;
    state->calls_under_way++;
}

/* Takes the figures of other processes that are dead and have some on that GPU (-1: on any) out of
 * the job's. Costs some microseconds for each that is alive. */
void process_state_reap(struct process_state *state, int gpu);

/* Appends an event to the file that the environment names (gpu_ledger.h), if it names one. */
void trace_event(enum gpu_ledger_event_kind kind, int gpu, int how, uint64_t address,
                 uint64_t bytes);

#endif
