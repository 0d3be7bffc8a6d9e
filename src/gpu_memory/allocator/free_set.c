#include "gpu_memory/allocator/free_set.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_MAX 64

struct free_piece {
    size_t count;
    struct free_key keys[PIECE_MAX];
};

static inline bool below(const struct free_key *a, const struct free_key *b)
{
    if (a->size != b->size)
        return a->size < b->size;
    return a->addr != b->addr ? a->addr < b->addr : a->block < b->block;
}

/* The last piece whose first key is not above key; the first piece when all are above. */
static size_t piece_of(const struct free_set *set, const struct free_key *key)
{
    size_t low = 0, high = set->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (below(key, &set->pieces[middle]->keys[0]))
            high = middle;
        else
            low = middle;
    }
    return low;
}

/* The first key of the piece that is not below key. */
static size_t find_in_piece(const struct free_piece *piece, const struct free_key *key)
{
    size_t low = 0, count = piece->count;
    while (count > 0) {
        size_t half = count / 2;
        bool right = below(&piece->keys[low + half], key);
        low = right ? low + half + 1 : low;
        count = right ? count - half - 1 : half;
    }
    return low;
}

static void insert_piece(struct free_set *set, size_t at, struct free_piece *piece)
{
    set->pieces = mem_room(set->pieces, set->count, sizeof(struct free_piece *));
    memmove(set->pieces + at + 1, set->pieces + at,
            (set->count - at) * sizeof(struct free_piece *));
    set->pieces[at] = piece;
    set->count++;
}

static void split_piece(struct free_set *set, size_t at)
{
    struct free_piece *full = set->pieces[at], *upper = mem_alloc(sizeof *upper);
    upper->count = PIECE_MAX / 2;
    full->count = PIECE_MAX - upper->count;
    memcpy(upper->keys, full->keys + full->count, upper->count * sizeof *upper->keys);
    insert_piece(set, at + 1, upper);
}

void free_set_insert(struct free_set *set, struct free_key key)
{
    if (set->count == 0)
        insert_piece(set, 0, mem_alloc(sizeof(struct free_piece)));
    size_t at = piece_of(set, &key);
    if (set->pieces[at]->count == PIECE_MAX) {
        split_piece(set, at);
        at += !below(&key, &set->pieces[at + 1]->keys[0]);
    }
    struct free_piece *piece = set->pieces[at];
    size_t place = find_in_piece(piece, &key);
    memmove(piece->keys + place + 1, piece->keys + place, (piece->count - place) * sizeof key);
    piece->keys[place] = key;
    piece->count++;
}

void free_set_remove_at(struct free_set *set, struct free_place place)
{
    struct free_piece *piece = set->pieces[place.piece];
    piece->count--;
    memmove(piece->keys + place.at, piece->keys + place.at + 1,
            (piece->count - place.at) * sizeof *piece->keys);
    if (piece->count > 0)
        return;
    free(piece);
    set->count--;
    memmove(set->pieces + place.piece, set->pieces + place.piece + 1,
            (set->count - place.piece) * sizeof(struct free_piece *));
}

bool free_set_remove(struct free_set *set, struct free_key key)
{
    if (set->count == 0)
        return false;
    struct free_place place = {.piece = piece_of(set, &key)};
    const struct free_piece *piece = set->pieces[place.piece];
    place.at = find_in_piece(piece, &key);
    if (place.at == piece->count || below(&key, &piece->keys[place.at]))
        return false;
    free_set_remove_at(set, place);
    return true;
}

bool free_set_at_least(const struct free_set *set, uint64_t size, struct free_place *out)
{
    struct free_key key = {.size = size};
    *out = (struct free_place){.piece = set->count};
    if (set->count == 0)
        return false;
    size_t at = piece_of(set, &key), place = find_in_piece(set->pieces[at], &key);
    if (place == set->pieces[at]->count) {
        at++;
        place = 0;
    }
    *out = (struct free_place){.piece = at, .at = place};
    return at < set->count;
}

bool free_set_first(const struct free_set *set, struct free_place *out)
{
    if (set->count == 0)
        return false;
    *out = (struct free_place){0};
    return true;
}

bool free_set_last(const struct free_set *set, struct free_place *out)
{
    if (set->count == 0)
        return false;
    *out =
        (struct free_place){.piece = set->count - 1, .at = set->pieces[set->count - 1]->count - 1};
    return true;
}

bool free_set_next(const struct free_set *set, struct free_place *place)
{
    if (place->at + 1 < set->pieces[place->piece]->count) {
        place->at++;
        return true;
    }
    if (place->piece + 1 >= set->count)
        return false;
    *place = (struct free_place){.piece = place->piece + 1};
    return true;
}

bool free_set_previous(const struct free_set *set, struct free_place *place)
{
    if (place->at > 0 && place->piece < set->count) {
        place->at--;
        return true;
    }
    if (place->piece == 0)
        return false;
    *place = (struct free_place){.piece = place->piece - 1,
                                 .at = set->pieces[place->piece - 1]->count - 1};
    return true;
}

const struct free_key *free_set_get(const struct free_set *set, struct free_place place)
{
    return &set->pieces[place.piece]->keys[place.at];
}

void free_set_fini(struct free_set *set)
{
    EACH (piece, set->pieces, set->count)
        free(*piece);
    free(set->pieces);
    *set = (struct free_set){0};
}

/* Most addresses are multiples of 512, so they are mixed. The table has no secret seed: a crafted
 * file can only make its own reading slow. */
static size_t hash_addr(const struct addr_map *map, uint64_t addr)
{
    uint64_t mixed = addr * UINT64_C(0x9E3779B97F4A7C15);
    mixed ^= mixed >> 29;
    mixed *= UINT64_C(0xBF58476D1CE4E5B9);
    return (size_t)(mixed >> 32) & (map->capacity - 1);
}

static size_t find_map_entry(const struct addr_map *map, uint64_t addr)
{
    size_t at = hash_addr(map, addr);
    while (map->entries[at].value && map->entries[at].addr != addr)
        at = (at + 1) & (map->capacity - 1);
    return at;
}

static void grow_addr_map(struct addr_map *map)
{
    struct addr_map bigger = {.count = map->count,
                              .capacity = map->capacity ? map->capacity * 2 : 1024};
    bigger.entries = mem_array(bigger.capacity, sizeof *bigger.entries);
    EACH (entry, map->entries, map->capacity)
        if (entry->value)
            bigger.entries[find_map_entry(&bigger, entry->addr)] = *entry;
    free(map->entries);
    *map = bigger;
}

void addr_map_set(struct addr_map *map, uint64_t addr, uint32_t value)
{
    if (map->count >= map->capacity / 2)
        grow_addr_map(map);
    size_t at = find_map_entry(map, addr);
    map->count += map->entries[at].value == 0;
    map->entries[at] = (struct addr_entry){.addr = addr, .value = value + 1};
}

bool addr_map_get(const struct addr_map *map, uint64_t addr, uint32_t *value)
{
    if (map->capacity == 0)
        return false;
    const struct addr_entry *entry = &map->entries[find_map_entry(map, addr)];
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
            wanted = hash_addr(map, map->entries[at].addr);
        } while (((at - wanted) & mask) < ((at - hole) & mask));
        map->entries[hole] = map->entries[at];
        hole = at;
    }
}

bool addr_map_take(struct addr_map *map, uint64_t addr, uint32_t *value)
{
    if (!addr_map_get(map, addr, value))
        return false;
    remove_at(map, find_map_entry(map, addr));
    return true;
}

void addr_map_fini(struct addr_map *map)
{
    free(map->entries);
    *map = (struct addr_map){0};
}
