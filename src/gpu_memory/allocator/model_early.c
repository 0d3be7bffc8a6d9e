/* What was there before the record began. */
#include "gpu_memory/allocator/model_private.h"

/* A block between prev and next, which may be none. */
static uint32_t add_piece(struct model *model, const struct model_block *like, const struct model_piece *piece)
{
    uint32_t at = block_new(model, like);
    if (like->prev != MODEL_NONE)
        model->blocks[like->prev].next = at;
    gauge_add(&model->stats.reserved, piece->size);
    if (piece->allocated || piece->pending) {
        gauge_add(&model->stats.active, piece->size);
        gauge_add(&model->stats.requested, piece->requested);
    }
    if (piece->allocated)
        gauge_add(&model->stats.allocated, piece->size);
    else if (piece->pending)
        pending_add(model, at);
    else
        free_insert(model, at);
    return at;
}

void model_preload(struct model *model, const struct model_early *early, const struct model_piece *pieces, size_t count,
                   uint32_t *blocks)
{
    uint32_t prev = MODEL_NONE, next = MODEL_NONE, expandable = 0;
    uint64_t addr = early->addr, total = 0;
    for (size_t i = 0; i < count; i++)
        total += pieces[i].size;
    if (early->base)
        expandable = expandable_carve(model, early, total, &prev, &next);
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
        prev = blocks[i] = add_piece(model, &like, &pieces[i]);
        addr += pieces[i].size;
        if (!expandable && count > 1 && !pieces[i].allocated && !pieces[i].pending)
            gauge_add(&model->stats.inactive_split, pieces[i].size);
    }
    if (prev != MODEL_NONE)
        model->blocks[prev].next = next;
    if (next != MODEL_NONE)
        model->blocks[next].prev = prev;
    if (!expandable)
        gauge_add(&model->stats.segments, 1);
}
