/* addr_map: which allocation lies at an address: a hash table of open addressing. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_ADDR_MAP_H
#define TARE_GPU_MEMORY_ALLOCATOR_ADDR_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
