/* owners: who holds the memory: each allocation of a record by its kind (parameters, gradients, …)
 * and by the place that made it. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_OWNERS_H
#define TARE_GPU_MEMORY_ALLOCATOR_OWNERS_H

#include "gpu_memory/allocator/place.h"
#include "gpu_memory/allocator/program.h"

/* The rules: docs/reference/memory.md. */
enum owner_kind {
    OWNER_PARAMETERS,
    OWNER_GRADIENTS,
    OWNER_OPTIMIZER_STATE,
    OWNER_ACTIVATIONS,
    OWNER_INPUTS,
    OWNER_TEMPORARY,
    OWNER_EARLY,   /* held before the record began, for what is not known */
    OWNER_UNKNOWN, /* no stacks were recorded */
    OWNER_KINDS
};
const char *owner_kind_name(enum owner_kind kind); /* "optimizer_state" */
const char *owner_kind_text(enum owner_kind kind); /* "optimizer state" */

/* Allocations of one kind and one place; in a record without stacks, of one size. */
struct owner {
    uint64_t each_bytes; /* 0: of any size */
    uint32_t stack;      /* of one of them; 0: no stack */
    uint8_t kind;        /* enum owner_kind */
    bool early;          /* allocated before the record began */
    bool freed_there;    /* it was freed in that place; where it was made is not known */
    bool via_differs;    /* the place calls several functions of libraries */
};
struct place owner_place(const struct snapshot *snapshot, const struct owner *owner);

struct owners {
    uint32_t *of; /* by allocation: its place in items */
    struct owner *items;
    size_t count;
};

/* The stacks of what was there before the record began and was freed in it are those of the
 * frees. */
void owners_find(const struct snapshot *snapshot, size_t device, const struct program *program,
                 struct owners *out);
void owners_fini(struct owners *owners);

/* What is alive of an owner at one moment. */
struct owner_row {
    uint64_t bytes, smallest_bytes, largest_bytes; /* requested: of all, of one */
    size_t count;
    uint32_t owner;
    uint32_t stack; /* of the largest */
};

/* After the event; largest first. The caller frees. */
struct owner_row *owners_alive(const struct owners *owners, const struct program *program,
                               uint32_t event, size_t *count);

struct owner_sum {
    uint64_t bytes;
    size_t count;
};
/* By kind, and all in out[OWNER_KINDS]. */
void owners_sum(const struct owners *owners, const struct owner_row *rows, size_t count,
                struct owner_sum out[OWNER_KINDS + 1]);

#endif
