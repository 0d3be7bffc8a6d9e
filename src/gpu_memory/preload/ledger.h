/* ledger: how much is allocated, in the table that all processes of the job share
 * (base/gpu_ledger.h). Under a limit a request first reserves room, so that the sum of all never
 * passes the limit; then the driver is asked; what it grants is committed, and only that raises a
 * peak. No figure goes below 0, or beyond the largest, whatever was written into the table. */
#ifndef TARE_GPU_MEMORY_PRELOAD_LEDGER_H
#define TARE_GPU_MEMORY_PRELOAD_LEDGER_H

#include "gpu_memory/preload/cuda_abi.h"
#include "gpu_memory/preload/process_state.h"

#include <stdbool.h>
#include <stdint.h>

/* Sums and products that stay at the largest figure instead of beginning anew at 0. */
static inline uint64_t saturating_add(uint64_t a, uint64_t b)
{
    return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

static inline uint64_t saturating_multiply(uint64_t a, uint64_t b)
{
    return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* The calling thread's current context, its GPU (-1: not followed) and the pool that its streams
 * take from (NULL: there are no pools). A thread remembers it until the context is another one or
 * ledger_forget was called. */
struct ledger_here {
    void *context, *pool;
    int gpu;
};

/* What the driver hands out for so many bytes: in 512 bytes of a shared 2 MiB page up to 1 MiB, in
 * whole pages above. */
uint64_t ledger_held(uint64_t size);

/* Reserves room for held bytes; then the call is under way until one of the two below. False: the
 * limit does not allow it, noted as a refusal of size bytes. */
bool ledger_reserve(int gpu, uint64_t held, uint64_t size);

/* The driver granted it: one more allocation under the entry's key, for which so much was reserved;
 * or it did not. Virtual memory has no entry (virtual.c). */
void ledger_commit(const struct pointer_entry *entry, uint64_t reserved);
void ledger_cancel(int gpu, uint64_t reserved, uint64_t size, cu_result result);

/* The driver's own out of memory, of a request of so many bytes. */
void ledger_note_driver_refusal(int gpu, uint64_t size, cu_result result);

/* An entry was taken out, and its call is under way: the driver says that it is free, or that it is
 * not. */
void ledger_release(const struct pointer_entry *entry);
void ledger_restore(const struct pointer_entry *entry);

/* Locks the state, for an allocation of so many live bytes. */
void ledger_lock_to_add(struct process_state *state, int gpu, uint64_t live);

/* With the state locked, for what else the caller has to write: an entry comes, goes. They neither
 * begin a call nor end one, know of live bytes alone, and trace nothing. */
void ledger_add(struct process_state *state, const struct pointer_entry *entry);
void ledger_remove(struct process_state *state, const struct pointer_entry *entry);

/* Held bytes that the driver has handed out, or taken back, already; so many were reserved for
 * them. */
void ledger_adjust(int gpu, uint64_t before, uint64_t now, uint64_t reserved);

/* All that a context held is free. */
void ledger_context_gone(const void *context);

/* Room for a context that is about to be made; false: there is none. Then what the process's
 * contexts have, for which so much was reserved. */
bool ledger_context_reserve(int gpu, uint64_t bytes);
void ledger_context_set(int gpu, uint64_t bytes, enum gpu_ledger_context how, uint64_t reserved);

/* The process's own context (context.c): asks how much it holds. */
enum context_when {
    CONTEXT_NOW_AND_THEN, /* if the last look is some time ago: only upwards */
    CONTEXT_EXACTLY       /* before a request is refused */
};

/* How much more the job may hold. */
uint64_t ledger_headroom(const struct process_state *state, int gpu);

/* Between these a call is under way without room of its own: what the driver holds and what the
 * ledger says may differ. With a ledger only. */
void ledger_call_begin(void);
void ledger_call_end(void);

/* A virtual allocation is free. */
void ledger_virtual_gone(int gpu, uint64_t live, uint64_t held);

/* Other processes that are dead leave the job's sums; cheap where this one has the GPU alone. */
void ledger_reap(struct process_state *state, int gpu);

/* Takes the figures of a process out of the job's sums. */
void ledger_remove_process(struct gpu_ledger *ledger, const struct gpu_ledger_process *process);

#endif
