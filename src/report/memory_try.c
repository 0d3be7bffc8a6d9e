/* What other settings would have come to, and which are worth it. */
#include "base/mem.h"
#include "report/memory.h"
#include "report/table.h"

#include <inttypes.h>
#include <string.h>

#define SHOWN_CONF 40

static char *short_text(const char *text, size_t columns)
{
    return strlen(text) <= columns ? mem_strdup(text) : mem_printf("%.*s...", (int)columns - 3, text);
}

static char *try_name(const struct memory_try *try)
{
    AUTO_FREE char *conf = memory_conf_text(&try->settings);
    AUTO_FREE char *name = try->conf ? mem_strdup(try->conf) : mem_printf("as recorded (%s)", conf);
    return short_text(*name ? name : "default", SHOWN_CONF);
}

static void add_tries_table(const struct memory_report *report, struct text *out)
{
    struct table *table = table_of(false, "SETTING", ">PEAK", ">RETRIES", "OUTCOME");
    for (size_t i = 0; i < report->try_count; i++) {
        const struct replay *replay = &report->tries[i].replay;
        table_row(table, try_name(&report->tries[i]), memory_size_text(replay->stats.reserved.peak),
                  mem_printf("%" PRIu64, replay->stats.retries), mem_strdup(replay_outcome_text(replay->outcome)));
    }
    table_end(table, out);
}

/* What the table has no room for. */
static void add_notes(const struct memory_report *report, struct text *out)
{
    for (size_t i = 0; i < report->try_count; i++) {
        const struct memory_try *try = &report->tries[i];
        const struct replay *replay = &try->replay;
        AUTO_FREE char *name = try_name(try);
        if (replay->outcome != REPLAY_FITS || replay->beyond) {
            AUTO_FREE char *outcome = memory_outcome_text(try);
            AUTO_FREE char *stack = memory_stack_text(report->snapshot, replay->refusal.stack, 0);
            AUTO_FREE char *line = mem_printf("%s: %s%s%s", name, outcome, stack ? "; from " : "", stack ? stack : "");
            text_wrap(out, line, 2, 78);
        }
        if (replay->outcome != REPLAY_FAILS && replay->peak_low_bytes != replay->peak_high_bytes) {
            AUTO_FREE char *low = memory_size_text(replay->peak_low_bytes),
                           *high = memory_size_text(replay->peak_high_bytes);
            AUTO_FREE char *line =
                mem_printf("%s: the peak is between %s and %s, by where the driver puts segments", name, low, high);
            text_wrap(out, line, 2, 78);
        }
        if (try->settings.gc_threshold > 0 && try->cap_bytes == MODEL_NO_CAP) {
            AUTO_FREE char *line = mem_printf("%s: garbage is collected only under a cap (--cap)", name);
            text_wrap(out, line, 2, 78);
        }
    }
}

void memory_text_tries(const struct memory_report *report, struct text *out)
{
    if (report->try_count == 0)
        return;
    AUTO_FREE char *cap = memory_size_text(report->question->cap_bytes);
    if (report->question->cap_bytes == MODEL_NO_CAP)
        text_add(out, "\nWhat if\n");
    else
        text_addf(out, "\nWhat if, with at most %s for PyTorch\n", cap);
    add_tries_table(report, out);
    add_notes(report, out);
}

static void add_advice_table(const struct memory_report *report, struct text *out)
{
    struct table *table = table_of(false, "SETTING", ">NEEDS", ">RETRIES", ">UNBOUNDED", ">GPU");
    for (size_t i = 0; i < report->recommendation.count; i++) {
        const struct advice *advice = &report->recommendation.advices[i];
        const struct gpu_size *gpu = gpu_size_for(advice->least_bytes);
        AUTO_FREE char *conf = memory_conf_text(&advice->settings);
        AUTO_FREE char *name = short_text(conf, SHOWN_CONF - 4);
        table_row(table, mem_printf("%s%s", name, advice->recorded ? " *" : ""), memory_size_text(advice->least_bytes),
                  mem_printf("%" PRIu64, advice->retries), memory_size_text(advice->free_run.stats.reserved.peak),
                  gpu ? mem_printf("%u GB%s", gpu->gib, report->oom_count > 0 ? "+" : "") : mem_strdup("none"));
    }
    table_end(table, out);
}

/* The first that is no garbage collection: that works only where the program bounds itself. */
static const struct advice *best_advice(const struct recommendation *recommendation)
{
    for (size_t i = 0; i < recommendation->count; i++)
        if (recommendation->advices[i].settings.gc_threshold <= 0)
            return &recommendation->advices[i];
    return NULL;
}

static const struct advice *recorded_advice(const struct recommendation *recommendation)
{
    for (size_t i = 0; i < recommendation->count; i++)
        if (recommendation->advices[i].recorded)
            return &recommendation->advices[i];
    return NULL;
}

/* Where memory ran out, what is enough for the record is not enough for the training: that run failed with as much. */
static void add_verdict(const struct memory_report *report, struct text *out)
{
    const struct advice *best = best_advice(&report->recommendation), *now = recorded_advice(&report->recommendation);
    if (!best || !now)
        return;
    const struct gpu_size *gpu = gpu_size_for(best->least_bytes);
    AUTO_FREE char *beyond = memory_beyond_text(report), *conf = memory_conf_text(&best->settings);
    AUTO_FREE char *need = memory_size_text(best->least_bytes), *had = memory_size_text(now->least_bytes);
    bool keep = best == now || best->least_bytes + best->step_bytes >= now->least_bytes;
    AUTO_FREE char *line =
        keep     ? mem_printf("%s needs noticeably less than its %s.",
                          beyond ? "Up to there no setting" : "Keep the setting: none", had)
        : beyond ? mem_printf("Up to there PYTORCH_CUDA_ALLOC_CONF=%s needs %s, and it needs %s as it is set now.",
                              conf, need, had)
                 : mem_printf("Set PYTORCH_CUDA_ALLOC_CONF=%s: it fits in %s, and needs %s as it is set now.", conf,
                              need, had);
    if (beyond)
        text_wrap(out, beyond, 2, 78);
    text_wrap(out, line, 2, 78);
    if (beyond)
        return;
    AUTO_FREE char *size =
        gpu ? mem_printf("The smallest GPU that it fits on: %u GB (such as %s).", gpu->gib, gpu->examples)
            : mem_strdup("No single GPU is large enough.");
    text_wrap(out, size, 2, 78);
}

void memory_text_advice(const struct memory_report *report, struct text *out)
{
    if (report->recommendation.count == 0)
        return;
    text_add(out, "\nRecommended\n");
    add_verdict(report, out);
    text_add_char(out, '\n');
    add_advice_table(report, out);
    text_wrap(
        out,
        "NEEDS: the smallest cap that it fits under; RETRIES: how often the cache must be emptied for that, each a "
        "wait for the GPU; UNBOUNDED: what it reserves when nothing stops it; * as recorded. GPU: nine tenths of "
        "the nominal size, less 0.7 GiB for the CUDA context and libraries. garbage_collection_threshold works "
        "only under torch.cuda.set_per_process_memory_fraction().",
        2, 78);
    if (report->oom_count > 0)
        text_wrap(out, "+: at least; the record ends where memory ran out, or goes on another way from there.", 2, 78);
}
