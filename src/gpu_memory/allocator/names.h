/* names: the words of a memory snapshot (dictionary keys, actions, states), as numbers. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_NAMES_H
#define TARE_GPU_MEMORY_ALLOCATOR_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* Each word and its text. First the keys of events, blocks, segments, frames, annotations and of the whole, then values. */
#define NAMES(X)                                                                                                      \
    X(ACTION, "action") X(ADDR, "addr") X(SIZE, "size") X(STREAM, "stream") X(TIME_US, "time_us")                     \
    X(FRAMES, "frames") X(DEVICE_FREE, "device_free") X(DEVICE, "device") X(ADDRESS, "address")                       \
    X(TOTAL_SIZE, "total_size") X(REQUESTED_SIZE, "requested_size") X(SEGMENT_TYPE, "segment_type")                   \
    X(SEGMENT_POOL_ID, "segment_pool_id") X(IS_EXPANDABLE, "is_expandable") X(BLOCKS, "blocks") X(STATE, "state")     \
    X(FILENAME, "filename") X(NAME, "name") X(LINE, "line") X(STAGE, "stage") X(SEGMENTS, "segments")                 \
    X(DEVICE_TRACES, "device_traces") X(ALLOCATOR_SETTINGS, "allocator_settings")                                     \
    X(EXTERNAL_ANNOTATIONS, "external_annotations") X(CONF, "PYTORCH_CUDA_ALLOC_CONF")                                \
    X(MAX_SPLIT_SIZE, "max_split_size") X(GC_THRESHOLD, "garbage_collection_threshold")                               \
    X(EXPANDABLE_SEGMENTS, "expandable_segments") X(ROUNDUP_DIVISIONS, "roundup_power2_divisions")                    \
    X(ALLOC, "alloc") X(FREE_REQUESTED, "free_requested") X(FREE_COMPLETED, "free_completed")                         \
    X(SEGMENT_ALLOC, "segment_alloc") X(SEGMENT_FREE, "segment_free") X(SEGMENT_MAP, "segment_map")                   \
    X(SEGMENT_UNMAP, "segment_unmap") X(OOM, "oom") X(SNAPSHOT, "snapshot") X(SMALL, "small") X(LARGE, "large")       \
    X(INACTIVE, "inactive") X(ACTIVE_ALLOCATED, "active_allocated") X(ACTIVE_PENDING, "active_pending_free")          \
    X(ACTIVE_AWAITING, "active_awaiting_free") X(START, "START")

enum name {
    NAME_UNKNOWN, /* any other text */
#define X(name, text) NAME_##name,
    NAMES(X)
#undef X
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
