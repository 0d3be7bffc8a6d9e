#include "gpu_memory/allocator/addr_map.h"

#include "base/mem.h"

#include <stdlib.h>

/* Addresses are multiples of 512, mostly: a multiplication spreads them, and the seed of no table is guessed from
 * outside, as there is none: the worst a made-up file can do is to make its own reading slow. */
static size_t home(const struct addr_map *map, uint64_t addr)
{
    uint64_t mixed = addr * UINT64_C(0x9E3779B97F4A7C15);
    mixed ^= mixed >> 29;
    mixed *= UINT64_C(0xBF58476D1CE4E5B9);
    return (size_t)(mixed >> 32) & (map->capacity - 1);
}

static size_t place_of(const struct addr_map *map, uint64_t addr)
{
    size_t at = home(map, addr);
    while (map->entries[at].value && map->entries[at].addr != addr)
        at = (at + 1) & (map->capacity - 1);
    return at;
}

static void grow(struct addr_map *map)
{
    struct addr_map bigger = {.count = map->count, .capacity = map->capacity ? map->capacity * 2 : 1024};
    bigger.entries = mem_array(bigger.capacity, sizeof *bigger.entries);
    for (size_t i = 0; i < map->capacity; i++)
        if (map->entries[i].value)
            bigger.entries[place_of(&bigger, map->entries[i].addr)] = map->entries[i];
    free(map->entries);
    *map = bigger;
}

void addr_map_set(struct addr_map *map, uint64_t addr, uint32_t value)
{
    if (map->count >= map->capacity / 2)
        grow(map);
    size_t at = place_of(map, addr);
    map->count += map->entries[at].value == 0;
    map->entries[at] = (struct addr_entry){.addr = addr, .value = value + 1};
}

bool addr_map_get(const struct addr_map *map, uint64_t addr, uint32_t *value)
{
    if (map->capacity == 0)
        return false;
    const struct addr_entry *entry = &map->entries[place_of(map, addr)];
    *value = entry->value - 1;
    return entry->value != 0;
}

/* Closes the gap: whatever would not be found any more moves up. */
static void remove_at(struct addr_map *map, size_t hole)
{
    size_t mask = map->capacity - 1, at = hole;
    map->count--;
    for (;;) {
        map->entries[hole].value = 0;
        size_t wanted;
        do {
            at = (at + 1) & mask;
            if (!map->entries[at].value)
                return;
            wanted = home(map, map->entries[at].addr);
        } while (((at - wanted) & mask) < ((at - hole) & mask));
        map->entries[hole] = map->entries[at];
        hole = at;
    }
}

bool addr_map_take(struct addr_map *map, uint64_t addr, uint32_t *value)
{
    if (!addr_map_get(map, addr, value))
        return false;
    remove_at(map, place_of(map, addr));
    return true;
}

void addr_map_fini(struct addr_map *map)
{
    free(map->entries);
    *map = (struct addr_map){0};
}
