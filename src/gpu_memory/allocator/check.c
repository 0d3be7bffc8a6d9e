#include "gpu_memory/allocator/check.h"
#include "gpu_memory/allocator/model_release.h"
#include "gpu_memory/allocator/model_request.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct checking {
    const struct snapshot_event *events;
    size_t count, at; /* at: the next one to come */
    const struct program *program;
    struct model *model;
    uint32_t *blocks; /* by allocation */
    uint64_t limit_bytes;
    size_t op;
    bool failed;
    struct check *out;
};

static void pass_over(struct checking *checking)
{
    while (checking->at < checking->count &&
           (checking->events[checking->at].action == NAME_UNKNOWN ||
            checking->events[checking->at].action == NAME_SNAPSHOT))
        checking->at++;
}

static const struct snapshot_event *next_recorded_event(struct checking *checking)
{
    pass_over(checking);
    return checking->at < checking->count ? &checking->events[checking->at] : NULL;
}

static void record_difference(struct checking *checking, enum name action, uint64_t addr,
                              uint64_t size)
{
    const struct snapshot_event *event = next_recorded_event(checking);
    struct check *out = checking->out;
    if (checking->failed)
        return;
    checking->failed = true;
    out->differs_at = checking->at;
    int used = snprintf(out->difference, sizeof out->difference,
                        "the model gives %s of %" PRIu64 " bytes at 0x%" PRIx64,
                        pickle_name_text(action), size, addr);
    if (used < 0 || (size_t)used >= sizeof out->difference)
        return;
    if (event)
        snprintf(out->difference + used, sizeof out->difference - (size_t)used,
                 ", the record has %s of %" PRIu64 " bytes at 0x%" PRIx64,
                 pickle_name_text(event->action), event->size_bytes, event->addr);
    else
        snprintf(out->difference + used, sizeof out->difference - (size_t)used,
                 ", and the record ends");
}

/* Compares an event of the model with the next one of the record. */
static void compare_with_record(void *context, enum name action, uint64_t addr, uint64_t size,
                                uint16_t stream)
{
    struct checking *checking = context;
    const struct snapshot_event *event = next_recorded_event(checking);
    if (checking->failed)
        return;
    /* An oom's addr is what the device had free. */
    if (!event || event->action != action || event->size_bytes != size || event->stream != stream ||
        (action != NAME_OOM && event->addr != addr)) {
        record_difference(checking, action, addr, size);
        return;
    }
    checking->at++;
    checking->out->events++;
}

/* Plays the recorded device: returns the recorded address if it gave one here, else refuses. */
static bool give_recorded_address(struct checking *checking, enum name action, uint64_t *addr)
{
    const struct snapshot_event *event = next_recorded_event(checking);
    if (!event || event->action != action)
        return false;
    *addr = event->addr;
    return true;
}

static bool recorded_take(void *context, uint64_t size, uint64_t *addr)
{
    (void)size;
    return give_recorded_address(context, NAME_SEGMENT_ALLOC, addr);
}

static bool recorded_reserve(void *context, uint64_t size, uint64_t *addr)
{
    (void)size;
    return give_recorded_address(context, NAME_SEGMENT_MAP, addr);
}

static bool recorded_grow(void *context)
{
    return give_recorded_address(context, NAME_SEGMENT_MAP, &(uint64_t){0});
}

static void recorded_give(void *context, uint64_t addr, uint64_t size)
{
    (void)context, (void)addr, (void)size;
}

static bool is_segment_event(enum name action)
{
    return action == NAME_SEGMENT_ALLOC || action == NAME_SEGMENT_FREE ||
           action == NAME_SEGMENT_MAP || action == NAME_SEGMENT_UNMAP;
}

/* The request, if any, that the segment events from here on may stem from: the op it is. */
static const struct op *driving_request(struct checking *checking)
{
    size_t at = checking->at;
    while (at < checking->count && (is_segment_event(checking->events[at].action) ||
                                    checking->events[at].action == NAME_FREE_COMPLETED ||
                                    checking->events[at].action == NAME_UNKNOWN ||
                                    checking->events[at].action == NAME_SNAPSHOT))
        at++;
    for (size_t op = checking->op; op < checking->program->op_count; op++) {
        const struct op *found = &checking->program->ops[op];
        if (found->event == at && (found->kind == OP_ALLOC || found->kind == OP_OOM))
            return found;
        if (found->event >= at || found->kind != OP_COMPLETE)
            return NULL;
    }
    return NULL;
}

static void empty_cache(struct checking *checking)
{
    struct check *out = checking->out;
    MEM_ADD(out->empty_caches, out->empty_cache_count) = checking->op;
    model_empty_cache(checking->model);
}

/* Segment events come before the request that needed them; those that none needed are an emptied
 * cache. */
static void find_empty_cache(struct checking *checking)
{
    const struct snapshot_event *event = next_recorded_event(checking);
    if (!event || (event->action != NAME_SEGMENT_FREE && event->action != NAME_SEGMENT_UNMAP))
        return;
    const struct op *request = driving_request(checking);
    if (!request || !model_would_release(checking->model, request->pool, request->size,
                                         request->stream, checking->limit_bytes))
        empty_cache(checking);
}

static void run_checked_op(struct checking *checking, const struct op *op)
{
    bool done = program_run_op(checking->model, op, &checking->blocks[op->allocation]);
    if (!done && (op->kind == OP_FREE || op->kind == OP_FREE_LATER))
        record_difference(checking, NAME_FREE_REQUESTED, 0, 0);
}

static void replay_against_record(struct checking *checking)
{
    for (; checking->op < checking->program->op_count && !checking->failed; checking->op++) {
        const struct op *op = &checking->program->ops[checking->op];
        const struct snapshot_event *event = next_recorded_event(checking);
        /* Completed already by a release that waited for the streams. */
        if (op->kind == OP_COMPLETE && checking->at > op->event)
            continue;
        if (event && is_segment_event(event->action))
            find_empty_cache(checking);
        if (!checking->failed)
            run_checked_op(checking, op);
    }
    if (!checking->failed)
        find_empty_cache(checking);
    if (!checking->failed && next_recorded_event(checking))
        record_difference(checking, NAME_UNKNOWN, 0, 0);
}

static int compare_block_addrs(const void *a, const void *b)
{
    const struct model_block *one = *(const struct model_block *const *)a,
                             *two = *(const struct model_block *const *)b;
    return ORDER(one->addr, two->addr);
}

static const struct model_block **mapped_blocks(const struct model *model, size_t *count)
{
    const struct model_block **found = NULL;
    uint32_t at = 0, block;
    *count = 0;
    while (model_next_block(model, &at, &block)) {
        if (!model_block(model, block)->mapped)
            continue;
        MEM_ADD(found, *count) = model_block(model, block);
    }
    if (*count > 0)
        qsort(found, *count, sizeof *found, compare_block_addrs);
    return found;
}

static bool same_block(const struct model *model, const struct model_block *block,
                       const struct snapshot_block *said, bool first)
{
    bool head = block->prev == MODEL_NONE || !model_block(model, block->prev)->mapped;
    enum block_state state = block->allocated ? BLOCK_ALLOCATED
                             : block->pending ? BLOCK_PENDING
                                              : BLOCK_INACTIVE;
    return block->addr == said->addr && block->size == said->size_bytes && state == said->state &&
           head == first && (state == BLOCK_INACTIVE || block->requested == said->requested_bytes);
}

static void layout_differs(struct checking *checking, const struct snapshot_block *said)
{
    checking->failed = true;
    checking->out->differs_at = checking->count;
    snprintf(checking->out->difference, sizeof checking->out->difference,
             "every event is as recorded, but at the end the block at 0x%" PRIx64 " (%" PRIu64
             " bytes) is not as the model has it",
             said->addr, said->size_bytes);
}

/* Segments, blocks and their states at the end. */
static void compare_layout(struct checking *checking, const struct snapshot *snapshot,
                           size_t device)
{
    size_t count, at = 0;
    const struct model_block **blocks = mapped_blocks(checking->model, &count);
    for (size_t s = 0; s < snapshot->segment_count && !checking->failed; s++) {
        const struct snapshot_segment *segment = &snapshot->segments[s];
        for (size_t b = 0;
             segment->device == device && b < segment->block_count && !checking->failed;
             b++, at++) {
            const struct snapshot_block *said = &snapshot->blocks[segment->first_block + b];
            if (at >= count || !same_block(checking->model, blocks[at], said, b == 0))
                layout_differs(checking, said);
        }
    }
    if (!checking->failed && at < count)
        layout_differs(checking, &(struct snapshot_block){.addr = blocks[at]->addr,
                                                          .size_bytes = blocks[at]->size});
    free(blocks);
}

void check_run(const struct snapshot *snapshot, size_t device, const struct program *program,
               uint64_t cap_bytes, uint64_t total_bytes, struct check *out)
{
    *out = (struct check){0};
    struct checking checking = {
        .events = snapshot->devices[device].events,
        .count = snapshot->devices[device].count,
        .program = program,
        .limit_bytes = cap_bytes != MODEL_NO_CAP ? cap_bytes : program->peak_reserved_bytes,
        .out = out};
    struct model_options options = {.settings = snapshot->settings,
                                    .cap_bytes = cap_bytes,
                                    .driver = {.take = recorded_take,
                                               .give = recorded_give,
                                               .reserve = recorded_reserve,
                                               .grow = recorded_grow,
                                               .context = &checking},
                                    .listener = compare_with_record,
                                    .listener_context = &checking};
    checking.model = program_model(program, options, total_bytes, &checking.blocks);
    replay_against_record(&checking);
    if (!checking.failed)
        compare_layout(&checking, snapshot, device);
    out->exact = !checking.failed;
    out->complete =
        program->early_count == 0 && program->lost == 0 && program->early_reserved_bytes == 0;
    out->stats = *model_stats(checking.model);
    model_free(checking.model);
    free(checking.blocks);
}

void check_fini(struct check *check)
{
    free(check->empty_caches);
    *check = (struct check){0};
}
