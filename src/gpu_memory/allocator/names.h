/* names: the words of a memory snapshot (dictionary keys, actions, states), as numbers. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_NAMES_H
#define TARE_GPU_MEMORY_ALLOCATOR_NAMES_H

#include <stddef.h>
#include <stdint.h>

enum name {
    NAME_UNKNOWN, /* any other text */
    /* keys of events, blocks, segments, frames, annotations and of the whole */
    NAME_ACTION, NAME_ADDR, NAME_SIZE, NAME_STREAM, NAME_TIME_US, NAME_FRAMES, NAME_DEVICE_FREE, NAME_DEVICE,
    NAME_ADDRESS, NAME_TOTAL_SIZE, NAME_REQUESTED_SIZE, NAME_SEGMENT_TYPE, NAME_SEGMENT_POOL_ID, NAME_IS_EXPANDABLE,
    NAME_BLOCKS, NAME_STATE,
    NAME_FILENAME, NAME_NAME, NAME_LINE, NAME_STAGE, NAME_SEGMENTS, NAME_DEVICE_TRACES, NAME_ALLOCATOR_SETTINGS,
    NAME_EXTERNAL_ANNOTATIONS, NAME_CONF, NAME_MAX_SPLIT_SIZE, NAME_GC_THRESHOLD, NAME_EXPANDABLE_SEGMENTS,
    NAME_ROUNDUP_DIVISIONS,
    /* values */
    NAME_ALLOC, NAME_FREE_REQUESTED, NAME_FREE_COMPLETED, NAME_SEGMENT_ALLOC, NAME_SEGMENT_FREE, NAME_SEGMENT_MAP,
    NAME_SEGMENT_UNMAP, NAME_OOM, NAME_SNAPSHOT, NAME_SMALL, NAME_LARGE, NAME_INACTIVE, NAME_ACTIVE_ALLOCATED,
    NAME_ACTIVE_PENDING, NAME_ACTIVE_AWAITING, NAME_START,
    NAME_COUNT
};

/* Where a word may stand: names that share a hash follow each other. */
struct names {
    uint8_t first[128];
    uint8_t next[NAME_COUNT];
};

void names_init(struct names *names);
enum name names_find(const struct names *names, const char *text, size_t length);

/* "free_requested"; "" for NAME_UNKNOWN. */
const char *name_text(enum name name);

#endif
