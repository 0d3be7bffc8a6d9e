#include "report/memory_help.h"
#include "base/mem.h"
#include "report/memory_lines.h"

#include <inttypes.h>

/* Kinds of less than this share of the peak are not worth a change. */
enum { SHARE_LEAST_PERCENT = 10 };

/* gain_percent: of what the kind holds at the peak, at most. */
static const struct help_row {
    enum owner_kind kind;
    unsigned gain_percent;
    const char *text;
} rows[] = {
    {OWNER_ACTIVATIONS, 100,
     "activations: checkpointing (torch.utils.checkpoint) recomputes most of them, for about a "
     "third more time; half the batch with gradient accumulation halves them"},
    {OWNER_OPTIMIZER_STATE, 75,
     "optimizer state: in 8 bits (bitsandbytes) instead of 32 it is a quarter"},
    {OWNER_GRADIENTS, 50,
     "gradients: in 16 bits instead of 32, or sharded over two ranks (FSDP, ZeRO-2), they are "
     "half; "
     "zero_grad(set_to_none=True) before the forward pass frees them there"},
    {OWNER_PARAMETERS, 50,
     "parameters: in 16 bits instead of 32, or sharded over two ranks (FSDP, ZeRO-3), they are "
     "half; LoRA needs no gradients and optimizer state of most"},
    {OWNER_TEMPORARY, 100,
     "temporary: they are alive for a moment; a smaller batch, or the work in parts (a chunked or "
     "fused loss), makes them smaller"},
};

static uint64_t gain_of(const struct memory_report *report, const struct help_row *row)
{
    const struct owner_sum *sums = report->peak_sums;
    if (sums[row->kind].bytes < sums[OWNER_KINDS].bytes / 100 * SHARE_LEAST_PERCENT)
        return 0;
    return sums[row->kind].bytes / 100 * row->gain_percent;
}

void memory_help(const struct memory_report *report, struct strv *out)
{
    const size_t count = sizeof rows / sizeof *rows;
    bool done[sizeof rows / sizeof *rows] = {false};
    if (report->growth.grows)
        strv_add_owned(out, mem_strdup("memory grows from step to step: what stays (below) "
                                       "comes first; settings and smaller batches only delay it"));
    while (out->count <= count) {
        const struct help_row *best = NULL;
        for (size_t i = 0; i < count; i++)
            if (!done[i] && gain_of(report, &rows[i]) > 0 &&
                (!best || gain_of(report, &rows[i]) > gain_of(report, best)))
                best = &rows[i];
        if (!best)
            break;
        done[best - rows] = true;
        AUTO_FREE char *gain = memory_size_text(gain_of(report, best));
        strv_add_owned(out, mem_printf("%s (%s at most)", best->text, gain));
    }
    const struct owner_sum *sums = report->peak_sums;
    if (sums[OWNER_EARLY].bytes > sums[OWNER_KINDS].bytes / 100 * SHARE_LEAST_PERCENT)
        strv_add_owned(out, mem_strdup("before record: call _record_memory_history() before the "
                                       "model is built, and it has names as well"));
}

void memory_text_help(const struct memory_report *report, struct text *out)
{
    AUTO(strv_fini) struct strv lines = {0};
    memory_help(report, &lines);
    if (lines.count == 0)
        return;
    text_add(out, "\nWould lower the peak\n");
    EACH (line, lines.items, lines.count) {
        AUTO_FREE char *item = mem_printf("- %s", *line);
        text_wrap(out, item, 2, 78);
    }
}
