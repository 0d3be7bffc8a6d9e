/* virtual: physical memory that is made, mapped and released apart. It lives until its last handle is released and
 * its last mapping unmapped (CUDA Driver API, Virtual Memory Management). Private to virtual.c and virtual_memory.c. */
#ifndef TARE_GPU_MEMORY_PRELOAD_VIRTUAL_H
#define TARE_GPU_MEMORY_PRELOAD_VIRTUAL_H

#include "gpu_memory/preload/cuda_abi.h"

#include <stdbool.h>
#include <stdint.h>

struct virtual_memory; /* one piece of physical memory */

/* All do nothing where there is no ledger. The driver made size bytes, for which held bytes were reserved. */
void virtual_made(cu_handle handle, int gpu, uint64_t size, uint64_t held);
struct virtual_memory *virtual_let_go(cu_handle handle); /* one handle less, before the driver is told; NULL: unknown */
void virtual_released(struct virtual_memory *memory);    /* the driver did it */
void virtual_kept(struct virtual_memory *memory, cu_handle handle); /* the driver did not */
void virtual_mapped(cu_handle handle, cu_pointer start, uint64_t size);
void virtual_unmapped(cu_pointer start, uint64_t size); /* every mapping within */
void virtual_retained(cu_handle handle, cu_pointer within);
void virtual_imported(cu_handle handle);

#endif
