/* pickle: the values in a pickle of protocol 0 to 5, as far as memory snapshots need them: numbers,
 * texts, lists, tuples and dictionaries. Nothing is executed: whatever would call or import
 * something is refused. No recursion; the memory taken is bounded by the size of the input. Python
 * writes protocol 4, PyTorch's C++ writer protocol 2. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_PICKLE_H
#define TARE_GPU_MEMORY_ALLOCATOR_PICKLE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The words of a memory snapshot, as numbers. Each and its text: first the keys of events, blocks,
 * segments, frames, annotations and of the whole, then values. */
#define NAMES(X)                                     \
    X(ACTION, "action")                              \
    X(ADDR, "addr")                                  \
    X(SIZE, "size")                                  \
    X(STREAM, "stream")                              \
    X(TIME_US, "time_us")                            \
    X(FRAMES, "frames")                              \
    X(DEVICE_FREE, "device_free")                    \
    X(DEVICE, "device")                              \
    X(ADDRESS, "address")                            \
    X(TOTAL_SIZE, "total_size")                      \
    X(REQUESTED_SIZE, "requested_size")              \
    X(SEGMENT_TYPE, "segment_type")                  \
    X(SEGMENT_POOL_ID, "segment_pool_id")            \
    X(IS_EXPANDABLE, "is_expandable")                \
    X(BLOCKS, "blocks")                              \
    X(STATE, "state")                                \
    X(FILENAME, "filename")                          \
    X(NAME, "name")                                  \
    X(LINE, "line")                                  \
    X(STAGE, "stage")                                \
    X(SEGMENTS, "segments")                          \
    X(DEVICE_TRACES, "device_traces")                \
    X(ALLOCATOR_SETTINGS, "allocator_settings")      \
    X(EXTERNAL_ANNOTATIONS, "external_annotations")  \
    X(CONF, "PYTORCH_CUDA_ALLOC_CONF")               \
    X(MAX_SPLIT_SIZE, "max_split_size")              \
    X(GC_THRESHOLD, "garbage_collection_threshold")  \
    X(EXPANDABLE_SEGMENTS, "expandable_segments")    \
    X(ROUNDUP_DIVISIONS, "roundup_power2_divisions") \
    X(ALLOC, "alloc")                                \
    X(FREE_REQUESTED, "free_requested")              \
    X(FREE_COMPLETED, "free_completed")              \
    X(SEGMENT_ALLOC, "segment_alloc")                \
    X(SEGMENT_FREE, "segment_free")                  \
    X(SEGMENT_MAP, "segment_map")                    \
    X(SEGMENT_UNMAP, "segment_unmap")                \
    X(OOM, "oom")                                    \
    X(SNAPSHOT, "snapshot")                          \
    X(SMALL, "small")                                \
    X(LARGE, "large")                                \
    X(INACTIVE, "inactive")                          \
    X(ACTIVE_ALLOCATED, "active_allocated")          \
    X(ACTIVE_PENDING, "active_pending_free")         \
    X(ACTIVE_AWAITING, "active_awaiting_free")       \
    X(START, "START")                                \
    X(HISTORY, "history")                            \
    X(REAL_SIZE, "real_size")

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

void pickle_names_init(struct names *names);
enum name pickle_names_find(const struct names *names, const char *text, size_t length);

/* "free_requested"; "" for NAME_UNKNOWN. */
const char *pickle_name_text(enum name name);

enum pickle_kind {
    PICKLE_ABSENT, /* no value: a memo place never written */
    PICKLE_NONE,
    PICKLE_BOOL, /* number 0 or 1 */
    PICKLE_INT,  /* number, signed */
    PICKLE_UINT, /* number above INT64_MAX */
    PICKLE_FLOAT,
    PICKLE_TEXT, /* text: length bytes of UTF-8, not checked, in the input */
    PICKLE_LIST, /* index of the holder */
    PICKLE_TUPLE,
    PICKLE_DICT
};

struct pickle_value {
    uint8_t kind;
    uint8_t name;    /* of a text: enum name */
    uint32_t length; /* of a text */
    union {
        int64_t number;
        uint64_t index;
        double real;
        const char *text;
    };
};

/* What a trace has millions of; 32 bytes. */
struct pickle_event {
    uint64_t addr; /* of an oom: the free bytes of the device */
    uint64_t size;
    int64_t time_us;
    uint32_t frames; /* 1 + the index of the list's holder; 0: none */
    uint16_t stream; /* its place in pickle_streams */
    uint8_t action;  /* enum name; NAME_UNKNOWN: of a kind that is not known */
    uint8_t set;     /* which of the fields were given: PICKLE_SET_... */
};
enum { PICKLE_SET_ADDR = 1, PICKLE_SET_SIZE = 2, PICKLE_SET_STREAM = 4, PICKLE_SET_TIME = 8 };

struct pickle;

/* Reads count bytes, which must stay in place until pickle_free: texts point into them. NULL: err
 * names the byte, the reason and the mend. */
struct pickle *pickle_read(const void *bytes, size_t count, struct err *err);
/* The same of a file that is mapped: pages that were read are given back, and come again where they
 * are needed. */
struct pickle *pickle_read_mapped(const void *bytes, size_t count, struct err *err);
void pickle_free(struct pickle *pickle);

struct pickle_value pickle_root(const struct pickle *pickle);

/* Lists, tuples (their elements) and dictionaries (key, value, key, value ...): one after the
 * other. */
struct pickle_walk {
    const struct pickle *pickle;
    uint64_t piece;
    size_t at;
};
/* nothing, for other kinds */
struct pickle_walk pickle_walk(const struct pickle *pickle, struct pickle_value holder);
bool pickle_next(struct pickle_walk *walk, struct pickle_value *out);
/* of a dictionary: twice its keys */
size_t pickle_count(const struct pickle *pickle, struct pickle_value value);

/* A number of the caller's about the dictionaries in a list, 0 at first: one place for all lists of
 * the very same ones. NULL: the list is empty, or has none. */
uint32_t *pickle_note(struct pickle *pickle, struct pickle_value list);

/* The value of a dictionary's key, PICKLE_ABSENT when it has none. The last one counts, as in
 * Python. */
struct pickle_value pickle_get(const struct pickle *pickle, struct pickle_value dict,
                               enum name key);

/* A dictionary as an event. Those whose first key is "action" (all that are written so) are held as
 * such and can be read by this only. */
bool pickle_event(struct pickle *pickle, struct pickle_value dict, struct pickle_event *out,
                  struct err *err);

/* The streams that events name, in the order of their first mention. */
const uint64_t *pickle_streams(const struct pickle *pickle, size_t *count);

/* Numbers of any sign as their 64 bits; false for what is not an integer. */
bool pickle_number(struct pickle_value value, uint64_t *out);

/* Bytes of memory held now. */
size_t pickle_memory(const struct pickle *pickle);

#endif
