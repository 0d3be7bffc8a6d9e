/* Which GPU it is: its row in the ledger, the calling thread's, what a program is shown of it. */
#ifndef TARE_GPU_MEMORY_PRELOAD_LEDGER_GPU_H
#define TARE_GPU_MEMORY_PRELOAD_LEDGER_GPU_H

#include "gpu_memory/preload/ledger.h"

/* The GPU's place in the ledger; -1: none (no ledger, no room in it, or the driver does not say
 * which GPU it is). */
int ledger_gpu(cu_device device);

struct ledger_here ledger_here(void);

void ledger_forget(void); /* a context ended, or a device has another pool */

/* What the limit lets a program see: a GPU of the limit's size. */
void ledger_show(int gpu, uint64_t *free_bytes, uint64_t *total);

#endif
