/* What the record presumes: a trace is a ring that may begin in the middle of a run, so that
 * segments and allocations lie there already. Which ones is told by what is freed later without
 * having been allocated, and by what is there at the end. */
#include "base/mem.h"
#include "gpu_memory/allocator/free_set.h"
#include "gpu_memory/allocator/model_request.h"
#include "gpu_memory/allocator/program.h"

#include <stdlib.h>

#define SMALL_PAGE (UINT64_C(2) << 20)
/* more is no record of a training: what was mapped is not followed back any further */
#define PAGE_EVENTS_MAX 20000
#define LARGE_PAGE      (UINT64_C(20) << 20)

struct early {
    const struct snapshot *snapshot;
    size_t device;
    struct program *program;
    struct item {
        uint64_t addr, size;
        uint32_t allocation; /* of a block */
        uint16_t stream, pool;
        bool exact;    /* the block's size is known, not rounded from the request */
        uint64_t base; /* of an expandable segment */
        bool small;
    } * segments, *blocks;
    size_t segment_count, block_count;
};

static void find_segments(struct early *early)
{
    const struct snapshot_device *trace = &early->snapshot->devices[early->device];
    struct addr_map made = {0};
    uint32_t unused;
    EACH (event, trace->events, trace->count) {
        if (event->action == NAME_SEGMENT_ALLOC)
            addr_map_set(&made, event->addr, 0);
        else if (event->action == NAME_SEGMENT_FREE && !addr_map_take(&made, event->addr, &unused))
            MEM_ADD(early->segments, early->segment_count) =
                (struct item){.addr = event->addr,
                              .size = event->size_bytes,
                              .stream = event->stream,
                              .small = event->size_bytes == SMALL_PAGE};
    }
    EACH (segment, early->snapshot->segments, early->snapshot->segment_count) {
        if (segment->device == early->device && !segment->expandable &&
            !addr_map_get(&made, segment->addr, &unused))
            MEM_ADD(early->segments, early->segment_count) =
                (struct item){.addr = segment->addr,
                              .size = segment->size_bytes,
                              .stream = segment->stream,
                              .pool = segment->pool_id[0] || segment->pool_id[1],
                              .small = segment->small};
    }
    addr_map_fini(&made);
}

static void cut_pages(struct early *early, uint64_t addr, uint64_t size)
{
    uint64_t end = addr + size;
    size_t count = early->segment_count;
    for (size_t i = 0; i < count; i++) {
        struct item had = early->segments[i];
        if (!had.base || had.addr >= end || had.addr + had.size <= addr)
            continue;
        early->segments[i].size = had.addr < addr ? addr - had.addr : 0;
        if (had.addr + had.size > end) {
            had.size -= end - had.addr;
            had.addr = end;
            MEM_ADD(early->segments, early->segment_count) = had;
        }
    }
}

/* Joined with the range before it and the one behind it, as free blocks do not end where pages were
 * mapped. */
static void add_pages(struct early *early, struct item pages)
{
    EACH (other, early->segments, early->segment_count) {
        if (!other->base || other->size == 0 || other->stream != pages.stream ||
            other->small != pages.small)
            continue;
        if (other->addr + other->size == pages.addr)
            pages.addr = other->addr;
        else if (pages.addr + pages.size != other->addr)
            continue;
        pages.size += other->size;
        other->size = 0;
    }
    MEM_ADD(early->segments, early->segment_count) = pages;
}

static bool is_small_page(const struct snapshot_event *event)
{
    return event->size_bytes % LARGE_PAGE != 0;
}

/* Where the address space of each stream's expandable segments begins, as far as the record
 * tells. */
static void set_bases(struct early *early)
{
    const struct snapshot_device *trace = &early->snapshot->devices[early->device];
    uint64_t *bases = mem_array(early->program->stream_count * 2, sizeof *bases);
    EACH (event, trace->events, trace->count) {
        uint64_t *base = &bases[event->stream * 2 + is_small_page(event)];
        if (event->action == NAME_SEGMENT_MAP && (*base == 0 || event->addr < *base))
            *base = event->addr;
    }
    EACH (segment, early->segments, early->segment_count) {
        uint64_t *base = &bases[segment->stream * 2 + segment->small];
        if (segment->base && segment->size && (*base == 0 || segment->addr < *base))
            *base = segment->addr;
    }
    EACH (item, early->segments, early->segment_count)
        if (item->base)
            item->base = bases[item->stream * 2 + item->small];
    free(bases);
}

/* What was mapped when the record began: what is mapped at its end, less what was mapped in
 * between, with what was unmapped. */
static void find_pages(struct early *early)
{
    const struct snapshot_device *trace = &early->snapshot->devices[early->device];
    size_t changes = 0;
    for (size_t i = 0; i < early->snapshot->segment_count; i++) {
        const struct snapshot_segment *segment = &early->snapshot->segments[i];
        if (segment->device == early->device && segment->expandable && segment->addr)
            add_pages(early, (struct item){.addr = segment->addr,
                                           .size = segment->size_bytes,
                                           .base = segment->addr,
                                           .stream = segment->stream,
                                           .small = segment->small});
    }
    for (size_t i = trace->count; i-- > 0 && changes < PAGE_EVENTS_MAX;) {
        const struct snapshot_event *event = &trace->events[i];
        if ((event->action != NAME_SEGMENT_MAP && event->action != NAME_SEGMENT_UNMAP) ||
            event->addr == 0 || event->size_bytes > UINT64_MAX - event->addr)
            continue;
        if (event->action == NAME_SEGMENT_MAP)
            cut_pages(early, event->addr, event->size_bytes);
        else
            add_pages(early, (struct item){.addr = event->addr,
                                           .size = event->size_bytes,
                                           .base = event->addr,
                                           .stream = event->stream,
                                           .small = is_small_page(event)});
        changes++;
    }
    set_bases(early);
}

/* Those freed in the trace and not allocated there have their allocation already; they know what
 * was requested. */
static void find_freed(struct early *early)
{
    const struct program *program = early->program;
    const struct snapshot_event *events = early->snapshot->devices[early->device].events;
    for (size_t i = 0; i < program->allocation_count; i++) {
        const struct allocation *allocation = &program->allocations[i];
        if (allocation->born == UINT32_MAX && allocation->died != UINT32_MAX)
            MEM_ADD(early->blocks, early->block_count) =
                (struct item){.addr = events[allocation->died].addr,
                              .size = model_round(&early->snapshot->settings, allocation->size),
                              .allocation = (uint32_t)i};
    }
}

static void add_untraced_allocations(struct early *early, const struct addr_map *live)
{
    struct program *program = early->program;
    const struct snapshot *snapshot = early->snapshot;
    uint32_t unused;
    EACH (segment, snapshot->segments, snapshot->segment_count) {
        for (size_t b = 0; segment->device == early->device && b < segment->block_count; b++) {
            const struct snapshot_block *block = &snapshot->blocks[segment->first_block + b];
            if (block->state == BLOCK_INACTIVE || addr_map_get(live, block->addr, &unused))
                continue;
            MEM_ADD(program->allocations, program->allocation_count) =
                (struct allocation){.size = block->requested_bytes,
                                    .born = UINT32_MAX,
                                    .died = UINT32_MAX,
                                    .stack = block->stack,
                                    .stream = segment->stream};
            MEM_ADD(early->blocks, early->block_count) =
                (struct item){.addr = block->addr,
                              .size = block->size_bytes,
                              .allocation = (uint32_t)program->allocation_count - 1,
                              .exact = true};
        }
    }
}

static int compare_item_addrs(const void *a, const void *b)
{
    const struct item *one = a, *two = b;
    return ORDER(one->addr, two->addr);
}

static void add_early_piece(struct program *program, uint64_t size, uint32_t allocation)
{
    if (size == 0)
        return;
    struct early_piece piece = {.piece = {.size = size}, .allocation = allocation};
    if (allocation != UINT32_MAX) {
        piece.piece.allocated = !program->allocations[allocation].awaited;
        piece.piece.pending = program->allocations[allocation].awaited;
        piece.piece.requested = program->allocations[allocation].size;
    }
    MEM_ADD(program->pieces, program->piece_count) = piece;
}

/* Lays the blocks from *at on into the segment; what is between them is free. A rest that is too
 * small to have been split off belongs to its block. */
static void lay_out(struct early *early, const struct item *segment, size_t *at)
{
    struct program *program = early->program;
    uint64_t rest_min = segment->small || segment->base ? 512 : (UINT64_C(1) << 20) + 1,
             end = segment->addr + segment->size;
    struct early_segment made = {.addr = segment->addr,
                                 .first_piece = program->piece_count,
                                 .stream = segment->stream,
                                 .pool = segment->pool,
                                 .base = segment->base,
                                 .small = segment->small};
    uint64_t filled = segment->addr;
    for (; *at < early->block_count && early->blocks[*at].addr < end; ++*at) {
        const struct item *block = &early->blocks[*at];
        uint64_t next = *at + 1 < early->block_count && block[1].addr < end ? block[1].addr : end;
        if (block->addr < filled || next <= block->addr) {
            program->lost++;
            continue;
        }
        uint64_t size = block->size < next - block->addr ? block->size : next - block->addr;
        if (!block->exact && next - block->addr - size < rest_min)
            size = next - block->addr;
        add_early_piece(program, block->addr - filled, UINT32_MAX);
        add_early_piece(program, size, block->allocation);
        filled = block->addr + size;
    }
    add_early_piece(program, end - filled, UINT32_MAX);
    made.piece_count = program->piece_count - made.first_piece;
    MEM_ADD(program->early, program->early_count) = made;
}

void program_find_early(const struct snapshot *snapshot, size_t device, struct program *program,
                        const struct addr_map *live)
{
    struct early early = {.snapshot = snapshot, .device = device, .program = program};
    find_segments(&early);
    find_pages(&early);
    find_freed(&early);
    add_untraced_allocations(&early, live);
    if (early.segment_count > 0)
        qsort(early.segments, early.segment_count, sizeof *early.segments, compare_item_addrs);
    if (early.block_count > 0)
        qsort(early.blocks, early.block_count, sizeof *early.blocks, compare_item_addrs);
    size_t at = 0;
    for (size_t i = 0; i < early.segment_count; i++) {
        const struct item *segment = &early.segments[i];
        bool overlaps =
            i > 0 && segment->addr - early.segments[i - 1].addr < early.segments[i - 1].size;
        for (; at < early.block_count && early.blocks[at].addr < segment->addr; at++)
            program->lost++;
        if (!overlaps && segment->size > 0 && segment->size <= UINT64_MAX - segment->addr)
            lay_out(&early, segment, &at);
    }
    program->lost += early.block_count - at;
    free(early.segments);
    free(early.blocks);
}
