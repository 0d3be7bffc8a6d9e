/* traceback: the frames of Python's and IPython's tracebacks, read line by line: the innermost one
 * of the user's own code, and which operation ran. Pure. */
#ifndef TARE_GPU_MEMORY_OOM_TRACEBACK_H
#define TARE_GPU_MEMORY_OOM_TRACEBACK_H

#include "gpu_memory/oom/oom.h"

struct traceback {
    struct oom_place place; /* of the first traceback of a chain that has one */
    uint64_t line;          /* of the log: the last that belongs to it; 0: none */
    bool is_chained;        /* the next traceback is of an exception while this one was handled */
    bool is_kept;           /* the place is of an earlier traceback of the chain */
    bool is_own;            /* the last frame is of the user's own code: its source line follows */
    unsigned frames;
    unsigned whole;     /* OOM_HINT_... that any frame shows */
    unsigned innermost; /* those that only the last frames show ... */
    unsigned seen;      /* ... and the frame that last did */
};

/* A line of a log, without its newline. */
void traceback_read(struct traceback *traceback, uint64_t line, const char *raw, size_t length);

/* OOM_HINT_... of the traceback as it is now. */
unsigned traceback_hints(const struct traceback *traceback);

#endif
