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

/* Takes room for held bytes; false: the limit does not allow it, noted as a refusal of size bytes. */
bool book_take(int gpu, uint64_t held, uint64_t size);

/* Without asking the limit: what the driver has handed out already. */
void book_force(int gpu, uint64_t held);
void book_give_back(int gpu, uint64_t held);

/* The driver gave it, the room for it is taken: one more allocation under key; or it could not. */
void book_enter(const struct pointer_entry *entry);
void book_failed(int gpu, uint64_t held, uint64_t size);

/* Takes the entry out before the driver is told to free it (another thread may be given the same address at once);
 * then book_left says that it is free, or book_stays that it is not. False: not one of ours. */
bool book_leave(uint64_t key, struct pointer_entry *out);
void book_left(const struct pointer_entry *entry);
void book_stays(const struct pointer_entry *entry);

/* All that a context held is free. */
void book_context_gone(const void *context);

/* What the limit lets a program see: a GPU of the limit's size. */
void book_show(int gpu, uint64_t *free_bytes, uint64_t *total);

/* Between these a thread stands between the books and the driver. */
void book_begin(void);
void book_end(void);

/* The two figures of live bytes; a virtual or pooled allocation enters and leaves apart from its room. */
void book_live_add(int gpu, uint64_t live);
void book_live_subtract(int gpu, uint64_t live);

#endif
