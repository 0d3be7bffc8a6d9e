/* snapshot_private: what the files of the snapshot reader share. */
#ifndef TARE_ALLOCATOR_SNAPSHOT_PRIVATE_H
#define TARE_ALLOCATOR_SNAPSHOT_PRIVATE_H

#include "allocator/snapshot.h"

struct reading_snapshot {
    struct pickle *pickle;
    struct snapshot *out;
    size_t elements, elements_max; /* what was copied; at most as many as bytes: a list may be named many times */
    uint32_t *stack_of;            /* by the holder of a frames list: its stack, or 0 */
    size_t stack_of_count;
    size_t stack_room, frame_room, block_room, mark_room;
    struct err *err;
};

/* One more element; false past the bound. */
bool snapshot_count(struct reading_snapshot *reading);

/* The stack of a list of frames, made when it is met first. */
bool snapshot_stack(struct reading_snapshot *reading, struct pickle_value frames, uint32_t *out);

bool snapshot_read_segments(struct reading_snapshot *reading, struct pickle_value list);
bool snapshot_read_settings(struct reading_snapshot *reading, struct pickle_value dict);
bool snapshot_read_marks(struct reading_snapshot *reading, struct pickle_value list);

/* The place of a stream in out->streams, which all that is read up to now has been put in. */
bool snapshot_stream(struct reading_snapshot *reading, uint64_t stream, uint16_t *out);

#endif
