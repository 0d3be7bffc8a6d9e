#include "gpu_memory/preload/pointers.h"

#include "base/mem.h"

#include <string.h>
#include <sys/mman.h>

enum { CAPACITY_FIRST = 512 };

void *pointers_wiped_map(size_t size)
{
    void *out = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (out == MAP_FAILED)
        return NULL;
    if (madvise(out, size, MADV_WIPEONFORK) == 0)
        return out;
    munmap(out, size);
    return NULL;
}

/* The finalizer of MurmurHash3: the low bits of addresses, multiples of 256, carry no
 * information. */
static uint64_t mix_pointer_key(uint64_t key)
{
    key ^= key >> 33;
    key *= UINT64_C(0xff51afd7ed558ccd);
    key ^= key >> 33;
    key *= UINT64_C(0xc4ceb9fe1a85ec53);
    return key ^ key >> 33;
}

static size_t home_slot(const struct pointers *pointers, uint64_t key)
{
    return (size_t)mix_pointer_key(key) & (pointers->capacity - 1);
}

static struct pointer_entry *find_pointer_slot(struct pointers *pointers, uint64_t key)
{
    size_t at = home_slot(pointers, key);
    while (pointers->entries[at].key && pointers->entries[at].key != key)
        at = (at + 1) & (pointers->capacity - 1);
    return &pointers->entries[at];
}

static bool grow_pointers(struct pointers *pointers)
{
    struct pointers larger = {.capacity =
                                  pointers->capacity ? pointers->capacity * 2 : CAPACITY_FIRST,
                              .used = pointers->used};
    larger.entries = pointers_wiped_map(larger.capacity * sizeof *larger.entries);
    if (!larger.entries)
        return false;
    EACH (entry, pointers->entries, pointers->capacity)
        if (entry->key)
            *find_pointer_slot(&larger, entry->key) = *entry;
    if (pointers->entries)
        munmap(pointers->entries, pointers->capacity * sizeof *pointers->entries);
    *pointers = larger;
    return true;
}

/* Moves up what would no longer be found behind the hole. */
static void close_hole(struct pointers *pointers, size_t hole)
{
    size_t mask = pointers->capacity - 1;
    pointers->used--;
    for (size_t at = (hole + 1) & mask; pointers->entries[at].key; at = (at + 1) & mask) {
        size_t from_home = (at - home_slot(pointers, pointers->entries[at].key)) & mask;
        if (from_home >= ((at - hole) & mask)) {
            pointers->entries[hole] = pointers->entries[at];
            hole = at;
        }
    }
    pointers->entries[hole].key = 0;
}

bool pointers_put(struct pointers *pointers, const struct pointer_entry *entry)
{
    if ((pointers->used + 1) * 4 > pointers->capacity * 3 && !grow_pointers(pointers))
        return false;
    struct pointer_entry *place = find_pointer_slot(pointers, entry->key);
    pointers->used += place->key == 0;
    *place = *entry;
    return true;
}

bool pointers_remove(struct pointers *pointers, uint64_t key, struct pointer_entry *out)
{
    struct pointer_entry *place =
        pointers->capacity && key ? find_pointer_slot(pointers, key) : NULL;
    if (!place || !place->key)
        return false;
    *out = *place;
    close_hole(pointers, (size_t)(place - pointers->entries));
    return true;
}

bool pointers_remove_of(struct pointers *pointers, const void *owner, size_t *at,
                        struct pointer_entry *out)
{
    for (; *at < pointers->capacity; ++*at)
        if (pointers->entries[*at].key && pointers->entries[*at].owner == owner) {
            *out = pointers->entries[*at];
            close_hole(pointers, *at); /* another may stand here now: the next look begins here */
            return true;
        }
    return false;
}
