#include "gpu_memory/allocator/model_release.h"
#include "gpu_memory/allocator/model.h"
#include "gpu_memory/allocator/model_expand.h"

#include "base/mem.h"

#include <stdlib.h>

#define LARGE_HALF 0 /* of the common pool */

static void release_segment(struct model *model, uint32_t at)
{
    const struct model_block *block = &model->blocks[at];
    const struct model_driver *driver = &model->options.driver;
    model_emit(model, NAME_SEGMENT_FREE, block->addr, block->size, block->stream);
    driver->give(driver->context, block->addr, block->size);
    energy_meters_sub(&model->stats.segments, 1);
    energy_meters_sub(&model->stats.reserved, block->size);
    model_free_take(model, at);
    model_block_drop(model, at);
}

/* The free blocks of half a pool that are whole segments (or, expandable: lie in one), in the
 * allocator's order. */
static uint32_t *free_blocks(const struct model *model, uint16_t half, bool expandable,
                             size_t *count)
{
    uint32_t *found = NULL;
    struct free_place place;
    *count = 0;
    for (size_t stream = 0; stream < model->options.stream_count; stream++) {
        const struct free_set *set = &model->free[queue_of(model, half, (uint16_t)stream)];
        for (bool more = free_set_first(set, &place); more; more = free_set_next(set, &place)) {
            uint32_t at = free_set_get(set, place)->block;
            const struct model_block *block = &model->blocks[at];
            if (expandable ? !block->expandable : block->expandable || is_split(block))
                continue;
            MEM_ADD(found, *count) = at;
        }
    }
    return found;
}

static uint64_t gc_bytes(const struct model *model)
{
    return (uint64_t)(model->options.settings.gc_threshold * (double)model->options.cap_bytes);
}

static uint64_t age_of(const struct model *model, uint32_t at)
{
    return model->searches[LARGE_HALF] - model->blocks[at].gc_base;
}

bool model_garbage_is_due(const struct model *model)
{
    if (!model->counts_age || model->stats.reserved.now <= gc_bytes(model))
        return false;
    size_t count;
    uint32_t *found = free_blocks(model, LARGE_HALF, false, &count);
    free(found);
    return count > 0;
}

/* Frees all of at least mean age, takes the mean of the rest, and so on until the target is
 * reached. */
void model_collect_garbage(struct model *model)
{
    if (model->stats.reserved.now <= gc_bytes(model))
        return;
    uint64_t target = model->stats.reserved.now - gc_bytes(model), freed = 0, age = 0;
    size_t count;
    uint32_t *found = free_blocks(model, LARGE_HALF, false, &count);
    EACH (item, found, count)
        age += age_of(model, *item);
    for (size_t before = count + 1; freed < target && count > 0 && count < before;) {
        double mean = (double)age / (double)count;
        size_t kept = 0;
        before = count;
        EACH (entry, found, count) {
            if ((double)age_of(model, *entry) < mean) {
                found[kept++] = *entry;
                continue;
            }
            freed += model->blocks[*entry].size;
            age -= age_of(model, *entry);
            release_segment(model, *entry);
        }
        count = kept;
    }
    free(found);
}

/* Oversize blocks are never split, except those allocated before the record began. */
static bool is_whole_segment(const struct model *model, uint32_t at)
{
    return !model->blocks[at].expandable && !is_split(&model->blocks[at]);
}

/* With max_split_size only: the smallest oversize block that can hold the request, else oversize
 * blocks, the largest first, until they add up to it. True when enough was given back. */
bool model_release_oversize(struct model *model, const struct request *request)
{
    uint64_t most = model->options.settings.max_split_bytes;
    struct free_set *set = &model->free[queue_of(model, request->half, request->stream)];
    uint64_t key = request->size < most ? most : request->size, released = 0;
    struct free_place place;
    if (most == UINT64_MAX)
        return false;
    for (bool more = free_set_at_least(set, key, &place); more; more = free_set_next(set, &place))
        if (is_whole_segment(model, free_set_get(set, place)->block)) {
            release_segment(model, free_set_get(set, place)->block);
            return true;
        }
    bool more = free_set_last(set, &place);
    while (more && released < key && free_set_get(set, place)->size >= most) {
        struct free_key last = *free_set_get(set, place);
        more = free_set_previous(set, &place);
        if (is_whole_segment(model, last.block)) {
            released += last.size;
            release_segment(model, last.block);
        }
    }
    return released >= key;
}

static void complete_pending(struct model *model)
{
    size_t count = model->pending_count;
    for (size_t i = 0; i < count; i++) {
        uint32_t at = model->pending[i];
        if (at == MODEL_NONE)
            continue;
        model->blocks[at].pending = false;
        model_block_to_free(model, at);
    }
    model->pending_count = model->pending_live = 0;
}

static void release_half(struct model *model, uint16_t half)
{
    size_t count;
    uint32_t *found = free_blocks(model, half, false, &count);
    EACH (item, found, count)
        release_segment(model, *item);
    free(found);
    if (!model->options.settings.expandable)
        return;
    found = free_blocks(model, half, true, &count);
    EACH (entry, found, count)
        model_expandable_unmap(model, *entry);
    free(found);
}

/* Pools of CUDA graphs keep theirs while the graphs live, which a trace does not tell of. */
void model_empty_cache(struct model *model)
{
    complete_pending(model);
    release_half(model, LARGE_HALF);
    release_half(model, LARGE_HALF + 1);
}
