/* usage: what a snapshot says about its memory: where it is, how it came to that, what is alive and
 * what keeps growing. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_USAGE_H
#define TARE_GPU_MEMORY_ALLOCATOR_USAGE_H

#include "gpu_memory/allocator/owners.h"
#include "gpu_memory/allocator/program.h"
#include "gpu_memory/allocator/replay.h"
#include "gpu_memory/allocator/snapshot.h"

/* The sums of some blocks. */
struct usage_sum {
    size_t segments, blocks;
    uint64_t reserved, allocated, active; /* active: allocated, and freed but awaited */
    uint64_t requested;                   /* of what is active: as it was asked for, not rounded */
    uint64_t inactive_split;              /* free, but beside what is used: cannot be given back */
    /* free segments, and free pages of expandable ones: emptying the cache gives them back */
    uint64_t inactive_whole;
    uint64_t largest_free; /* the largest request that fits without a new segment */
};

struct usage_pool {
    uint64_t pool_id[2];
    uint16_t stream;
    bool small, expandable;
    struct usage_sum sum;
};

struct usage_layout {
    struct usage_sum total;
    struct usage_pool *pools; /* largest first */
    size_t pool_count;
};

void usage_layout(const struct snapshot *snapshot, size_t device, struct usage_layout *out);
void usage_layout_fini(struct usage_layout *layout);

/* The sums of one segment. */
struct usage_sum usage_of_segment(const struct snapshot *snapshot,
                                  const struct snapshot_segment *segment);

/* The part of a free block that emptying the cache gives back: addresses from *begin to *end, which
 * are equal when there is none. */
void usage_releasable(const struct snapshot_segment *segment, const struct snapshot_block *block,
                      uint64_t *begin, uint64_t *end);

/* Of the reserved memory, the part that is free and yet cannot be given back; 0 to 1. */
double usage_fragmentation(const struct usage_sum *sum);

#define CURVE_POINTS 480

struct curve_point {
    size_t event;
    int64_t time_us;
    uint64_t allocated, reserved; /* the most within the point's events */
};

struct curve {
    struct curve_point points[CURVE_POINTS];
    size_t count;
    uint64_t peak_allocated, peak_reserved;
    uint32_t peak_event; /* where peak_allocated is reached first */
};

/* Allocated as blocks are rounded, not as they are split: within 1 MiB a block of the figures of a
 * self-check. */
void usage_curve(const struct snapshot *snapshot, size_t device, const struct program *program,
                 struct curve *out);

/* A recorded out of memory. PyTorch looks how much the GPU has free after it gave back what it
 * could: less than the segment that it wanted, and the GPU was full; else a cap forbade it
 * (set_per_process_memory_fraction), which refuses what would make the reserved memory more than it
 * (CUDACachingAllocator.cpp, alloc_block). */
struct usage_oom {
    uint32_t event, stack;
    int64_t time_us;
    uint64_t requested_bytes; /* rounded */
    uint64_t segment_bytes;   /* what "Tried to allocate" says */
    uint64_t device_free_bytes, reserved_bytes, allocated_bytes;
    bool by_cap;
    /* the cap was between these, or at them; a full GPU: what PyTorch could have */
    uint64_t limit_low_bytes, limit_high_bytes;
};

/* In the order of the record. The caller frees. */
struct usage_oom *usage_ooms(const struct snapshot *snapshot, size_t device,
                             const struct program *program, size_t *count);

enum growth_source { GROWTH_NONE, GROWTH_EPOCHS, GROWTH_PROFILER_STEPS, GROWTH_STEPS };

/* A stretch of the record: an epoch, or some steps. */
struct growth_span {
    size_t first_event, end_event;
    uint64_t low, high; /* least and most requested bytes that were alive */
    uint64_t kept;      /* requested bytes born in it and alive at the end of the record */
};

/* Allocations of one place that span after span leaves behind, or, where no stack was recorded, of
 * sizes within a power of two. What the warm-up left does not count. */
struct growth_suspect {
    uint32_t owner, stack;               /* stack: of the last of them */
    uint64_t size_low, size_high, bytes; /* requested: of the smallest and largest, of all */
    size_t count, spans;                 /* that stayed; spans that left some */
    uint32_t last_event;                 /* where the last of them was allocated */
};

/* A warm-up and three more: the fewest spans over which growth can be seen. */
enum { GROWTH_SPANS_LEAST = 4 };

struct growth {
    enum growth_source source; /* NONE: fewer than GROWTH_SPANS_LEAST are marked */
    size_t marked;             /* NONE: the most epochs or steps that are */
    size_t steps_per_span;     /* STEPS, PROFILER_STEPS */
    struct growth_span *spans;
    size_t span_count;
    size_t warm_up;     /* spans at the start that are left out */
    double slope_bytes; /* a span: the median over all pairs of the others */
    bool grows;
    struct growth_suspect *suspects;
    size_t suspect_count;
};

/* Over what repeats: epochs and steps that are marked in the record. */
void usage_growth(const struct snapshot *snapshot, size_t device, const struct program *program,
                  const struct owners *owners, struct growth *out);
void usage_growth_fini(struct growth *growth);

#endif
