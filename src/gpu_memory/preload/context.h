/* context: the memory of the process's own CUDA context (its code, stacks, the driver's tables), which no call
 * allocates. NVML's figure for the process less what the process has allocated; where NVML does not list the
 * process, an assumed size. */
#ifndef TARE_GPU_MEMORY_PRELOAD_CONTEXT_H
#define TARE_GPU_MEMORY_PRELOAD_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

enum context_when {
    CONTEXT_NOW_AND_THEN, /* if the last look is some time ago: only upwards */
    CONTEXT_EXACTLY       /* before a request is refused */
};

void context_look(int gpu, enum context_when when);

/* A context is about to be made: takes room for it, as much as others of the job have. False: there is none; nothing is
 * to be done then. Afterwards, whether it was made: it is read. */
bool context_begin(int gpu, uint64_t *taken);
void context_made(int gpu, uint64_t taken, bool good);

#endif
