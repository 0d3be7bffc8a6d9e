#include "gpu_memory/allocator/model_request.h"
#include "gpu_memory/allocator/model.h"
#include "gpu_memory/allocator/model_expand.h"
#include "gpu_memory/allocator/model_release.h"

static uint64_t floor_power2(uint64_t value)
{
    return UINT64_C(1) << (63 - __builtin_clzll(value));
}

static uint32_t divisions_for_size(const struct alloc_settings *settings, uint64_t size)
{
    int place = 63 - __builtin_clzll(size) - 20;
    return settings->divisions[place < 0 ? 0 : place > CONF_CLASSES - 1 ? CONF_CLASSES - 1 : place];
}

uint64_t model_round(const struct alloc_settings *settings, uint64_t requested)
{
    if (requested < MIN_BLOCK)
        return MIN_BLOCK;
    if (requested > REQUEST_MAX)
        return requested; /* refused whatever it is; nothing overflows */
    uint32_t divisions = divisions_for_size(settings, requested);
    if (divisions <= 1 || requested <= MIN_BLOCK * divisions)
        return (requested + MIN_BLOCK - 1) / MIN_BLOCK * MIN_BLOCK;
    uint64_t step = floor_power2(requested) / floor_power2(divisions);
    return step == 0 ? floor_power2(requested) * 2 : (requested + step - 1) & ~(step - 1);
}

uint64_t model_segment_size(uint64_t rounded)
{
    if (rounded <= SMALL_MAX)
        return SMALL_BUFFER;
    if (rounded < LARGE_MIN)
        return LARGE_BUFFER;
    if (rounded > REQUEST_MAX)
        return rounded;
    return (rounded + LARGE_ROUND - 1) / LARGE_ROUND * LARGE_ROUND;
}

static struct request request_of(const struct model *model, uint16_t pool, uint64_t requested,
                                 uint16_t stream)
{
    struct request request = {.requested = requested, .stream = stream};
    request.size = model_round(&model->options.settings, requested);
    request.segment_size = model_segment_size(request.size);
    request.half = (uint16_t)(pool * 2 + (request.size <= SMALL_MAX));
    return request;
}

/* A free block counts as large as it can grow. */
static uint64_t growable(const struct model *model, uint32_t at)
{
    const struct model_block *block = &model->blocks[at];
    bool grows = block->next != MODEL_NONE && !model->blocks[block->next].mapped;
    return block->size + (grows ? model->blocks[block->next].size : 0);
}

static void prefer_smaller_growth(const struct model *model, const struct free_set *set,
                                  struct free_place *place)
{
    struct free_place next = *place;
    while (free_set_next(set, &next) && growable(model, free_set_get(set, next)->block) <
                                            growable(model, free_set_get(set, *place)->block))
        *place = next;
}

/* Best fit. False: none, and nothing changed. */
static bool find_free(const struct model *model, const struct request *request,
                      struct free_place *place)
{
    const struct free_set *set = &model->free[queue_of(model, request->half, request->stream)];
    uint64_t most = model->options.settings.max_split_bytes;
    if (!free_set_at_least(set, request->size, place))
        return false;
    if (model->options.settings.expandable)
        prefer_smaller_growth(model, set, place);
    uint64_t size = free_set_get(set, *place)->size;
    if (request->size < most)
        return size < most;
    return size < request->size + LARGE_BUFFER;
}

/* The segment is in no free set yet. */
static uint32_t reserve_segment(struct model *model, const struct request *request)
{
    const struct model_driver *driver = &model->options.driver;
    uint64_t addr, size = request->segment_size;
    if (request->size > REQUEST_MAX || model->stats.reserved.now > UINT64_MAX / 2 ||
        model->stats.reserved.now + size > model->options.cap_bytes)
        return MODEL_NONE;
    if (model->options.settings.expandable)
        return model_expandable_grow(model, request);
    if (!driver->take(driver->context, size, &addr))
        return MODEL_NONE;
    struct model_block like = {.addr = addr,
                               .size = size,
                               .prev = MODEL_NONE,
                               .next = MODEL_NONE,
                               .stream = request->stream,
                               .pool = request->half,
                               .mapped = true};
    energy_meters_add(&model->stats.segments, 1);
    energy_meters_add(&model->stats.reserved, size);
    model_emit(model, NAME_SEGMENT_ALLOC, addr, size, request->stream);
    return model_block_new(model, &like);
}

static uint32_t find_or_grow(struct model *model, const struct request *request)
{
    struct free_place place;
    struct free_set *set = &model->free[queue_of(model, request->half, request->stream)];
    if (model->counts_age)
        model->searches[request->half]++;
    if (find_free(model, request, &place)) {
        uint32_t found = free_set_get(set, place)->block;
        free_set_remove_at(set, place);
        return found;
    }
    if (model->counts_age)
        model_collect_garbage(model);
    uint32_t block = reserve_segment(model, request);
    if (block == MODEL_NONE && model_release_oversize(model, request))
        block = reserve_segment(model, request);
    if (block == MODEL_NONE) {
        model_empty_cache(model);
        model->stats.retries++;
        block = reserve_segment(model, request);
    }
    return block;
}

static bool should_split(const struct model *model, const struct request *request, uint64_t size)
{
    uint64_t rest = size - request->size;
    if (model_is_small(request->half) || model->options.settings.expandable)
        return rest >= MIN_BLOCK;
    return request->size < model->options.settings.max_split_bytes && rest > SMALL_MAX;
}

/* Returns the front of a block; the rest stays free. */
static uint32_t split_block(struct model *model, uint32_t rest, uint64_t size)
{
    struct model_block like = model->blocks[rest];
    bool was_split = is_split(&like);
    like.size = size;
    uint32_t front = model_block_new(model, &like);
    struct model_block *behind = &model->blocks[rest];
    link_blocks(model, like.prev, front);
    link_blocks(model, front, rest);
    behind->addr += size;
    behind->size -= size;
    model_free_insert(model, rest);
    if (like.expandable)
        return front;
    if (was_split)
        energy_meters_sub(&model->stats.inactive_split, size);
    else
        energy_meters_add(&model->stats.inactive_split, behind->size);
    return front;
}

uint32_t model_malloc(struct model *model, uint16_t pool, uint64_t requested, uint16_t stream)
{
    struct request request = request_of(model, pool, requested, stream);
    uint32_t at = find_or_grow(model, &request);
    if (at == MODEL_NONE) {
        model->stats.ooms++;
        model_emit(model, NAME_OOM, 0, request.size, stream);
        return at;
    }
    if (should_split(model, &request, model->blocks[at].size))
        at = split_block(model, at, request.size);
    else if (is_split(&model->blocks[at]) && !model->blocks[at].expandable)
        energy_meters_sub(&model->stats.inactive_split, model->blocks[at].size);
    struct model_block *block = &model->blocks[at];
    block->allocated = true;
    block->requested = requested;
    model_emit(model, NAME_ALLOC, block->addr, requested, stream);
    energy_meters_add(&model->stats.allocated, block->size);
    energy_meters_add(&model->stats.active, block->size);
    energy_meters_add(&model->stats.requested, requested);
    return at;
}

bool model_would_release(const struct model *model, uint16_t pool, uint64_t requested,
                         uint16_t stream, uint64_t limit_bytes)
{
    struct request request = request_of(model, pool, requested, stream);
    struct free_place place;
    if (find_free(model, &request, &place))
        return false;
    return model_garbage_is_due(model) ||
           model->stats.reserved.now + request.segment_size > limit_bytes;
}
