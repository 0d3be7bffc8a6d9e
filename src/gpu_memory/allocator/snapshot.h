/* snapshot: what torch.cuda.memory._dump_snapshot() wrote, as structs: segments and their blocks as
 * they were at the end, and the events that led there. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_SNAPSHOT_H
#define TARE_GPU_MEMORY_ALLOCATOR_SNAPSHOT_H

#include "base/err.h"
#include "gpu_memory/allocator/conf.h"
#include "gpu_memory/allocator/pickle.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum block_state {
    BLOCK_INACTIVE,
    BLOCK_ALLOCATED,
    BLOCK_PENDING /* freed, but a stream may still use it */
};

struct snapshot_block {
    uint64_t addr, size_bytes;
    uint64_t requested_bytes; /* of an inactive block: what its last user asked for */
    uint32_t stack;           /* place in stacks; 0: not recorded */
    uint8_t state;            /* enum block_state */
};

struct snapshot_segment {
    uint64_t addr, size_bytes;
    uint64_t pool_id[2]; /* 0, 0: the common pool; else one of a CUDA graph or of the user */
    size_t first_block, block_count;
    uint32_t stack;
    uint16_t stream; /* place in streams */
    uint16_t device;
    bool small, expandable;
};

/* One of alloc, free_requested, free_completed, segment_alloc, segment_free, segment_map,
 * segment_unmap, oom, snapshot. */
struct snapshot_event {
    uint64_t addr; /* oom: the device's free bytes */
    uint64_t size_bytes;
    int64_t time_us;
    uint32_t stack;
    uint16_t stream;
    uint8_t action; /* enum name; NAME_UNKNOWN: another kind, passed over */
};

struct snapshot_device {
    struct snapshot_event *events;
    size_t count;
};

/* Each is held once, and so are its texts: traces of real trainings name the same few frames
 * millions of times. */
struct snapshot_frame {
    const char *function, *file;
    int64_t line;
};

/* Innermost call first; each is held once. */
struct snapshot_stack {
    size_t first_frame, frame_count; /* in stack_frames */
};

struct snapshot_mark {
    const char *name;
    int64_t time_us;
    uint16_t device;
    bool start; /* else its end */
};

struct snapshot {
    struct snapshot_device *devices;
    size_t device_count;
    struct snapshot_segment *segments; /* by device, then address */
    size_t segment_count;
    struct snapshot_block *blocks;
    size_t block_count;
    struct snapshot_stack *stacks; /* stacks[0]: none was recorded */
    size_t stack_count;
    struct snapshot_frame *frames;
    size_t frame_count;
    uint32_t *stack_frames; /* places in frames */
    size_t stack_frame_count;
    char **texts; /* of frames and marks */
    size_t text_count;
    struct snapshot_mark *marks; /* by time */
    size_t mark_count;
    uint64_t *streams; /* rising; 0: the default stream */
    size_t stream_count;
    /* those it was recorded under, but for a cap, which is not written down */
    struct alloc_settings settings;
    char *conf;               /* PYTORCH_CUDA_ALLOC_CONF; NULL: not said */
    size_t read_memory_bytes; /* the most that reading took, without the file itself */
};

/* From the bytes of a file; nothing points into them afterwards. The error names the byte or the
 * element. */
bool snapshot_read(const void *bytes, size_t count, struct snapshot *out, struct err *err);

/* Maps the file ("-": standard input); refuses all but regular files. What is compressed is
 * unpacked in memory, by the program of its format. */
bool snapshot_load(const char *path, struct snapshot *out, struct err *err);

/* A regular file in an open folder, no link, as it is. */
bool snapshot_load_at(int folder, const char *name, struct snapshot *out, struct err *err);

/* The frame at a place of a stack: below its frame_count. */
static inline const struct snapshot_frame *snapshot_frame(const struct snapshot *snapshot,
                                                          uint32_t stack, size_t place)
{
    return &snapshot->frames[snapshot->stack_frames[snapshot->stacks[stack].first_frame + place]];
}

void snapshot_fini(struct snapshot *snapshot);

#endif
