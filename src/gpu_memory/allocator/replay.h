/* replay: what a program would have come to under other settings, or with less memory. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_REPLAY_H
#define TARE_GPU_MEMORY_ALLOCATOR_REPLAY_H

#include "gpu_memory/allocator/model.h"
#include "gpu_memory/allocator/program.h"

/* The self-check: the recorded program replayed in the model at the recorded addresses must give
 * the recorded events, layout and figures, one for one. It also finds the calls of
 * torch.cuda.empty_cache(), which leave no event of their own. */

struct check {
    bool exact;    /* every event, address and the layout at the end */
    bool complete; /* the record goes back to the first request */
    size_t events; /* compared */
    /* not exact: the event, or the number of events when only the layout differs */
    size_t differs_at;
    char difference[240]; /* what differs, in words; "" when exact */
    struct model_stats stats;
    size_t *empty_caches; /* places in program->ops before which the cache was emptied */
    size_t empty_cache_count;
};

enum replay_outcome {
    REPLAY_FITS,
    /* only what is given back at once is refused: workspaces, as cuDNN does without */
    REPLAY_SURVIVES,
    /* it hangs on where segments lie, or on what the program does after a refused workspace */
    REPLAY_UNCERTAIN,
    REPLAY_FAILS
};

struct replay_refusal {
    uint32_t event;         /* of the request in the recorded trace */
    uint64_t size_bytes;    /* requested */
    uint64_t segment_bytes; /* what "Tried to allocate" says */
    uint32_t stack;
    uint16_t stream;
    bool survivable;
};

struct replay {
    enum replay_outcome outcome;
    struct model_stats stats;      /* up to the end, or to the failure */
    struct replay_refusal refusal; /* not FITS: the one it fails at; SURVIVES: the first */
    size_t refusals;               /* all */
    /* the record ends with an out of memory that would not have come: what follows is not known */
    bool beyond;
    /* of the reserved memory, over all kinds of drivers that were tried */
    uint64_t peak_low_bytes, peak_high_bytes;
};

/* The answer under one kind of driver. */
void replay_run(const struct snapshot *snapshot, size_t device, const struct program *program,
                const struct alloc_settings *settings, uint64_t cap_bytes, uint64_t total_bytes,
                enum driver_kind kind, struct replay *out);

/* The answer as an H200's driver has it, UNCERTAIN where other addresses change it. */
void replay_predict(const struct snapshot *snapshot, size_t device, const struct program *program,
                    const struct alloc_settings *settings, uint64_t cap_bytes, uint64_t total_bytes,
                    struct replay *out);

/* "fits", "survives", "uncertain", "fails" */
const char *replay_outcome_text(enum replay_outcome outcome);

/* Which settings need the least memory, and how much a program needs at least. */

struct advice {
    struct alloc_settings settings;
    struct replay free_run; /* with no cap */
    uint64_t least_bytes;   /* the smallest cap under which it fits, to within step_bytes */
    uint64_t step_bytes;
    uint64_t retries; /* at that cap: each costs time, as the GPU is waited for */
    bool recorded;    /* the settings it was recorded under */
};

/* GPUs as they are sold. */
struct gpu_size {
    unsigned gib;
    const char *examples;
};

struct recommendation {
    struct advice *advices; /* the one that needs least first; of equals the simpler one first */
    size_t count;
};

#endif
