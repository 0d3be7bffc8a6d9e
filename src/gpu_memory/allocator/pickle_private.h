/* pickle_private: what the files of the pickle reader share. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_PICKLE_PRIVATE_H
#define TARE_GPU_MEMORY_ALLOCATOR_PICKLE_PRIVATE_H

#include "gpu_memory/allocator/free_set.h"
#include "gpu_memory/allocator/pickle.h"

/* Values that follow each other; a list that is filled in several steps has several. Dictionaries
 * and nothing else are held as a run: the indices of their holders, which lists of the very same
 * ones share. */
struct piece {
    uint64_t start : 63; /* in items, or of a run in runs */
    uint64_t is_run : 1;
    uint32_t count;
    uint32_t next; /* 1 + index; 0: the last */
};

/* In front of a run's first index: its count, and before that what pickle_note gives. */
enum { RUN_HEAD = 2 };

/* The contents of a list, tuple or dictionary. An event's: last is HOLDER_EVENT, first the event's
 * index. */
struct holder {
    uint32_t first, last; /* 1 + index of a piece; 0: empty */
};
#define HOLDER_EVENT UINT32_MAX

struct array {
    void *data;
    size_t count, capacity;
};

struct pickle {
    const uint8_t *bytes, *at, *end;
    struct names names;
    struct array stack;     /* struct pickle_value */
    struct array marks;     /* size_t: heights of the stack */
    struct array memo;      /* struct pickle_value */
    struct array items;     /* struct pickle_value */
    struct array pieces;    /* struct piece */
    struct array holders;   /* struct holder */
    struct array runs;      /* uint32_t */
    struct addr_map run_of; /* by a hash of the indices: the start of the run that has them */
    struct array events;    /* struct pickle_event */
    struct array streams;   /* uint64_t */
    size_t held, held_max;  /* bytes in the arrays above */
    const uint8_t *opcode;  /* where the one being read begins */
    const uint8_t
        *dropped; /* of a mapped file: pages before it were given back; NULL: not mapped */
    struct pickle_value root;
    bool done;
    struct err *err;
};

/* Room for one more element at data[count]; false (err is set) past held_max. */
bool pickle_array_grow(struct pickle *pickle, struct array *array, size_t more, size_t size);

static inline bool array_room(struct pickle *pickle, struct array *array, size_t more, size_t size)
{
    return array->capacity - array->count >= more || pickle_array_grow(pickle, array, more, size);
}

/* Remembers where the run with this hash begins. */
bool pickle_run_index(struct pickle *pickle, uint64_t hash, uint32_t start);

/* Fails with the place of the opcode that is being read before the text. */
bool pickle_fail(struct pickle *pickle, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

enum { PICKLE_DROP_BYTES = 4 << 20 };

/* Gives back the pages of a mapped file that were read, where they are many. */
void pickle_drop_read(struct pickle *pickle);

/* Reads up to STOP. */
bool pickle_run(struct pickle *pickle);

/* Fails with what is wrong with the opcode that is being read: it would run code, or no snapshot
 * has it. */
bool pickle_refuse(struct pickle *pickle);

/* Sets what the key says; keys that an event does not need are passed over. */
bool pickle_event_set(struct pickle *pickle, struct pickle_event *event, struct pickle_value key,
                      struct pickle_value value);

#endif
