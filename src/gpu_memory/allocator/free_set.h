/* free_set: free blocks ordered by size, then address: what best fit searches. Sorted pieces of
 * bounded length in a sorted directory: a handful of cache lines a step while there are few, no
 * worse than the square root of their number when many. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_FREE_SET_H
#define TARE_GPU_MEMORY_ALLOCATOR_FREE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct free_key {
    uint64_t size, addr;
    uint32_t block; /* breaks ties between equal addresses, which only a made-up trace has */
};

struct free_piece;

struct free_set {
    struct free_piece **pieces; /* none is empty */
    size_t count;
};

struct free_place {
    size_t piece, at;
};

void free_set_insert(struct free_set *set, struct free_key key);
bool free_set_remove(struct free_set *set, struct free_key key); /* false: it was not there */
void free_set_remove_at(struct free_set *set, struct free_place place);

/* The first key that is not below (size, address 0). False: there is none, and *out is the end. */
bool free_set_at_least(const struct free_set *set, uint64_t size, struct free_place *out);

/* The places in order; first of an empty set, next of the last and previous of the first give false
 * and leave *out. */
bool free_set_first(const struct free_set *set, struct free_place *out);
bool free_set_last(const struct free_set *set, struct free_place *out);
bool free_set_next(const struct free_set *set, struct free_place *place);
bool free_set_previous(const struct free_set *set, struct free_place *place);
const struct free_key *free_set_get(const struct free_set *set, struct free_place place);

void free_set_fini(struct free_set *set);

/* Which allocation lies at an address: a hash table of open addressing. */

struct addr_entry {
    uint64_t addr;
    uint32_t value; /* 1 + the value; 0: an empty place */
};

struct addr_map {
    struct addr_entry *entries;
    size_t count, capacity; /* capacity: 0 or a power of 2 */
};

/* Replaces what stood there. value: below UINT32_MAX. */
void addr_map_set(struct addr_map *map, uint64_t addr, uint32_t value);
bool addr_map_get(const struct addr_map *map, uint64_t addr, uint32_t *value);
bool addr_map_take(struct addr_map *map, uint64_t addr, uint32_t *value); /* get, and forget it */
void addr_map_fini(struct addr_map *map);

#endif
