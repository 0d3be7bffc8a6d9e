#include "gpu_memory/allocator/driver.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK UINT64_C(0x2000000)
/* As high as a process on x86-64 has its mappings; and expandable segments lie low, apart from
 * these. */
#define SPACE_TOP    UINT64_C(0x7f0000000000)
#define SPACE_BOTTOM UINT64_C(0x10000000000)
#define EXPAND_BASE  UINT64_C(0x300000000)

struct range {
    uint64_t addr, size;
    uint64_t used; /* of a chunk */
};

struct ranges {
    struct range *items; /* by address, none over another */
    size_t count;
};

struct driver {
    /* free, within chunks in use; a hole does not reach over its chunk's end */
    struct ranges holes;
    struct ranges gaps;                  /* free, between chunks */
    struct ranges chunks;                /* each is given back when nothing of it is used */
    const struct snapshot_event *events; /* the record, from the next segment on */
    size_t left;
    bool follows; /* the record, up to now */
    enum driver_kind kind;
    uint64_t falling; /* DRIVER_FALLING: the last segment */
    uint64_t next_expandable;
};

/* The first range that ends behind addr: it holds addr, or one that does would be put there. */
static size_t range_after(const struct ranges *ranges, uint64_t addr)
{
    size_t low = 0, high = ranges->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges->items[middle].addr + ranges->items[middle].size <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert_range(struct ranges *ranges, size_t at, struct range range)
{
    ranges->items = mem_room(ranges->items, ranges->count, sizeof range);
    memmove(ranges->items + at + 1, ranges->items + at, (ranges->count - at) * sizeof range);
    ranges->items[at] = range;
    ranges->count++;
}

static void remove_range(struct ranges *ranges, size_t at)
{
    ranges->count--;
    memmove(ranges->items + at, ranges->items + at + 1,
            (ranges->count - at) * sizeof *ranges->items);
}

static bool is_inside(const struct ranges *ranges, uint64_t addr, uint64_t size)
{
    size_t at = range_after(ranges, addr);
    return at < ranges->count && ranges->items[at].addr <= addr &&
           addr + size <= ranges->items[at].addr + ranges->items[at].size;
}

/* Removes [addr, addr + size) from the free ranges. */
static void cut_range(struct ranges *ranges, uint64_t addr, uint64_t size)
{
    uint64_t end = addr + size;
    size_t at = range_after(ranges, addr);
    while (at < ranges->count && ranges->items[at].addr < end) {
        struct range had = ranges->items[at];
        remove_range(ranges, at);
        if (had.addr < addr)
            insert_range(ranges, at++, (struct range){.addr = had.addr, .size = addr - had.addr});
        if (had.addr + had.size > end)
            insert_range(ranges, at++,
                         (struct range){.addr = end, .size = had.addr + had.size - end});
    }
}

/* Returns a range, joined with its neighbours within [low, high). */
static void join_range(struct ranges *ranges, uint64_t addr, uint64_t size, uint64_t low,
                       uint64_t high)
{
    size_t at = range_after(ranges, addr);
    if (!ranges->items)
        at = 0;
    else if (at > 0 && ranges->items[at - 1].addr + ranges->items[at - 1].size == addr &&
             ranges->items[at - 1].addr >= low) {
        at--;
        size += ranges->items[at].size;
        addr = ranges->items[at].addr;
        remove_range(ranges, at);
    }
    if (ranges->items && at < ranges->count && ranges->items[at].addr == addr + size &&
        ranges->items[at].addr < high) {
        size += ranges->items[at].size;
        remove_range(ranges, at);
    }
    insert_range(ranges, at, (struct range){.addr = addr, .size = size});
}

static void add_chunk(struct driver *driver, uint64_t addr, uint64_t size)
{
    insert_range(&driver->chunks, range_after(&driver->chunks, addr),
                 (struct range){.addr = addr, .size = size});
    cut_range(&driver->gaps, addr, size);
    join_range(&driver->holes, addr, size, addr, addr + size);
}

/* All but the last chunk of a recorded segment may have been there before: each chunk that it
 * touches is taken, one by one. */
static void add_chunks_under(struct driver *driver, uint64_t addr, uint64_t size)
{
    uint64_t from = addr / CHUNK * CHUNK, end = addr + size;
    const struct ranges *chunks = &driver->chunks;
    size_t at = range_after(chunks, addr);
    /* One that overlaps another in use is of a made-up record: it is counted nowhere. */
    if (!is_inside(&driver->holes, addr, size) &&
        (at == chunks->count || (chunks->items[at].addr > addr && chunks->items[at].addr >= end)))
        add_chunk(driver, from, (end - from + CHUNK - 1) / CHUNK * CHUNK);
}

static void mark_range_used(struct driver *driver, uint64_t addr, uint64_t size)
{
    size_t at = range_after(&driver->chunks, addr);
    cut_range(&driver->holes, addr, size);
    if (at < driver->chunks.count && driver->chunks.items[at].addr <= addr)
        driver->chunks.items[at].used += size;
}

static bool next_recorded(struct driver *driver, uint64_t size, uint64_t *addr)
{
    while (driver->left > 0 && driver->events->action != NAME_SEGMENT_ALLOC &&
           driver->events->action != NAME_SEGMENT_FREE) {
        driver->events++;
        driver->left--;
    }
    if (!driver->follows || driver->left == 0 || driver->events->action != NAME_SEGMENT_ALLOC ||
        driver->events->size_bytes != size) {
        driver->follows = false;
        return false;
    }
    *addr = driver->events->addr;
    driver->events++;
    driver->left--;
    return *addr >= SPACE_BOTTOM && *addr < SPACE_TOP * 2;
}

static bool first_fit(const struct driver *driver, uint64_t size, uint64_t *addr)
{
    EACH (item, driver->holes.items, driver->holes.count)
        if (item->size >= size) {
            *addr = item->addr;
            return true;
        }
    return false;
}

static bool new_chunk(struct driver *driver, uint64_t size, uint64_t *addr)
{
    uint64_t wanted = (size + CHUNK - 1) / CHUNK * CHUNK;
    for (size_t i = driver->gaps.count; i-- > 0;)
        if (driver->gaps.items[i].size >= wanted) {
            *addr = driver->gaps.items[i].addr + driver->gaps.items[i].size - wanted;
            add_chunk(driver, *addr, wanted);
            return true;
        }
    return false;
}

static bool allocate_below(struct driver *driver, uint64_t size, uint64_t *addr)
{
    if (size >= driver->falling - SPACE_BOTTOM)
        return false;
    driver->falling -= size;
    *addr = driver->falling;
    return true;
}

static bool allocate_segment(void *context, uint64_t size, uint64_t *addr)
{
    struct driver *driver = context;
    if (driver->kind == DRIVER_FALLING)
        return allocate_below(driver, size, addr);
    if (next_recorded(driver, size, addr))
        add_chunks_under(driver, *addr, size);
    else if (!first_fit(driver, size, addr) && !new_chunk(driver, size, addr))
        return false;
    mark_range_used(driver, *addr, size);
    return true;
}

static void drop_chunk(struct driver *driver, size_t at)
{
    struct range chunk = driver->chunks.items[at];
    cut_range(&driver->holes, chunk.addr, chunk.size);
    join_range(&driver->gaps, chunk.addr, chunk.size, 0, UINT64_MAX);
    remove_range(&driver->chunks, at);
}

static void free_segment(void *context, uint64_t addr, uint64_t size)
{
    struct driver *driver = context;
    size_t at = range_after(&driver->chunks, addr);
    if (addr < SPACE_BOTTOM)
        return; /* expandable */
    driver->follows = driver->follows && driver->left > 0;
    if (at == driver->chunks.count || driver->chunks.items[at].addr > addr) {
        join_range(&driver->holes, addr, size, 0, UINT64_MAX);
        return;
    }
    struct range *chunk = &driver->chunks.items[at];
    join_range(&driver->holes, addr, size, chunk->addr, chunk->addr + chunk->size);
    chunk->used -= size < chunk->used ? size : chunk->used;
    if (chunk->used == 0)
        drop_chunk(driver, at);
}

static bool reserve_address_space(void *context, uint64_t size, uint64_t *addr)
{
    struct driver *driver = context;
    *addr = driver->next_expandable;
    driver->next_expandable += (size + CHUNK - 1) / CHUNK * CHUNK;
    return true;
}

/* Infers the address space from the record: a recorded segment that begins a chunk lower than all
 * before it was taken from the highest gap, so gaps exist there; one that lies elsewhere filled a
 * hole. All addresses below are free. */
static void infer_address_space(struct driver *driver, const struct snapshot_event *events,
                                size_t count)
{
    uint64_t lowest = 0;
    EACH (event, events, count) {
        uint64_t addr = event->addr, size = event->size_bytes;
        if (event->action != NAME_SEGMENT_ALLOC || addr < SPACE_BOTTOM || addr > SPACE_TOP * 2 ||
            size > SPACE_TOP)
            continue;
        bool begins = addr % CHUNK == 0 && (lowest == 0 || addr < lowest);
        uint64_t room = begins ? (size + CHUNK - 1) / CHUNK * CHUNK : size;
        if (is_inside(&driver->gaps, addr, size) || is_inside(&driver->holes, addr, size))
            continue;
        cut_range(&driver->gaps, addr, room);
        cut_range(&driver->holes, addr, room);
        join_range(begins ? &driver->gaps : &driver->holes, addr, room, 0, UINT64_MAX);
        if (begins)
            lowest = addr;
    }
    if (lowest == 0)
        lowest = SPACE_TOP;
    cut_range(&driver->gaps, CHUNK, lowest - CHUNK);
    join_range(&driver->gaps, CHUNK, lowest - CHUNK, 0, UINT64_MAX);
}

struct driver *driver_new(enum driver_kind kind, const struct snapshot_event *events, size_t count)
{
    struct driver *driver = mem_alloc(sizeof *driver);
    *driver = (struct driver){.events = events,
                              .left = count,
                              .follows = kind == DRIVER_CHUNKS,
                              .kind = kind,
                              .falling = SPACE_TOP,
                              .next_expandable = EXPAND_BASE};
    infer_address_space(driver, events, count);
    return driver;
}

void driver_free(struct driver *driver)
{
    if (!driver)
        return;
    free(driver->holes.items);
    free(driver->gaps.items);
    free(driver->chunks.items);
    free(driver);
}

struct model_driver driver_vtable(struct driver *driver)
{
    return (struct model_driver){.take = allocate_segment,
                                 .give = free_segment,
                                 .reserve = reserve_address_space,
                                 .context = driver};
}
