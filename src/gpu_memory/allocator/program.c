#include "gpu_memory/allocator/program.h"
#include "gpu_memory/allocator/model_release.h"
#include "gpu_memory/allocator/model_request.h"

#include "base/mem.h"
#include "gpu_memory/allocator/free_set.h"

#include <stdlib.h>
#include <string.h>

static struct op *add_op(struct program *program, enum op_kind kind, size_t event)
{
    struct op *op = &MEM_ADD(program->ops, program->op_count);
    *op = (struct op){.kind = (uint8_t)kind, .event = (uint32_t)event};
    return op;
}

static uint32_t add_allocation(struct program *program, const struct snapshot_event *event,
                               uint32_t born)
{
    MEM_ADD(program->allocations, program->allocation_count) =
        (struct allocation){.size = event->size_bytes,
                            .born = born,
                            .died = UINT32_MAX,
                            .stack = event->stack,
                            .stream = event->stream};
    return (uint32_t)program->allocation_count - 1;
}

/* A pool of its own for whatever lies in a segment of a CUDA graph's; 0 for all else. */
static uint16_t pool_at(const struct snapshot *snapshot, size_t device, uint64_t addr,
                        const struct program *program)
{
    size_t low = 0, high = snapshot->segment_count;
    if (program->pool_count <= 1)
        return 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct snapshot_segment *segment = &snapshot->segments[middle];
        if (segment->device < device ||
            (segment->device == device && segment->addr + segment->size_bytes <= addr))
            low = middle + 1;
        else
            high = middle;
    }
    const struct snapshot_segment *found = &snapshot->segments[low];
    if (low == snapshot->segment_count || found->device != device || found->addr > addr)
        return 0;
    return found->pool_id[0] || found->pool_id[1] ? 1 : 0;
}

static bool has_private_pools(const struct snapshot *snapshot, size_t device)
{
    EACH (segment, snapshot->segments, snapshot->segment_count)
        if (segment->device == device && (segment->pool_id[0] || segment->pool_id[1]))
            return true;
    return false;
}

struct builder {
    const struct snapshot *snapshot;
    const struct snapshot_event *events;
    size_t device, count;
    struct program *program;
    struct addr_map live; /* allocated or pending */
};

/* Whether the free is over at once: its completion follows. */
static bool completes_at_once(const struct builder *builder, size_t at)
{
    const struct snapshot_event *event = &builder->events[at];
    return at + 1 < builder->count && event[1].action == NAME_FREE_COMPLETED &&
           event[1].addr == event->addr;
}

static void add_alloc(struct builder *builder, size_t at)
{
    const struct snapshot_event *event = &builder->events[at];
    uint32_t allocation = add_allocation(builder->program, event, (uint32_t)at);
    struct op *op = add_op(builder->program, OP_ALLOC, at);
    op->size = event->size_bytes;
    op->stream = event->stream;
    op->allocation = allocation;
    op->pool = pool_at(builder->snapshot, builder->device, event->addr, builder->program);
    addr_map_set(&builder->live, event->addr, allocation);
}

static void add_free(struct builder *builder, size_t at)
{
    const struct snapshot_event *event = &builder->events[at];
    uint32_t allocation;
    bool over = completes_at_once(builder, at);
    bool known = over ? addr_map_take(&builder->live, event->addr, &allocation)
                      : addr_map_get(&builder->live, event->addr, &allocation);
    if (known && builder->program->allocations[allocation].died != UINT32_MAX)
        return; /* freed twice: no allocator records that */
    if (!known) {
        allocation = add_allocation(builder->program, event, UINT32_MAX);
        if (!over)
            addr_map_set(&builder->live, event->addr, allocation);
    }
    builder->program->allocations[allocation].died = (uint32_t)at;
    add_op(builder->program, over ? OP_FREE : OP_FREE_LATER, at)->allocation = allocation;
}

/* Freed before the record began, completed in it. */
static void add_awaited(struct builder *builder, size_t at)
{
    uint32_t allocation = add_allocation(builder->program, &builder->events[at], UINT32_MAX);
    builder->program->allocations[allocation].died = (uint32_t)at;
    builder->program->allocations[allocation].awaited = true;
    add_op(builder->program, OP_COMPLETE, at)->allocation = allocation;
}

static void add_complete(struct builder *builder, size_t at)
{
    uint32_t allocation;
    if (at > 0 && builder->events[at - 1].action == NAME_FREE_REQUESTED &&
        builder->events[at - 1].addr == builder->events[at].addr)
        return;
    if (addr_map_take(&builder->live, builder->events[at].addr, &allocation))
        add_op(builder->program, OP_COMPLETE, at)->allocation = allocation;
    else
        add_awaited(builder, at);
}

static void add_oom_op(struct builder *builder, size_t at)
{
    struct op *op = add_op(builder->program, OP_OOM, at);
    op->size = builder->events[at].size_bytes;
    op->stream = builder->events[at].stream;
}

static void add_event(struct builder *builder, size_t at)
{
    switch (builder->events[at].action) {
    case NAME_ALLOC:
        add_alloc(builder, at);
        break;
    case NAME_FREE_REQUESTED:
        add_free(builder, at);
        break;
    case NAME_FREE_COMPLETED:
        add_complete(builder, at);
        break;
    case NAME_OOM:
        add_oom_op(builder, at);
        break;
    default:
        break;
    }
}

/* From the end backwards, as only what is reserved at the end is known. */
static void find_peak(struct builder *builder)
{
    uint64_t reserved = 0;
    EACH (segment, builder->snapshot->segments, builder->snapshot->segment_count)
        if (segment->device == builder->device)
            reserved += segment->size_bytes;
    uint64_t peak = reserved;
    for (size_t i = builder->count; i-- > 0;) {
        const struct snapshot_event *event = &builder->events[i];
        if (event->action == NAME_SEGMENT_ALLOC || event->action == NAME_SEGMENT_MAP)
            reserved -= event->size_bytes;
        else if (event->action == NAME_SEGMENT_FREE || event->action == NAME_SEGMENT_UNMAP)
            reserved += event->size_bytes;
        peak = reserved > peak && reserved < UINT64_MAX / 2 ? reserved : peak;
    }
    builder->program->peak_reserved_bytes = peak;
    builder->program->early_reserved_bytes = reserved < UINT64_MAX / 2 ? reserved : 0;
}

bool program_build(const struct snapshot *snapshot, size_t device, struct program *out,
                   struct err *err)
{
    *out = (struct program){.pool_count = has_private_pools(snapshot, device) ? 2 : 1,
                            .stream_count = snapshot->stream_count ? snapshot->stream_count : 1};
    struct builder builder = {.snapshot = snapshot,
                              .events = snapshot->devices[device].events,
                              .count = snapshot->devices[device].count,
                              .device = device,
                              .program = out};
    if (builder.count >= UINT32_MAX / 2)
        return err_set(err, "the trace of device %zu has too many events to be replayed", device);
    for (size_t i = 0; i < builder.count; i++)
        add_event(&builder, i);
    find_peak(&builder);
    program_find_early(snapshot, device, out, &builder.live);
    addr_map_fini(&builder.live);
    return true;
}

void program_fini(struct program *program)
{
    free(program->ops);
    free(program->allocations);
    free(program->early);
    free(program->pieces);
    *program = (struct program){0};
}

void program_add_empty_caches(struct program *program, const size_t *places, size_t count)
{
    size_t from = program->op_count;
    /* at least what mem_room would give */
    struct op *ops = mem_array(2 * (program->op_count + count) + 8, sizeof *ops);
    for (size_t i = count; i-- > 0;) {
        size_t place = places[i] < from ? places[i] : from;
        if (from > place)
            memcpy(ops + place + i + 1, program->ops + place, (from - place) * sizeof *ops);
        ops[place + i] = (struct op){.kind = OP_EMPTY_CACHE,
                                     .event = place < program->op_count ? program->ops[place].event
                                                                        : UINT32_MAX};
        from = place;
    }
    if (from > 0)
        memcpy(ops, program->ops, from * sizeof *ops);
    free(program->ops);
    program->ops = ops;
    program->op_count += count;
}

static void preload(const struct program *program, bool expandable, struct model *model,
                    uint32_t *blocks)
{
    EACH (segment, program->early, program->early_count) {
        struct model_piece *pieces = mem_array(segment->piece_count, sizeof *pieces);
        uint32_t *made = mem_array(segment->piece_count, sizeof *made);
        for (size_t p = 0; p < segment->piece_count; p++)
            pieces[p] = program->pieces[segment->first_piece + p].piece;
        struct model_early early = {.addr = segment->addr,
                                    .base = expandable ? segment->base : 0,
                                    .pool = segment->pool,
                                    .stream = segment->stream,
                                    .small = segment->small};
        model_preload(model, &early, pieces, segment->piece_count, made);
        for (size_t p = 0; p < segment->piece_count; p++) {
            uint32_t allocation = program->pieces[segment->first_piece + p].allocation;
            if (allocation != UINT32_MAX)
                blocks[allocation] = made[p];
        }
        free(pieces);
        free(made);
    }
}

struct model *program_model(const struct program *program, struct model_options options,
                            uint64_t total_bytes, uint32_t **blocks)
{
    const uint64_t total = total_bytes ? total_bytes : UINT64_C(256) << 30;
    options.address_space_bytes = total + total / 8;
    options.stream_count = program->stream_count;
    options.pool_count = program->pool_count;
    struct model *model = model_new(&options);
    *blocks = mem_array(program->allocation_count, sizeof **blocks);
    for (size_t i = 0; i < program->allocation_count; i++)
        (*blocks)[i] = MODEL_NONE;
    preload(program, options.settings.expandable, model, *blocks);
    return model;
}

bool program_run_op(struct model *model, const struct op *op, uint32_t *block)
{
    switch ((enum op_kind)op->kind) {
    case OP_ALLOC:
        *block = model_malloc(model, op->pool, op->size, op->stream);
        return *block != MODEL_NONE;
    case OP_OOM:
        return model_malloc(model, op->pool, op->size, op->stream) != MODEL_NONE;
    case OP_FREE:
    case OP_FREE_LATER:
        if (*block != MODEL_NONE)
            model_release(model, *block, op->kind == OP_FREE_LATER);
        return *block != MODEL_NONE;
    case OP_COMPLETE:
        if (*block != MODEL_NONE)
            model_complete(model, *block);
        return *block != MODEL_NONE;
    case OP_EMPTY_CACHE:
        model_empty_cache(model);
        break;
    }
    return true;
}
