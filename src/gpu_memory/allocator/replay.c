#include "gpu_memory/allocator/replay.h"
#include "gpu_memory/allocator/driver.h"
#include "gpu_memory/allocator/model_request.h"

#include "base/mem.h"

#include <stdlib.h>

struct replaying {
    const struct program *program;
    const struct alloc_settings *settings;
    struct model *model;
    uint32_t *blocks; /* by allocation */
    struct replay *out;
    bool over;
};

/* A library's workspace is asked for right before the work and given back right after it: nothing
 * happens in between. */
static bool is_survivable(const struct program *program, const struct op *op)
{
    const struct allocation *allocation = &program->allocations[op->allocation];
    return allocation->born != UINT32_MAX && allocation->died == allocation->born + 1;
}

static void record_refusal(struct replaying *replaying, const struct op *op)
{
    struct replay *out = replaying->out;
    struct replay_refusal refusal = {
        .event = op->event,
        .size_bytes = op->size,
        .segment_bytes = model_segment_size(model_round(replaying->settings, op->size)),
        .stream = op->stream};
    if (op->kind == OP_ALLOC) {
        refusal.stack = replaying->program->allocations[op->allocation].stack;
        refusal.survivable = is_survivable(replaying->program, op);
    }
    if (out->refusals == 0 || !refusal.survivable)
        out->refusal = refusal;
    if (refusal.survivable)
        out->outcome = REPLAY_SURVIVES;
    /* it went another way since */
    else
        out->outcome = out->refusals > 0 ? REPLAY_UNCERTAIN : REPLAY_FAILS;
    replaying->over = !refusal.survivable;
    out->refusals++;
}

static void replay_op(struct replaying *replaying, const struct op *op)
{
    bool done = program_run_op(replaying->model, op, &replaying->blocks[op->allocation]);
    if (!done && (op->kind == OP_ALLOC || op->kind == OP_OOM))
        record_refusal(replaying, op);
    else if (op->kind == OP_OOM)
        replaying->out->beyond = true;
}

void replay_run(const struct snapshot *snapshot, size_t device, const struct program *program,
                const struct alloc_settings *settings, uint64_t cap_bytes, uint64_t total_bytes,
                enum driver_kind kind, struct replay *out)
{
    *out = (struct replay){0};
    struct driver *driver =
        driver_new(kind, snapshot->devices[device].events, snapshot->devices[device].count);
    struct replaying replaying = {.program = program, .settings = settings, .out = out};
    struct model_options options = {
        .settings = *settings, .cap_bytes = cap_bytes, .driver = driver_vtable(driver)};
    replaying.model = program_model(program, options, total_bytes, &replaying.blocks);
    for (size_t i = 0; i < program->op_count && !replaying.over; i++)
        replay_op(&replaying, &program->ops[i]);
    out->stats = *model_stats(replaying.model);
    out->peak_low_bytes = out->peak_high_bytes = out->stats.reserved.peak;
    model_free(replaying.model);
    driver_free(driver);
    free(replaying.blocks);
}

void replay_predict(const struct snapshot *snapshot, size_t device, const struct program *program,
                    const struct alloc_settings *settings, uint64_t cap_bytes, uint64_t total_bytes,
                    struct replay *out)
{
    replay_run(snapshot, device, program, settings, cap_bytes, total_bytes, DRIVER_CHUNKS, out);
    for (int kind = DRIVER_CHUNKS + 1; kind < DRIVER_KINDS; kind++) {
        struct replay other;
        replay_run(snapshot, device, program, settings, cap_bytes, total_bytes,
                   (enum driver_kind)kind, &other);
        if ((other.outcome == REPLAY_FAILS) != (out->outcome == REPLAY_FAILS) &&
            out->outcome != REPLAY_UNCERTAIN) {
            if (out->refusals == 0)
                out->refusal = other.refusal;
            out->outcome = REPLAY_UNCERTAIN;
        } else if (out->outcome == REPLAY_FITS && other.outcome == REPLAY_SURVIVES) {
            out->refusal = other.refusal;
            out->outcome = REPLAY_SURVIVES;
        }
        if (other.stats.reserved.peak < out->peak_low_bytes)
            out->peak_low_bytes = other.stats.reserved.peak;
        if (other.stats.reserved.peak > out->peak_high_bytes)
            out->peak_high_bytes = other.stats.reserved.peak;
    }
}

const char *replay_outcome_text(enum replay_outcome outcome)
{
    static const char *const texts[] = {"fits", "survives", "uncertain", "fails"};
    return texts[outcome];
}
