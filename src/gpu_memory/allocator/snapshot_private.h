/* snapshot_private: what the files of the snapshot reader share. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_SNAPSHOT_PRIVATE_H
#define TARE_GPU_MEMORY_ALLOCATOR_SNAPSHOT_PRIVATE_H

#include "gpu_memory/allocator/free_set.h"
#include "gpu_memory/allocator/snapshot.h"

struct reading_snapshot {
    struct pickle *pickle;
    struct snapshot *out;
    /* what was read; at most as many as bytes: a list may be named many times */
    size_t elements, elements_max;
    /* by the index of a holder, by where a text begins */
    struct addr_map stack_of_list, frame_of_dict, text_at;
    struct addr_map stack_of, frame_of, text_of; /* by a hash of what they hold */
    struct err *err;
};

/* One more element, with what it holds when it is a dictionary; false past the bound. */
bool snapshot_count(struct reading_snapshot *reading, struct pickle_value element);

/* A text of the file, held once; "" for what is none. */
const char *snapshot_text(struct reading_snapshot *reading, struct pickle_value value);

/* The stack of a list of frames. */
bool snapshot_stack(struct reading_snapshot *reading, struct pickle_value frames, uint32_t *out);

bool snapshot_read_segments(struct reading_snapshot *reading, struct pickle_value list);
bool snapshot_read_settings(struct reading_snapshot *reading, struct pickle_value dict);
bool snapshot_read_marks(struct reading_snapshot *reading, struct pickle_value list);

/* The place of a stream in out->streams, which all that is read up to now has been put in. */
bool snapshot_stream(struct reading_snapshot *reading, uint64_t stream, uint16_t *out);

#endif
