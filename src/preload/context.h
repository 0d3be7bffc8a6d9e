/* context: the memory of the process's own CUDA context (its code, stacks, the driver's tables), which no call
 * allocates. NVML's figure for the process less what the process has allocated; where NVML does not list the
 * process, an assumed size. */
#ifndef TARE_PRELOAD_CONTEXT_H
#define TARE_PRELOAD_CONTEXT_H

enum context_when {
    CONTEXT_NOW_AND_THEN, /* if the last look is some time ago: only upwards */
    CONTEXT_EXACTLY       /* before a request is refused */
};

void context_look(int gpu, enum context_when when);

#endif
