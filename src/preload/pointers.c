#include "preload/pointers.h"

#include <string.h>
#include <sys/mman.h>

enum { CAPACITY_FIRST = 512 };

void *wiped_map(size_t size)
{
    void *out = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (out == MAP_FAILED)
        return NULL;
    if (madvise(out, size, MADV_WIPEONFORK) == 0)
        return out;
    munmap(out, size);
    return NULL;
}

/* Addresses are multiples of 256 and more: what is below carries nothing. (The finalizer of MurmurHash3.) */
static uint64_t mix(uint64_t key)
{
    key ^= key >> 33;
    key *= UINT64_C(0xff51afd7ed558ccd);
    key ^= key >> 33;
    key *= UINT64_C(0xc4ceb9fe1a85ec53);
    return key ^ key >> 33;
}

static struct pointer_stripe *stripe_of(struct pointers *pointers, uint64_t key)
{
    return &pointers->stripes[mix(key) % POINTER_STRIPES];
}

static size_t home(const struct pointer_stripe *stripe, uint64_t key)
{
    return (size_t)(mix(key) / POINTER_STRIPES) & (stripe->capacity - 1);
}

static struct pointer_entry *place_of(struct pointer_stripe *stripe, uint64_t key)
{
    size_t at = home(stripe, key);
    while (stripe->entries[at].key && stripe->entries[at].key != key)
        at = (at + 1) & (stripe->capacity - 1);
    return &stripe->entries[at];
}

static bool grow(struct pointer_stripe *stripe)
{
    struct pointer_stripe larger = {.capacity = stripe->capacity ? stripe->capacity * 2 : CAPACITY_FIRST};
    larger.entries = wiped_map(larger.capacity * sizeof *larger.entries);
    if (!larger.entries)
        return false;
    for (size_t i = 0; i < stripe->capacity; i++)
        if (stripe->entries[i].key)
            *place_of(&larger, stripe->entries[i].key) = stripe->entries[i];
    if (stripe->entries)
        munmap(stripe->entries, stripe->capacity * sizeof *stripe->entries);
    stripe->entries = larger.entries;
    stripe->capacity = larger.capacity;
    return true;
}

/* Moves up what would no longer be found behind the hole. */
static void close_hole(struct pointer_stripe *stripe, size_t hole)
{
    size_t mask = stripe->capacity - 1;
    for (size_t at = (hole + 1) & mask; stripe->entries[at].key; at = (at + 1) & mask) {
        size_t from_home = (at - home(stripe, stripe->entries[at].key)) & mask;
        if (from_home >= ((at - hole) & mask)) {
            stripe->entries[hole] = stripe->entries[at];
            hole = at;
        }
    }
    stripe->entries[hole] = (struct pointer_entry){0};
}

bool pointers_put(struct pointers *pointers, const struct pointer_entry *entry)
{
    struct pointer_stripe *stripe = stripe_of(pointers, entry->key);
    pthread_mutex_lock(&stripe->lock);
    bool room = (stripe->used + 1) * 4 <= stripe->capacity * 3 || grow(stripe);
    if (room) {
        struct pointer_entry *place = place_of(stripe, entry->key);
        stripe->used += place->key == 0;
        *place = *entry;
    }
    pthread_mutex_unlock(&stripe->lock);
    return room;
}

bool pointers_take(struct pointers *pointers, uint64_t key, struct pointer_entry *out)
{
    struct pointer_stripe *stripe = stripe_of(pointers, key);
    pthread_mutex_lock(&stripe->lock);
    struct pointer_entry *place = stripe->capacity && key ? place_of(stripe, key) : NULL;
    bool there = place && place->key;
    if (there) {
        *out = *place;
        stripe->used--;
        close_hole(stripe, (size_t)(place - stripe->entries));
    }
    pthread_mutex_unlock(&stripe->lock);
    return there;
}

void pointers_take_all(struct pointers *pointers, const void *owner, void (*tell)(const struct pointer_entry *entry))
{
    for (size_t i = 0; i < POINTER_STRIPES; i++) {
        struct pointer_stripe *stripe = &pointers->stripes[i];
        pthread_mutex_lock(&stripe->lock);
        for (size_t at = 0; at < stripe->capacity;) {
            struct pointer_entry entry = stripe->entries[at];
            if (!entry.key || entry.owner != owner) {
                at++;
                continue;
            }
            stripe->used--;
            close_hole(stripe, at); /* another may stand here now: look again */
            tell(&entry);
        }
        pthread_mutex_unlock(&stripe->lock);
    }
}
