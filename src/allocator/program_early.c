/* What the record presumes: a trace is a ring that may begin in the middle of a run, so that segments and allocations
 * lie there already. Which ones is told by what is freed later without having been allocated, and by what is there at
 * the end. */
#include "allocator/addr_map.h"
#include "allocator/program.h"
#include "base/mem.h"

#include <stdlib.h>

struct early {
    const struct snapshot *snapshot;
    size_t device;
    struct program *program;
    struct item {
        uint64_t addr, size;
        uint32_t allocation; /* of a block */
        uint16_t stream, pool;
        bool exact; /* the block's size is known, not rounded from the request */
    } * segments, *blocks;
    size_t segment_count, segment_capacity, block_count, block_capacity;
};

static void add_item(struct item **items, size_t *count, size_t *capacity, struct item item)
{
    *items = mem_room(*items, *count, capacity, sizeof item);
    (*items)[(*count)++] = item;
}

static void find_segments(struct early *early)
{
    const struct snapshot_device *trace = &early->snapshot->devices[early->device];
    struct addr_map made = {0};
    uint32_t unused;
    for (size_t i = 0; i < trace->count; i++) {
        const struct snapshot_event *event = &trace->events[i];
        if (event->action == NAME_SEGMENT_ALLOC)
            addr_map_set(&made, event->addr, 0);
        else if (event->action == NAME_SEGMENT_FREE && !addr_map_take(&made, event->addr, &unused))
            add_item(&early->segments, &early->segment_count, &early->segment_capacity,
                     (struct item){.addr = event->addr, .size = event->size_bytes, .stream = event->stream});
    }
    for (size_t i = 0; i < early->snapshot->segment_count; i++) {
        const struct snapshot_segment *segment = &early->snapshot->segments[i];
        if (segment->device == early->device && !segment->expandable && !addr_map_get(&made, segment->addr, &unused))
            add_item(&early->segments, &early->segment_count, &early->segment_capacity,
                     (struct item){.addr = segment->addr,
                                   .size = segment->size_bytes,
                                   .stream = segment->stream,
                                   .pool = segment->pool_id[0] || segment->pool_id[1]});
    }
    addr_map_fini(&made);
}

/* Those freed in the trace and not allocated there have their allocation already; they know what was requested. */
static void find_freed(struct early *early)
{
    const struct program *program = early->program;
    const struct snapshot_event *events = early->snapshot->devices[early->device].events;
    for (size_t i = 0; i < program->allocation_count; i++) {
        const struct allocation *allocation = &program->allocations[i];
        if (allocation->born == UINT32_MAX && allocation->died != UINT32_MAX)
            add_item(&early->blocks, &early->block_count, &early->block_capacity,
                     (struct item){.addr = events[allocation->died].addr,
                                   .size = model_round(&early->snapshot->settings, allocation->size),
                                   .allocation = (uint32_t)i});
    }
}

static void find_kept(struct early *early, const struct addr_map *live)
{
    struct program *program = early->program;
    const struct snapshot *snapshot = early->snapshot;
    uint32_t unused;
    for (size_t s = 0; s < snapshot->segment_count; s++) {
        const struct snapshot_segment *segment = &snapshot->segments[s];
        for (size_t b = 0; segment->device == early->device && b < segment->block_count; b++) {
            const struct snapshot_block *block = &snapshot->blocks[segment->first_block + b];
            if (block->state == BLOCK_INACTIVE || addr_map_get(live, block->addr, &unused))
                continue;
            program->allocations = mem_room(program->allocations, program->allocation_count,
                                            &program->allocation_capacity, sizeof *program->allocations);
            program->allocations[program->allocation_count] = (struct allocation){.size = block->requested_bytes,
                                                                                  .born = UINT32_MAX,
                                                                                  .died = UINT32_MAX,
                                                                                  .stack = block->stack,
                                                                                  .stream = segment->stream};
            add_item(&early->blocks, &early->block_count, &early->block_capacity,
                     (struct item){.addr = block->addr,
                                   .size = block->size_bytes,
                                   .allocation = (uint32_t)program->allocation_count++,
                                   .exact = true});
        }
    }
}

static int by_addr(const void *a, const void *b)
{
    const struct item *one = a, *two = b;
    return one->addr < two->addr ? -1 : one->addr > two->addr;
}

static void add_piece(struct program *program, uint64_t size, uint32_t allocation)
{
    if (size == 0)
        return;
    struct early_piece piece = {.piece = {.size = size}, .allocation = allocation};
    if (allocation != UINT32_MAX) {
        piece.piece.allocated = true;
        piece.piece.requested = program->allocations[allocation].size;
    }
    program->pieces = mem_room(program->pieces, program->piece_count, &program->piece_capacity, sizeof piece);
    program->pieces[program->piece_count++] = piece;
}

/* Lays the blocks from *at on into the segment; what is between them is free. A rest that is too small to have been
 * split off belongs to its block. */
static void lay_out(struct early *early, const struct item *segment, size_t *at)
{
    struct program *program = early->program;
    bool small = segment->size == UINT64_C(2) << 20;
    uint64_t rest_min = small ? 512 : (UINT64_C(1) << 20) + 1, end = segment->addr + segment->size;
    struct early_segment made = {.addr = segment->addr,
                                 .first_piece = program->piece_count,
                                 .stream = segment->stream,
                                 .pool = segment->pool,
                                 .small = small};
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
        add_piece(program, block->addr - filled, UINT32_MAX);
        add_piece(program, size, block->allocation);
        filled = block->addr + size;
    }
    add_piece(program, end - filled, UINT32_MAX);
    made.piece_count = program->piece_count - made.first_piece;
    program->early = mem_room(program->early, program->early_count, &program->early_capacity, sizeof made);
    program->early[program->early_count++] = made;
}

void program_find_early(const struct snapshot *snapshot, size_t device, struct program *program,
                        const struct addr_map *live)
{
    struct early early = {.snapshot = snapshot, .device = device, .program = program};
    find_segments(&early);
    find_freed(&early);
    find_kept(&early, live);
    if (early.segment_count > 0)
        qsort(early.segments, early.segment_count, sizeof *early.segments, by_addr);
    if (early.block_count > 0)
        qsort(early.blocks, early.block_count, sizeof *early.blocks, by_addr);
    size_t at = 0;
    for (size_t i = 0; i < early.segment_count; i++) {
        const struct item *segment = &early.segments[i];
        bool overlaps = i > 0 && segment->addr - early.segments[i - 1].addr < early.segments[i - 1].size;
        for (; at < early.block_count && early.blocks[at].addr < segment->addr; at++)
            program->lost++;
        if (!overlaps && segment->size > 0 && segment->size <= UINT64_MAX - segment->addr)
            lay_out(&early, segment, &at);
    }
    program->lost += early.block_count - at;
    free(early.segments);
    free(early.blocks);
}
