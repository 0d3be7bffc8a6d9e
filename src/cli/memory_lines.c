/* Pieces of text that the terminal, JSON and the page share. */
#include "base/mem.h"
#include "cli/memory.h"

#include <inttypes.h>
#include <string.h>

char *memory_size_text(uint64_t bytes)
{
    double kib = (double)bytes / 1024;
    if (bytes < 1024)
        return mem_printf("%" PRIu64 " B", bytes);
    if (kib < 1023.95)
        return mem_printf("%.1f KiB", kib);
    if (kib / 1024 < 1023.95)
        return mem_printf("%.1f MiB", kib / 1024);
    return mem_printf("%.2f GiB", kib / 1024 / 1024);
}

char *memory_conf_text(const struct alloc_settings *settings)
{
    struct text text = {0};
    conf_text(settings, &text);
    if (text.length == 0)
        text_add(&text, "default");
    return text_take(&text);
}

static bool is_of_torch(const char *file)
{
    return strstr(file, "/torch/") || strstr(file, "/c10/") || strstr(file, "/aten/") || strstr(file, "??") ||
           *file == '\0';
}

char *memory_stack_text(const struct snapshot *snapshot, uint32_t at)
{
    if (at == 0 || at >= snapshot->stack_count || snapshot->stacks[at].frame_count == 0)
        return NULL;
    const struct snapshot_stack *stack = &snapshot->stacks[at];
    const struct snapshot_frame *frame = &snapshot->frames[stack->first_frame];
    for (size_t i = 0; i < stack->frame_count; i++)
        if (!is_of_torch(frame[i].file)) {
            frame += i;
            break;
        }
    const char *name = strrchr(frame->file, '/');
    return mem_printf("%s (%s:%" PRId64 ")", frame->function, name ? name + 1 : frame->file, frame->line);
}

static const char *why_not(enum replay_outcome outcome, bool survivable)
{
    switch (outcome) {
    case REPLAY_SURVIVES:
        return "given back at once: most likely a workspace that cuDNN does without";
    case REPLAY_UNCERTAIN:
        return survivable ? "hangs on where the driver puts segments"
                          : "hangs on where the driver puts segments, or on what was refused before";
    default:
        return "nothing was left to give back";
    }
}

char *memory_outcome_text(const struct memory_try *try)
{
    const struct replay *replay = &try->replay;
    const struct replay_refusal *refusal = &replay->refusal;
    if (replay->outcome == REPLAY_FITS)
        return mem_strdup(replay->beyond ? "fits as far as the record goes: where it ran out, it goes on" : "fits");
    static const char *const heads[] = {[REPLAY_SURVIVES] = "fits if refusals are survived",
                                        [REPLAY_UNCERTAIN] = "uncertain",
                                        [REPLAY_FAILS] = "out of memory"};
    AUTO_FREE char *size = memory_size_text(refusal->size_bytes), *segment = memory_size_text(refusal->segment_bytes);
    AUTO_FREE char *more = replay->outcome == REPLAY_SURVIVES && replay->refusals > 1
                               ? mem_printf(", the first of %zu", replay->refusals)
                               : mem_strdup("");
    return mem_printf("%s: event %" PRIu32 " asks for %s (a segment of %s)%s; %s", heads[replay->outcome],
                      refusal->event, size, segment, more, why_not(replay->outcome, refusal->survivable));
}

char *memory_check_text(const struct memory_report *report)
{
    const struct check *check = &report->check;
    const char *ring = check->complete ? "" : "; it began before the record, what lay there then is inferred";
    if (check->exact)
        return mem_printf("exact: replaying the record gives all %zu events, every address and the layout at the "
                          "end%s%s",
                          check->events, check->empty_cache_count ? "; emptied caches were inferred" : "", ring);
    return mem_printf("NOT exact: %s (event %zu)%s. Predictions are estimates%s", check->difference, check->differs_at,
                      ring,
                      report->question->recorded_cap_bytes == MODEL_NO_CAP
                          ? "; if the training ran under a cap, say so with --recorded-cap"
                          : "");
}

#define CURVE_COLUMNS 64
#define CURVE_ROWS    8

static const char *cell(uint64_t level_low, uint64_t level_high, uint64_t allocated, uint64_t reserved)
{
    uint64_t middle = level_low + (level_high - level_low) / 2;
    return allocated >= middle && allocated > 0 ? "█" : reserved >= middle && reserved > 0 ? "░" : " ";
}

void memory_add_curve(const struct curve *curve, struct text *out)
{
    uint64_t allocated[CURVE_COLUMNS] = {0}, reserved[CURVE_COLUMNS] = {0};
    uint64_t top = curve->peak_reserved > curve->peak_allocated ? curve->peak_reserved : curve->peak_allocated;
    for (size_t i = 0; i < CURVE_COLUMNS && curve->count > 0; i++) {
        size_t from = i * curve->count / CURVE_COLUMNS, end = (i + 1) * curve->count / CURVE_COLUMNS;
        for (size_t p = from; p < end || p == from; p++) {
            allocated[i] = curve->points[p].allocated > allocated[i] ? curve->points[p].allocated : allocated[i];
            reserved[i] = curve->points[p].reserved > reserved[i] ? curve->points[p].reserved : reserved[i];
        }
    }
    for (uint64_t row = CURVE_ROWS; row-- > 0;) {
        AUTO_FREE char *size = memory_size_text(top / CURVE_ROWS * (row + 1));
        text_addf(out, "%12s ┤", row % 2 ? size : "");
        for (size_t i = 0; i < CURVE_COLUMNS; i++)
            text_add(out, cell(top / CURVE_ROWS * row, top / CURVE_ROWS * (row + 1), allocated[i], reserved[i]));
        while (out->length > 0 && out->data[out->length - 1] == ' ')
            out->data[--out->length] = '\0';
        text_add_char(out, '\n');
    }
}
