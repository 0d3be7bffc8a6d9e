/* pointers: which address is how many bytes: a hash table without a lock of its own. It takes its
 * memory from the kernel, not from the program's malloc. */
#ifndef TARE_GPU_MEMORY_PRELOAD_POINTERS_H
#define TARE_GPU_MEMORY_PRELOAD_POINTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum memory_kind { MEMORY_PLAIN = 1, MEMORY_MANAGED, MEMORY_ARRAY, MEMORY_ASYNC, MEMORY_VIRTUAL };

struct pointer_entry {
    uint64_t key; /* 0: nothing here */
    uint64_t live, held;
    void *owner;       /* context, or pool */
    uint8_t kind, gpu; /* gpu: its place in the ledger */
};

struct pointers { /* all zero: empty */
    struct pointer_entry *entries;
    size_t capacity, used; /* capacity: a power of two */
};

/* False: the kernel gives no memory. An entry of that key is replaced. */
bool pointers_put(struct pointers *pointers, const struct pointer_entry *entry);
/* and removes it */
bool pointers_remove(struct pointers *pointers, uint64_t key, struct pointer_entry *out);

/* Removes one of that owner, from place *at (first 0) on; false: there are no more. */
bool pointers_remove_of(struct pointers *pointers, const void *owner, size_t *at,
                        struct pointer_entry *out);

/* Memory that a forked child finds zero; NULL: none. */
void *pointers_wiped_map(size_t size);

#endif
