/* A set of strings: open addressing, at most half full. */
#include "plan/mutate/mutate.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct seen {
    char **keys; /* NULL: free place */
    uint64_t *hashes;
    size_t places; /* a power of two */
    size_t count;
};

static uint64_t hash_key(const char *key)
{
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * 0x100000001b3;
    return hash ^ (hash >> 32); /* the low bits choose the place: let the high ones take part */
}

struct seen *seen_new(void)
{
    struct seen *seen = mem_alloc(sizeof *seen);
    seen->places = 64;
    seen->keys = mem_array(seen->places, sizeof *seen->keys);
    seen->hashes = mem_array(seen->places, sizeof *seen->hashes);
    return seen;
}

void seen_free(struct seen *seen)
{
    if (!seen)
        return;
    for (size_t i = 0; i < seen->places; i++)
        free(seen->keys[i]);
    free(seen->keys);
    free(seen->hashes);
    free(seen);
}

/* Where the key is, or the free place where it would go. */
static size_t find_place(const struct seen *seen, const char *key, uint64_t hash)
{
    size_t place = hash & (seen->places - 1);
    while (seen->keys[place] && (seen->hashes[place] != hash || strcmp(seen->keys[place], key) != 0))
        place = (place + 1) & (seen->places - 1);
    return place;
}

static void grow(struct seen *seen)
{
    struct seen smaller = *seen;
    seen->places = smaller.places * 2;
    seen->keys = mem_array(seen->places, sizeof *seen->keys);
    seen->hashes = mem_array(seen->places, sizeof *seen->hashes);
    for (size_t i = 0; i < smaller.places; i++) {
        if (!smaller.keys[i])
            continue;
        size_t place = find_place(seen, smaller.keys[i], smaller.hashes[i]);
        seen->keys[place] = smaller.keys[i];
        seen->hashes[place] = smaller.hashes[i];
    }
    free(smaller.keys);
    free(smaller.hashes);
}

bool seen_add(struct seen *seen, const char *key)
{
    uint64_t hash = hash_key(key);
    if (seen->keys[find_place(seen, key, hash)])
        return false;
    if ((seen->count + 1) * 2 > seen->places)
        grow(seen);
    size_t place = find_place(seen, key, hash);
    seen->keys[place] = mem_strdup(key);
    seen->hashes[place] = hash;
    seen->count++;
    return true;
}

bool seen_has(const struct seen *seen, const char *key)
{
    return seen->keys[find_place(seen, key, hash_key(key))] != NULL;
}

size_t seen_count(const struct seen *seen)
{
    return seen->count;
}
