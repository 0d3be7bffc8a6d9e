/* context: the memory of the process's own CUDA context (its code, stacks, the driver's tables),
 * which no call allocates: NVML's figure for the process less what the process has allocated; where
 * NVML does not list the process, an assumed size. And the calls that make and end contexts: one
 * takes what was allocated in it along when it goes. */
#ifndef TARE_GPU_MEMORY_PRELOAD_CONTEXT_H
#define TARE_GPU_MEMORY_PRELOAD_CONTEXT_H

#include "gpu_memory/preload/ledger.h"

void context_look(int gpu, enum context_when when);

#endif
