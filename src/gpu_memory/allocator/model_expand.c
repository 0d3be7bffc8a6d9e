#include "gpu_memory/allocator/model_expand.h"
#include "gpu_memory/allocator/model.h"

#include "base/mem.h"

#include <string.h>

/* Address space for a segment of this half of a pool: whole pages. */
static uint64_t space_of(const struct model *model, uint16_t half)
{
    uint64_t page = model_is_small(half) ? SMALL_BUFFER : LARGE_BUFFER;
    return (model->options.address_space_bytes + page - 1) / page * page;
}

/* All of its address space is one unmapped block. */
static uint32_t add_expandable(struct model *model, uint64_t addr, uint16_t half, uint16_t stream)
{
    struct expandable made = {.addr = addr,
                              .size = space_of(model, half),
                              .page = model_is_small(half) ? SMALL_BUFFER : LARGE_BUFFER};
    MEM_ADD(model->expandables, model->expandable_count) = made;
    struct model_block like = {.addr = made.addr,
                               .size = made.size,
                               .prev = MODEL_NONE,
                               .next = MODEL_NONE,
                               .expandable = (uint32_t)model->expandable_count,
                               .stream = stream,
                               .pool = half};
    uint32_t at = model_block_new(model, &like);
    model_unmapped_insert(model, at);
    return at;
}

static bool reserve_expandable(struct model *model, const struct request *request, uint32_t *out)
{
    const struct model_driver *driver = &model->options.driver;
    uint64_t size = space_of(model, request->half), addr;
    if (size < request->size || !driver->reserve(driver->context, size, &addr))
        return false;
    *out = add_expandable(model, addr, request->half, request->stream);
    return true;
}

/* The unmapped block that holds all of [addr, addr + size). */
static uint32_t unmapped_at(const struct model *model, size_t queue, uint64_t addr, uint64_t size)
{
    const struct unmapped *list = &model->unmapped[queue];
    EACH (item, list->blocks, list->count) {
        const struct model_block *block = &model->blocks[*item];
        if (addr >= block->addr && addr - block->addr <= block->size &&
            size <= block->size - (addr - block->addr))
            return *item;
    }
    return MODEL_NONE;
}

uint32_t model_expandable_carve(struct model *model, const struct model_early *early,
                                uint64_t total, uint32_t *prev, uint32_t *next)
{
    uint16_t half = (uint16_t)(early->pool * 2 + early->small);
    size_t queue = queue_of(model, half, early->stream);
    uint32_t at = unmapped_at(model, queue, early->addr, total);
    if (at == MODEL_NONE) {
        add_expandable(model, early->base, half, early->stream);
        at = unmapped_at(model, queue, early->addr, total);
    }
    if (at == MODEL_NONE)
        return 0;
    struct model_block whole = model->blocks[at];
    model_unmapped_remove(model, at);
    *prev = whole.prev;
    *next = whole.next;
    if (early->addr > whole.addr) {
        model->blocks[at].size = early->addr - whole.addr;
        model_unmapped_insert(model, at);
        *prev = at;
    } else {
        model_block_drop(model, at);
    }
    uint64_t behind = early->addr + total, end = whole.addr + whole.size;
    if (behind < end) {
        struct model_block like = whole;
        like.addr = behind;
        like.size = end - behind;
        uint32_t rest = model_block_new(model, &like);
        link_blocks(model, rest, whole.next);
        model_unmapped_insert(model, rest);
        *next = rest;
    }
    return whole.expandable;
}

static bool is_block_free(const struct model *model, uint32_t at)
{
    return at != MODEL_NONE && !model->blocks[at].allocated && !model->blocks[at].pending;
}

static bool has_room(const struct model *model, uint32_t at, uint64_t size)
{
    uint64_t bytes = 0;
    while (bytes < size && is_block_free(model, at)) {
        bytes += model->blocks[at].size;
        at = model->blocks[at].next;
    }
    return bytes >= size;
}

/* The lowest free block, or unmapped range without a free block before it, from which on the
 * request fits. */
static bool find_start(struct model *model, const struct request *request, uint32_t *out)
{
    const struct unmapped *list = &model->unmapped[queue_of(model, request->half, request->stream)];
    EACH (block, list->blocks, list->count) {
        uint32_t at = *block;
        if (is_block_free(model, model->blocks[at].prev))
            at = model->blocks[at].prev;
        if (has_room(model, at, request->size)) {
            *out = at;
            return true;
        }
    }
    return reserve_expandable(model, request, out);
}

/* Maps whole pages from the block's start, at least size bytes; what it merges into is a free
 * block. */
static void map(struct model *model, uint32_t at, uint64_t size)
{
    struct model_block *block = &model->blocks[at];
    uint64_t page = model->expandables[block->expandable - 1].page;
    uint64_t mapped = (size + page - 1) / page * page;
    uint64_t addr = block->addr;
    if (mapped > block->size)
        mapped = block->size;
    model_unmapped_remove(model, at);
    block->mapped = true;
    if (mapped < block->size) {
        struct model_block like = *block;
        like.addr += mapped;
        like.size -= mapped;
        like.requested = 0;
        like.mapped = false;
        uint32_t rest = model_block_new(model, &like);
        link_blocks(model, rest, like.next);
        link_blocks(model, at, rest);
        block = &model->blocks[at];
        block->size = mapped;
        model_unmapped_insert(model, rest);
    }
    model_merge_blocks(model, at, block->prev);
    model_merge_blocks(model, at, block->next);
    model_free_insert(model, at);
    energy_meters_add(&model->stats.reserved, mapped);
    model_emit(model, NAME_SEGMENT_MAP, addr, mapped, block->stream);
}

uint32_t model_expandable_grow(struct model *model, const struct request *request)
{
    uint32_t at;
    uint64_t size = request->size;
    const struct model_driver *driver = &model->options.driver;
    if (driver->grow && !driver->grow(driver->context))
        return MODEL_NONE;
    if (!find_start(model, request, &at))
        return MODEL_NONE;
    if (!model->blocks[at].mapped)
        map(model, at, size < model->blocks[at].size ? size : model->blocks[at].size);
    while (model->blocks[at].size < size) {
        uint32_t next = model->blocks[at].next;
        uint64_t missing = size - model->blocks[at].size;
        map(model, next, missing < model->blocks[next].size ? missing : model->blocks[next].size);
        at = next;
    }
    model_free_take(model, at);
    return at;
}

/* A part of a free block that stays mapped, before or behind what is unmapped. */
static void keep_part(struct model *model, uint32_t of, uint64_t addr, uint64_t size, bool before)
{
    struct model_block like = model->blocks[of];
    like.addr = addr;
    like.size = size;
    like.requested = 0;
    uint32_t part = model_block_new(model, &like);
    link_blocks(model, before ? like.prev : of, part);
    link_blocks(model, part, before ? of : like.next);
    model_free_insert(model, part);
}

void model_expandable_unmap(struct model *model, uint32_t at)
{
    struct model_block *block = &model->blocks[at];
    struct expandable *segment = &model->expandables[block->expandable - 1];
    uint64_t begin =
        (block->addr - segment->addr + segment->page - 1) / segment->page * segment->page +
        segment->addr;
    uint64_t end =
        (block->addr + block->size - segment->addr) / segment->page * segment->page + segment->addr;
    if (begin >= end)
        return;
    uint64_t addr = block->addr, size = block->size;
    uint16_t stream = block->stream;
    model_free_take(model, at);
    if (begin > addr)
        keep_part(model, at, addr, begin - addr, true);
    if (end < addr + size)
        keep_part(model, at, end, addr + size - end, false);
    block = &model->blocks[at];
    block->addr = begin;
    block->size = end - begin;
    block->mapped = false;
    model_merge_blocks(model, at, block->prev);
    model_merge_blocks(model, at, block->next);
    model_unmapped_insert(model, at);
    energy_meters_sub(&model->stats.reserved, end - begin);
    model_emit(model, NAME_SEGMENT_UNMAP, begin, end - begin, stream);
    if (!is_split(block)) { /* nothing of the segment is mapped any more */
        model_unmapped_remove(model, at);
        const struct model_driver *driver = &model->options.driver;
        driver->give(driver->context, segment->addr, segment->size);
        model_block_drop(model, at);
    }
}
