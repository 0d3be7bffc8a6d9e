#include "report/memory_text.h"
#include "base/mem.h"
#include "gpu_memory/allocator/check.h"
#include "gpu_memory/allocator/recommend.h"
#include "report/memory_help.h"
#include "report/memory_lines.h"
#include "report/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool add_try(struct memory_report *report, const char *conf, uint64_t cap_bytes,
                    struct err *err)
{
    struct memory_try try = {
        .conf = conf, .settings = report->snapshot->settings, .cap_bytes = cap_bytes};
    if (conf && !conf_parse(conf, &try.settings, err))
        return err_wrap(err, "--what-if");
    replay_predict(report->snapshot, report->device, &report->program, &try.settings, cap_bytes, 0,
                   &try.replay);
    MEM_ADD(report->tries, report->try_count) = try;
    return true;
}

/* The record's own setting stands beside the others, so that they can be compared. */
static bool try_settings(struct memory_report *report, struct err *err)
{
    const struct memory_question *question = report->question;
    size_t count = question->confs ? question->confs->count : 0;
    if (count == 0 && question->cap_bytes == MODEL_NO_CAP)
        return true;
    if (!add_try(report, NULL, question->cap_bytes, err))
        return false;
    EACH (item, question->confs->items, count)
        if (!add_try(report, *item, question->cap_bytes, err))
            return false;
    return true;
}

static bool analyze_trace(struct memory_report *report, struct err *err)
{
    const struct snapshot *snapshot = report->snapshot;
    const struct memory_question *question = report->question;
    size_t device = report->device;
    usage_curve(snapshot, device, &report->program, &report->curve);
    usage_growth(snapshot, device, &report->program, &report->owners, &report->growth);
    report->ooms = usage_ooms(snapshot, device, &report->program, &report->oom_count);
    report->at_peak = owners_alive(&report->owners, &report->program, report->curve.peak_event,
                                   &report->at_peak_count);
    owners_sum(&report->owners, report->at_peak, report->at_peak_count, report->peak_sums);
    check_run(snapshot, device, &report->program, question->recorded_cap_bytes, 0, &report->check);
    program_add_empty_caches(&report->program, report->check.empty_caches,
                             report->check.empty_cache_count);
    if (!try_settings(report, err))
        return false;
    if (question->recommend)
        recommend_run(snapshot, device, &report->program, 0, &report->recommendation);
    return true;
}

bool memory_look(const struct memory_question *question, const struct snapshot *snapshot,
                 size_t device, struct memory_report *out, struct err *err)
{
    *out = (struct memory_report){.question = question, .snapshot = snapshot, .device = device};
    usage_layout(snapshot, device, &out->layout);
    out->has_trace = snapshot->devices[device].count > 0;
    bool asks = (question->confs && question->confs->count > 0) ||
                question->cap_bytes != MODEL_NO_CAP || question->recommend;
    if (asks && !out->has_trace)
        return err_set(err,
                       "%s: there is no trace of GPU %zu in it, and nothing can be replayed: call "
                       "torch.cuda.memory._record_memory_history() at the start of the training",
                       question->path, device);
    if (!program_build(snapshot, device, &out->program, err))
        return false;
    owners_find(snapshot, device, &out->program, &out->owners);
    out->at_end = owners_alive(&out->owners, &out->program, UINT32_MAX - 1, &out->at_end_count);
    return !out->has_trace || analyze_trace(out, err);
}

void memory_report_fini(struct memory_report *report)
{
    program_fini(&report->program);
    check_fini(&report->check);
    usage_layout_fini(&report->layout);
    usage_growth_fini(&report->growth);
    recommend_fini(&report->recommendation);
    owners_fini(&report->owners);
    free(report->ooms);
    free(report->at_peak);
    free(report->at_end);
    free(report->tries);
}

static void add_bytes_line(struct text *out, const char *name, uint64_t bytes, const char *what)
{
    AUTO_FREE char *size = memory_size_text(bytes);
    text_addf(out, "  %-13s %10s  %s\n", name, size, what);
}

/* All GPUs of the snapshot, where there are several. */
static void add_gpus_line(const struct memory_report *report, struct text *out)
{
    const struct snapshot *snapshot = report->snapshot;
    AUTO_TEXT struct text line = {0};
    size_t used = 0;
    for (size_t device = 0; device < snapshot->device_count; device++) {
        AUTO(usage_layout_fini) struct usage_layout layout = {0};
        usage_layout(snapshot, device, &layout);
        if (snapshot->devices[device].count == 0 && layout.total.segments == 0)
            continue;
        AUTO_FREE char *reserved = memory_size_text(layout.total.reserved);
        text_addf(&line, "%s %zu (%s reserved, %zu events)", used++ ? "," : "GPUs in it:", device,
                  reserved, snapshot->devices[device].count);
    }
    if (used < 2)
        return;
    text_addf(&line, ". This is GPU %zu; --device chooses another.", report->device);
    text_wrap(out, text_get(&line), 0, 78);
}

static void add_snapshot_facts(const struct memory_report *report, struct text *out)
{
    const struct snapshot_device *trace = &report->snapshot->devices[report->device];
    AUTO_FREE char *conf = memory_conf_text(&report->snapshot->settings);
    text_addf(out, "%s: PyTorch memory snapshot, GPU %zu\n", report->question->path,
              report->device);
    add_gpus_line(report, out);
    text_addf(out, "Recorded under: %s\n", conf);
    if (!report->has_trace) {
        text_wrap(out,
                  "There is no trace in it, only the state at the end: "
                  "torch.cuda.memory._record_memory_history() at the "
                  "start of the training records one.",
                  0, 78);
        return;
    }
    double seconds =
        (double)(trace->events[trace->count - 1].time_us - trace->events[0].time_us) / 1e6;
    text_addf(out, "Trace: %zu events", trace->count);
    if (seconds > 0 && seconds < 1e9)
        text_addf(out, " over %.1f s", seconds);
    text_add_char(out, '\n');
    AUTO_FREE char *check = memory_check_text(report);
    AUTO_FREE char *line = mem_printf("Self-check: %s", check);
    text_wrap(out, line, 0, 78);
}

static void add_end_state_lines(const struct memory_report *report, struct text *out)
{
    const struct usage_sum *sum = &report->layout.total;
    text_add(out, "\nAt the end\n");
    AUTO_FREE char *segments =
        mem_printf("in %zu segment%s", sum->segments, sum->segments == 1 ? "" : "s");
    add_bytes_line(out, "allocated", sum->allocated, "by tensors");
    if (sum->active != sum->allocated)
        add_bytes_line(out, "awaited", sum->active - sum->allocated,
                       "freed, but another stream may still use it");
    add_bytes_line(out, "reserved", sum->reserved, segments);
    add_bytes_line(out, "free, split", sum->inactive_split, "beside tensors: cannot be given back");
    add_bytes_line(out, "free, whole", sum->inactive_whole,
                   "torch.cuda.empty_cache() gives it back");
    add_bytes_line(out, "largest free", sum->largest_free,
                   "the largest request that fits without more memory");
    text_addf(out, "  %-13s %8.1f %%  of what is reserved is free and cannot be given back\n",
              "fragmentation", 100 * usage_fragmentation(sum));
}

static void add_oom_lines(const struct memory_report *report, struct text *out)
{
    AUTO_FREE char *line = memory_oom_text(report);
    if (!line)
        return;
    text_add(out, "\nOut of memory\n");
    text_wrap(out, line, 2, 78);
}

/* Short: the table has to fit. */
static char *pool_name(const struct usage_pool *pool)
{
    const char *kind = pool->small ? "small" : "large";
    if (pool->pool_id[0] || pool->pool_id[1])
        return mem_printf("%s %" PRIu64 ".%" PRIu64, kind, pool->pool_id[0], pool->pool_id[1]);
    return mem_printf("%s%s", kind, pool->expandable ? " exp." : "");
}

static void add_pool_lines(const struct memory_report *report, struct text *out)
{
    if (report->layout.pool_count == 0)
        return;
    text_add(out, "\nBy pool and stream\n");
    struct table *table = table_of(false, "POOL", ">STREAM", ">RESERVED", ">ALLOCATED", ">SPLIT",
                                   ">WHOLE", ">LARGEST");
    for (size_t i = 0; i < report->layout.pool_count && i < report->question->rows; i++) {
        const struct usage_pool *pool = &report->layout.pools[i];
        const struct usage_sum *sum = &pool->sum;
        /* The default stream is 0; others are addresses, which say nothing to anybody: they are
         * numbered. */
        uint64_t number = report->snapshot->streams[pool->stream];
        table_row(table, pool_name(pool),
                  number < 1000 ? mem_printf("%" PRIu64, number)
                                : mem_printf("#%u", (unsigned)pool->stream),
                  memory_size_text(sum->reserved), memory_size_text(sum->allocated),
                  memory_size_text(sum->inactive_split), memory_size_text(sum->inactive_whole),
                  memory_size_text(sum->largest_free));
    }
    table_end(table, out);
}

static double share_of(uint64_t bytes, uint64_t all)
{
    return all ? 100 * (double)bytes / (double)all : 0;
}

/* What is left of the columns beside the others' width; 0: as wide as it is. */
static size_t place_columns(size_t columns, size_t others)
{
    enum { PLACE_LEAST = 20 };
    return columns == 0 ? 0 : columns > others + PLACE_LEAST ? columns - others : PLACE_LEAST;
}

static void add_kinds_table(const struct memory_report *report, struct text *out)
{
    uint64_t all = report->peak_sums[OWNER_KINDS].bytes;
    struct table *table = table_of(false, ">SHARE", ">BYTES", ">COUNT", "KIND");
    bool done[OWNER_KINDS] = {false};
    for (;;) {
        size_t best = OWNER_KINDS;
        for (size_t kind = 0; kind < OWNER_KINDS; kind++)
            if (!done[kind] && report->peak_sums[kind].count > 0 &&
                (best == OWNER_KINDS ||
                 report->peak_sums[kind].bytes > report->peak_sums[best].bytes))
                best = kind;
        if (best == OWNER_KINDS)
            break;
        done[best] = true;
        table_row(table, mem_printf("%.1f %%", share_of(report->peak_sums[best].bytes, all)),
                  memory_size_text(report->peak_sums[best].bytes),
                  mem_printf("%zu", report->peak_sums[best].count),
                  mem_strdup(owner_kind_text((enum owner_kind)best)));
    }
    table_end(table, out);
}

static void add_owner_lines(const struct memory_report *report, const char *title,
                            const struct owner_row *rows, size_t count, size_t columns,
                            struct text *out)
{
    enum { OTHER_COLUMNS = 46 };
    uint64_t bytes = 0;
    size_t allocations = 0;
    EACH (row, rows, count) {
        bytes += row->bytes;
        allocations += row->count;
    }
    AUTO_FREE char *sum = memory_size_text(bytes);
    text_addf(out, "\n%s: %s in %zu allocations of %zu place%s\n", title, sum, allocations, count,
              count == 1 ? "" : "s");
    if (count == 0)
        return;
    struct table *table = table_of(false, ">SHARE", ">BYTES", ">COUNT", "KIND", "WHERE");
    for (size_t i = 0; i < count && i < report->question->rows; i++) {
        const struct owner *owner = &report->owners.items[rows[i].owner];
        table_row(
            table, mem_printf("%.1f %%", share_of(rows[i].bytes, bytes)),
            memory_size_text(rows[i].bytes), mem_printf("%zu", rows[i].count),
            mem_strdup(owner_kind_text((enum owner_kind)owner->kind)),
            memory_owner_text(report->snapshot, owner, place_columns(columns, OTHER_COLUMNS)));
    }
    table_end(table, out);
}

static void add_peak_lines(const struct memory_report *report, size_t columns, struct text *out)
{
    uint64_t allocated =
        report->check.exact ? report->check.stats.allocated.peak : report->curve.peak_allocated;
    AUTO_FREE char *event =
        mem_printf("by tensors, after event %" PRIu32, report->curve.peak_event);
    text_add(out, "\nAt the peak\n");
    add_bytes_line(out, "allocated", allocated, event);
    add_bytes_line(out, "reserved", report->curve.peak_reserved, "the most at any time");
    text_add_char(out, '\n');
    add_kinds_table(report, out);
    add_owner_lines(report, "Alive at the peak", report->at_peak, report->at_peak_count, columns,
                    out);
    if (report->snapshot->stack_count <= 1)
        text_wrap(out,
                  "No stacks were recorded: _record_memory_history(stacks='python') says where "
                  "allocations come from.",
                  2, 78);
    memory_text_help(report, out);
}

static char *spans_text(const struct growth *growth)
{
    if (growth->source == GROWTH_EPOCHS)
        return mem_printf("%zu epochs", growth->span_count);
    const char *of = growth->source == GROWTH_STEPS ? "optimizer" : "profiler";
    return growth->steps_per_span == 1 ? mem_printf("%zu %s steps", growth->span_count, of)
                                       : mem_printf("%zu spans of %zu %s steps", growth->span_count,
                                                    growth->steps_per_span, of);
}

static void add_suspects(const struct memory_report *report, size_t columns, struct text *out)
{
    enum { OTHER_COLUMNS = 50 };
    const struct growth *growth = &report->growth;
    if (growth->suspect_count == 0)
        return;
    text_add(out, "What stays behind, span after span\n");
    struct table *table =
        table_of(false, ">BYTES", ">COUNT", ">SPANS", ">FROM SIZE", ">TO SIZE", "FROM");
    for (size_t i = 0; i < growth->suspect_count && i < report->question->rows; i++) {
        const struct growth_suspect *suspect = &growth->suspects[i];
        table_row(table, memory_size_text(suspect->bytes), mem_printf("%zu", suspect->count),
                  mem_printf("%zu", suspect->spans), memory_size_text(suspect->size_low),
                  memory_size_text(suspect->size_high),
                  memory_owner_text(report->snapshot, &report->owners.items[suspect->owner],
                                    place_columns(columns, OTHER_COLUMNS)));
    }
    table_end(table, out);
}

void memory_text_growth(const struct memory_report *report, size_t columns, struct text *out)
{
    const struct growth *growth = &report->growth;
    if (growth->source == GROWTH_NONE) {
        AUTO_FREE char *unknown =
            mem_printf("Unknown: growth is claimed over at least %d epochs or steps that are "
                       "marked in the record (a warm-up and three more), and it has %zu.",
                       GROWTH_SPANS_LEAST, growth->marked);
        text_wrap(out, unknown, 2, 78);
        return;
    }
    AUTO_FREE char *spans = spans_text(growth);
    AUTO_FREE char *slope =
        memory_size_text(growth->slope_bytes > 0 ? (uint64_t)growth->slope_bytes : 0);
    AUTO_FREE char *line =
        growth->grows
            ? mem_printf("Yes: over %s the least that is alive grows by %s each (the median, the "
                         "first %zu left out).",
                         spans, slope, growth->warm_up)
            : mem_printf("None over %s: what is alive between steps comes back to the same.",
                         spans);
    text_wrap(out, line, 2, 78);
    add_suspects(report, columns, out);
    if (growth->grows)
        text_wrap(
            out,
            "Often: a running sum of a loss without .item() or .detach(), outputs kept in a list.",
            2, 78);
}

void memory_text(const struct memory_report *report, size_t columns, struct text *out)
{
    add_snapshot_facts(report, out);
    if (report->has_trace)
        add_peak_lines(report, columns, out);
    add_oom_lines(report, out);
    if (report->has_trace) {
        text_add(out, "\nGrowth\n");
        memory_text_growth(report, columns, out);
    }
    add_end_state_lines(report, out);
    add_pool_lines(report, out);
    add_owner_lines(report, "Alive at the end", report->at_end, report->at_end_count, columns, out);
    if (report->has_trace) {
        text_add(out, "\nOver the trace (█ allocated, ░ reserved beside it)\n");
        memory_add_curve(&report->curve, out);
    }
    memory_text_tries(report, out);
    memory_text_advice(report, out);
}
