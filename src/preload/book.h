/* book: how much is allocated, in the ledger that all processes of the job share. Room is taken before the driver
 * is asked, so that the sum of all never passes the limit, and given back when the driver refuses. */
#ifndef TARE_PRELOAD_BOOK_H
#define TARE_PRELOAD_BOOK_H

#include "preload/cuda_abi.h"
#include "preload/own.h"

#include <stdbool.h>
#include <stdint.h>

/* The GPU's place in the ledger; -1: none (no ledger, no room in it, or the driver does not say which GPU it is). */
int book_gpu(cu_device device);

/* The calling thread's current context, its GPU (-1: not followed) and the pool that its streams take from (NULL: there
 * are no pools). A thread remembers it until the context is another one or book_forget was called. */
struct book_here {
    void *context, *pool;
    int gpu;
};
struct book_here book_here(void);
void book_forget(void); /* a context ended, or a device has another pool */

/* What the driver hands out for so many bytes: in 512 bytes of a shared 2 MiB page up to 1 MiB, in whole pages
 * above. */
uint64_t book_held(uint64_t size);

/* Takes room for held bytes; then the call is under way until one of the two below. False: the limit does not allow
 * it, noted as a refusal of size bytes. */
bool book_take(int gpu, uint64_t held, uint64_t size);

/* The driver gave it: one more allocation under the entry's key, for which so much was taken; or it did not. */
void book_enter(const struct pointer_entry *entry, uint64_t taken);
void book_failed(int gpu, uint64_t held, uint64_t size, cu_result result);

/* An entry was taken out, and its call is under way: the driver says that it is free, or that it is not. */
void book_left(const struct pointer_entry *entry);
void book_stays(const struct pointer_entry *entry);

/* Within the caller's own own_hold, for what else he has to write: an entry comes, goes. They neither begin a call nor
 * end one, know of live bytes alone, and trace nothing. */
void book_put(struct own *own, const struct pointer_entry *entry);
void book_cross_out(struct own *own, const struct pointer_entry *entry);

/* Held bytes that the driver has handed out, or taken back, already. */
void book_correct(int gpu, uint64_t before, uint64_t now);

/* All that a context held is free. */
void book_context_gone(const void *context);

/* What the limit lets a program see: a GPU of the limit's size. */
void book_show(int gpu, uint64_t *free_bytes, uint64_t *total);

/* Between these a call is under way without room of its own: what the driver holds and what the books say may differ.
 * With a ledger only. */
void book_begin(void);
void book_end(void);

/* A virtual allocation has no entry here: its live bytes, and then all of it. */
void book_live_add(int gpu, uint64_t live);
void book_gone(int gpu, uint64_t live, uint64_t held);

#endif
