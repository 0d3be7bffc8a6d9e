#include "gpu_memory/allocator/model.h"
#include "gpu_memory/allocator/model_expand.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct model *model_new(const struct model_options *options)
{
    struct model *model = mem_alloc(sizeof *model);
    size_t halves = options->pool_count * 2, queues = halves * options->stream_count;
    model->options = *options;
    model->counts_age = options->cap_bytes != MODEL_NO_CAP && options->settings.gc_threshold > 0;
    model->free = mem_array(queues, sizeof *model->free);
    model->unmapped = mem_array(queues, sizeof *model->unmapped);
    model->searches = mem_array(halves, sizeof *model->searches);
    return model;
}

void model_free(struct model *model)
{
    if (!model)
        return;
    size_t queues = model->options.pool_count * 2 * model->options.stream_count;
    for (size_t i = 0; i < queues; i++) {
        free_set_fini(&model->free[i]);
        free(model->unmapped[i].blocks);
    }
    free(model->free);
    free(model->unmapped);
    free(model->searches);
    free(model->blocks);
    free(model->spare);
    free(model->expandables);
    free(model->pending);
    free(model);
}

void model_emit(const struct model *model, enum name action, uint64_t addr, uint64_t size,
                uint16_t stream)
{
    if (model->options.listener)
        model->options.listener(model->options.listener_context, action, addr, size, stream);
}

uint32_t model_block_new(struct model *model, const struct model_block *like)
{
    uint32_t block;
    if (model->spare_count > 0) {
        block = model->spare[--model->spare_count];
    } else {
        model->blocks = mem_room(model->blocks, model->block_count, sizeof *model->blocks);
        block = (uint32_t)model->block_count++;
    }
    model->blocks[block] = *like;
    model->blocks[block].used = true;
    return block;
}

void model_block_drop(struct model *model, uint32_t block)
{
    model->blocks[block].used = false;
    MEM_ADD(model->spare, model->spare_count) = block;
}

static struct free_set *set_of(struct model *model, const struct model_block *block)
{
    return &model->free[queue_of(model, block->pool, block->stream)];
}

void model_free_insert(struct model *model, uint32_t at)
{
    struct model_block *block = &model->blocks[at];
    block->gc_base = model->searches[block->pool];
    free_set_insert(set_of(model, block),
                    (struct free_key){.size = block->size, .addr = block->addr, .block = at});
}

void model_free_take(struct model *model, uint32_t at)
{
    const struct model_block *block = &model->blocks[at];
    free_set_remove(set_of(model, block),
                    (struct free_key){.size = block->size, .addr = block->addr, .block = at});
}

void model_unmapped_insert(struct model *model, uint32_t at)
{
    const struct model_block *block = &model->blocks[at];
    struct unmapped *list = &model->unmapped[queue_of(model, block->pool, block->stream)];
    list->blocks = mem_room(list->blocks, list->count, sizeof *list->blocks);
    size_t place = list->count++;
    for (; place > 0 && model->blocks[list->blocks[place - 1]].addr > block->addr; place--)
        list->blocks[place] = list->blocks[place - 1];
    list->blocks[place] = at;
}

void model_unmapped_remove(struct model *model, uint32_t at)
{
    const struct model_block *block = &model->blocks[at];
    struct unmapped *list = &model->unmapped[queue_of(model, block->pool, block->stream)];
    size_t place = 0;
    while (place < list->count && list->blocks[place] != at)
        place++;
    if (place == list->count)
        return;
    list->count--;
    memmove(list->blocks + place, list->blocks + place + 1,
            (list->count - place) * sizeof *list->blocks);
}

uint64_t model_merge_blocks(struct model *model, uint32_t dst, uint32_t src)
{
    if (src == MODEL_NONE)
        return 0;
    struct model_block *kept = &model->blocks[dst], *gone = &model->blocks[src];
    if (gone->allocated || gone->pending || kept->mapped != gone->mapped)
        return 0;
    if (gone->mapped)
        model_free_take(model, src);
    else
        model_unmapped_remove(model, src);
    if (kept->prev == src) {
        kept->addr = gone->addr;
        link_blocks(model, gone->prev, dst);
    } else {
        link_blocks(model, dst, gone->next);
    }
    kept->size += gone->size;
    uint64_t taken = gone->size;
    model_block_drop(model, src);
    return taken;
}

void model_block_to_free(struct model *model, uint32_t at)
{
    struct model_block *block = &model->blocks[at];
    uint64_t size = block->size;
    model_emit(model, NAME_FREE_COMPLETED, block->addr, block->requested, block->stream);
    uint64_t taken = model_merge_blocks(model, at, block->prev);
    taken += model_merge_blocks(model, at, block->next);
    model_free_insert(model, at);
    if (!block->expandable) {
        /* What was taken in counted as split already. */
        energy_meters_sub(&model->stats.inactive_split, taken);
        if (is_split(block))
            energy_meters_add(&model->stats.inactive_split, block->size);
    }
    energy_meters_sub(&model->stats.active, size);
    energy_meters_sub(&model->stats.requested, block->requested);
}

void model_pending_add(struct model *model, uint32_t at)
{
    model->blocks[at].pending = true;
    MEM_ADD(model->pending, model->pending_count) = at;
    model->pending_live++;
}

void model_release(struct model *model, uint32_t at, bool still_used)
{
    struct model_block *block = &model->blocks[at];
    block->allocated = false;
    energy_meters_sub(&model->stats.allocated, block->size);
    model_emit(model, NAME_FREE_REQUESTED, block->addr, block->requested, block->stream);
    if (still_used)
        model_pending_add(model, at);
    else
        model_block_to_free(model, at);
}

void model_complete(struct model *model, uint32_t at)
{
    struct model_block *block = &model->blocks[at];
    if (!block->used || !block->pending)
        return;
    size_t place = 0;
    while (place < model->pending_count && model->pending[place] != at)
        place++;
    if (place < model->pending_count)
        model->pending[place] = MODEL_NONE;
    if (--model->pending_live == 0)
        model->pending_count = 0;
    block->pending = false;
    model_block_to_free(model, at);
}

const struct model_stats *model_stats(const struct model *model)
{
    return &model->stats;
}

const struct model_block *model_block(const struct model *model, uint32_t block)
{
    return &model->blocks[block];
}

bool model_next_block(const struct model *model, uint32_t *at, uint32_t *block)
{
    while (*at < model->block_count) {
        *block = (*at)++;
        if (model->blocks[*block].used)
            return true;
    }
    return false;
}

/* What was there before the record began. */

/* Adds a block between prev and next, which may be absent. */
static uint32_t add_model_piece(struct model *model, const struct model_block *like,
                                const struct model_piece *piece)
{
    uint32_t at = model_block_new(model, like);
    link_blocks(model, like->prev, at);
    energy_meters_add(&model->stats.reserved, piece->size);
    if (piece->allocated || piece->pending) {
        energy_meters_add(&model->stats.active, piece->size);
        energy_meters_add(&model->stats.requested, piece->requested);
    }
    if (piece->allocated)
        energy_meters_add(&model->stats.allocated, piece->size);
    else if (piece->pending)
        model_pending_add(model, at);
    else
        model_free_insert(model, at);
    return at;
}

void model_preload(struct model *model, const struct model_early *early,
                   const struct model_piece *pieces, size_t count, uint32_t *blocks)
{
    uint32_t prev = MODEL_NONE, next = MODEL_NONE, expandable = 0;
    uint64_t addr = early->addr, total = 0;
    EACH (piece, pieces, count)
        total += piece->size;
    if (early->base)
        expandable = model_expandable_carve(model, early, total, &prev, &next);
    for (size_t i = 0; i < count; i++) {
        struct model_block like = {.addr = addr,
                                   .size = pieces[i].size,
                                   .requested = pieces[i].requested,
                                   .prev = prev,
                                   .next = MODEL_NONE,
                                   .expandable = expandable,
                                   .stream = early->stream,
                                   .pool = (uint16_t)(early->pool * 2 + early->small),
                                   .allocated = pieces[i].allocated,
                                   .mapped = true};
        prev = blocks[i] = add_model_piece(model, &like, &pieces[i]);
        addr += pieces[i].size;
        if (!expandable && count > 1 && !pieces[i].allocated && !pieces[i].pending)
            energy_meters_add(&model->stats.inactive_split, pieces[i].size);
    }
    link_blocks(model, prev, next);
    if (!expandable)
        energy_meters_add(&model->stats.segments, 1);
}
