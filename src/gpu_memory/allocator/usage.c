#include "gpu_memory/allocator/usage.h"
#include "gpu_memory/allocator/model_request.h"

#include "base/mem.h"

#include <stdlib.h>

/* A segment that is one free block, or whole pages of an expandable one: those begin where it
 * begins. */
void usage_releasable(const struct snapshot_segment *segment, const struct snapshot_block *block,
                      uint64_t *begin, uint64_t *end)
{
    uint64_t page = UINT64_C(1) << 21, from = block->addr - segment->addr;
    *begin = *end = block->addr;
    if (block->state != BLOCK_INACTIVE)
        return;
    if (!segment->expandable) {
        *end += segment->block_count == 1 ? block->size_bytes : 0;
        return;
    }
    page *= segment->small ? 1 : 10;
    uint64_t first = (from + page - 1) / page * page,
             last = (from + block->size_bytes) / page * page;
    if (first < last) {
        *begin = segment->addr + first;
        *end = segment->addr + last;
    }
}

static void sum_block(struct usage_sum *sum, const struct snapshot_segment *segment,
                      const struct snapshot_block *block)
{
    uint64_t begin, end;
    sum->blocks++;
    if (block->state == BLOCK_ALLOCATED)
        sum->allocated += block->size_bytes;
    if (block->state != BLOCK_INACTIVE) {
        sum->active += block->size_bytes;
        sum->requested += block->requested_bytes;
        return;
    }
    if (block->size_bytes > sum->largest_free)
        sum->largest_free = block->size_bytes;
    usage_releasable(segment, block, &begin, &end);
    sum->inactive_whole += end - begin;
    sum->inactive_split += block->size_bytes - (end - begin);
}

struct usage_sum usage_of_segment(const struct snapshot *snapshot,
                                  const struct snapshot_segment *segment)
{
    struct usage_sum sum = {.segments = 1, .reserved = segment->size_bytes};
    for (size_t i = 0; i < segment->block_count; i++)
        sum_block(&sum, segment, &snapshot->blocks[segment->first_block + i]);
    return sum;
}

static void add_usage_sum(struct usage_sum *to, const struct usage_sum *from)
{
    to->segments += from->segments;
    to->blocks += from->blocks;
    to->reserved += from->reserved;
    to->allocated += from->allocated;
    to->active += from->active;
    to->requested += from->requested;
    to->inactive_split += from->inactive_split;
    to->inactive_whole += from->inactive_whole;
    if (from->largest_free > to->largest_free)
        to->largest_free = from->largest_free;
}

static struct usage_pool *pool_of(struct usage_layout *layout,
                                  const struct snapshot_segment *segment)
{
    EACH (pool, layout->pools, layout->pool_count) {
        if (pool->pool_id[0] == segment->pool_id[0] && pool->pool_id[1] == segment->pool_id[1] &&
            pool->stream == segment->stream && pool->small == segment->small &&
            pool->expandable == segment->expandable)
            return pool;
    }
    layout->pools = mem_resize(layout->pools, layout->pool_count + 1, sizeof *layout->pools);
    layout->pools[layout->pool_count] =
        (struct usage_pool){.pool_id = {segment->pool_id[0], segment->pool_id[1]},
                            .stream = segment->stream,
                            .small = segment->small,
                            .expandable = segment->expandable};
    return &layout->pools[layout->pool_count++];
}

static int by_reserved(const void *a, const void *b)
{
    const struct usage_pool *one = a, *two = b;
    if (one->sum.reserved != two->sum.reserved)
        return one->sum.reserved < two->sum.reserved ? 1 : -1;
    return ORDER(one->stream, two->stream);
}

void usage_layout(const struct snapshot *snapshot, size_t device, struct usage_layout *out)
{
    *out = (struct usage_layout){0};
    EACH (segment, snapshot->segments, snapshot->segment_count) {
        if (segment->device != device)
            continue;
        struct usage_sum sum = usage_of_segment(snapshot, segment);
        add_usage_sum(&out->total, &sum);
        add_usage_sum(&pool_of(out, segment)->sum, &sum);
    }
    if (out->pool_count > 1)
        qsort(out->pools, out->pool_count, sizeof *out->pools, by_reserved);
}

void usage_layout_fini(struct usage_layout *layout)
{
    free(layout->pools);
    *layout = (struct usage_layout){0};
}

double usage_fragmentation(const struct usage_sum *sum)
{
    return sum->reserved ? (double)sum->inactive_split / (double)sum->reserved : 0;
}

static void note_point(struct curve *curve, size_t events, size_t event, int64_t time_us,
                       uint64_t allocated, uint64_t reserved)
{
    size_t place =
        events > CURVE_POINTS ? (size_t)((double)event * CURVE_POINTS / (double)events) : event;
    place = place < CURVE_POINTS ? place : CURVE_POINTS - 1;
    struct curve_point *point = &curve->points[place];
    for (; curve->count <= place; curve->count++)
        curve->points[curve->count] = (struct curve_point){
            .event = event, .time_us = time_us, .allocated = allocated, .reserved = reserved};
    if (allocated > point->allocated)
        point->allocated = allocated;
    if (reserved > point->reserved)
        point->reserved = reserved;
    if (allocated > curve->peak_allocated) {
        curve->peak_allocated = allocated;
        curve->peak_event = (uint32_t)event;
    }
    if (reserved > curve->peak_reserved)
        curve->peak_reserved = reserved;
}

/* What is allocated and reserved as the events come. */
struct totals {
    uint64_t allocated, reserved;
};

static struct totals totals_early(const struct snapshot *snapshot, const struct program *program)
{
    struct totals totals = {.reserved = program->early_reserved_bytes};
    EACH (allocation, program->allocations, program->allocation_count)
        if (allocation->born == UINT32_MAX)
            totals.allocated += model_round(&snapshot->settings, allocation->size);
    return totals;
}

static void totals_add(struct totals *totals, const struct snapshot *snapshot,
                       const struct snapshot_event *event)
{
    if (event->action == NAME_ALLOC)
        totals->allocated += model_round(&snapshot->settings, event->size_bytes);
    else if (event->action == NAME_FREE_REQUESTED)
        totals->allocated -= model_round(&snapshot->settings, event->size_bytes);
    else if (event->action == NAME_SEGMENT_ALLOC || event->action == NAME_SEGMENT_MAP)
        totals->reserved += event->size_bytes;
    else if (event->action == NAME_SEGMENT_FREE || event->action == NAME_SEGMENT_UNMAP)
        totals->reserved -= event->size_bytes;
}

static struct usage_oom oom_of(const struct snapshot *snapshot, const struct snapshot_event *event,
                               size_t at, const struct totals *totals, uint64_t peak_reserved)
{
    struct usage_oom oom = {.event = (uint32_t)at,
                            .stack = event->stack,
                            .time_us = event->time_us,
                            .requested_bytes = event->size_bytes,
                            .segment_bytes = model_segment_size(event->size_bytes),
                            .device_free_bytes = event->addr,
                            .reserved_bytes = totals->reserved,
                            .allocated_bytes = totals->allocated};
    oom.by_cap = oom.device_free_bytes >= oom.segment_bytes;
    if (!oom.by_cap) {
        oom.limit_low_bytes = oom.limit_high_bytes = oom.reserved_bytes + oom.device_free_bytes;
        return oom;
    }
    /* Pages of an expandable segment may be mapped beyond a cap, but not a whole one. */
    uint64_t beyond = snapshot->settings.expandable ? UINT64_C(20) << 20 : 0;
    oom.limit_low_bytes = peak_reserved > beyond ? peak_reserved - beyond : 0;
    oom.limit_high_bytes = oom.reserved_bytes + oom.segment_bytes - 1;
    if (oom.limit_low_bytes > oom.limit_high_bytes) /* the cap was lowered meanwhile */
        oom.limit_low_bytes = oom.reserved_bytes > beyond ? oom.reserved_bytes - beyond : 0;
    return oom;
}

struct usage_oom *usage_ooms(const struct snapshot *snapshot, size_t device,
                             const struct program *program, size_t *count)
{
    const struct snapshot_device *trace = &snapshot->devices[device];
    struct totals totals = totals_early(snapshot, program);
    struct usage_oom *ooms = NULL;
    uint64_t peak_reserved = totals.reserved;
    *count = 0;
    for (size_t i = 0; i < trace->count; i++) {
        totals_add(&totals, snapshot, &trace->events[i]);
        if (totals.reserved > peak_reserved)
            peak_reserved = totals.reserved;
        if (trace->events[i].action != NAME_OOM)
            continue;
        MEM_ADD(ooms, *count) = oom_of(snapshot, &trace->events[i], i, &totals, peak_reserved);
    }
    return ooms;
}

void usage_curve(const struct snapshot *snapshot, size_t device, const struct program *program,
                 struct curve *out)
{
    const struct snapshot_device *trace = &snapshot->devices[device];
    struct totals totals = totals_early(snapshot, program);
    *out = (struct curve){0};
    for (size_t i = 0; i < trace->count; i++) {
        totals_add(&totals, snapshot, &trace->events[i]);
        note_point(out, trace->count, i, trace->events[i].time_us, totals.allocated,
                   totals.reserved);
    }
}
