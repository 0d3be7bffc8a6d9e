#include "report/memory_lines.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "gpu_memory/allocator/recommend.h"
#include "report/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Pieces of text that the terminal, JSON and the page share. */

#define NAME_SHOWN 120  /* bytes of a function's name */
#define FILE_SHOWN 4096 /* of a file's */

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

static const char *frame_file_name(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

/* Without the arguments of C++: "at::native::add_kernel". */
static size_t function_name_length(const char *function)
{
    static const char nameless[] = "(anonymous namespace)";
    size_t length = 0;
    while (function[length] && function[length] != '(')
        length++;
    while (strncmp(function + length, nameless, sizeof nameless - 1) == 0) {
        length += sizeof nameless - 1;
        while (function[length] && function[length] != '(')
            length++;
    }
    return length < NAME_SHOWN ? length : NAME_SHOWN;
}

/* "forward (linear.py:125)"; where that is wider than columns (0: as wide as it is), the function
 * is cut, and then the middle of the file's name. */
static char *frame_text(const struct snapshot_frame *frame, const char *file, size_t columns)
{
    enum { FUNCTION_LEAST = 6 };
    static const char more[] = "…";
    size_t length = strlen(file), function = function_name_length(frame->function);
    file += length > FILE_SHOWN ? length - FILE_SHOWN : 0;
    AUTO_FREE char *at = mem_printf(" (%s:%" PRId64 ")", file, frame->line);
    length = strlen(at);
    if (columns == 0 || function + length <= columns)
        return mem_printf("%.*s%s", (int)function, frame->function, at);
    size_t kept = function < FUNCTION_LEAST ? function : FUNCTION_LEAST;
    kept = kept + length < columns ? columns - length : kept;
    AUTO_FREE char *name =
        kept < function ? mem_printf("%.*s%s", (int)utf8_cut(frame->function, function, kept - 1),
                                     frame->function, more)
                        : mem_strndup(frame->function, function);
    if (kept + length <= columns || columns < kept + 8)
        return mem_printf("%s%s", name, at);
    size_t left = columns - kept - 1, head = utf8_cut(at, length, left / 3);
    const char *tail = at + length - (left - left / 3);
    while (*tail && (*tail & 0xc0) == 0x80) /* never half of a character */
        tail++;
    return mem_printf("%s%.*s%s%s", name, (int)head, at, more, tail);
}

char *memory_shorten(const char *text, size_t columns)
{
    size_t length = strlen(text);
    if (columns == 0 || length <= columns || columns < 8)
        return mem_strdup(text);
    size_t head = utf8_cut(text, length, columns * 2 / 3);
    const char *tail = text + length - (columns - columns * 2 / 3 - 1);
    while (*tail && (*tail & 0xc0) == 0x80) /* never half of a character */
        tail++;
    return mem_printf("%.*s…%s", (int)head, text, tail);
}

char *memory_place_text(const struct place *place, size_t columns)
{
    if (!place->frame)
        return NULL;
    if (place->node)
        return mem_printf("%.*s (backward pass)",
                          (int)(place->node_length < NAME_SHOWN ? place->node_length : NAME_SHOWN),
                          place->node);
    const char *file = frame_file_name(place->frame->file);
    if (place->frame->line == 0)
        return mem_printf("%.*s (compiled code)", (int)function_name_length(place->frame->function),
                          place->frame->function);
    AUTO_FREE char *at = frame_text(place->frame, file, 0);
    if (!place->via)
        return frame_text(place->frame, file, columns);
    AUTO_FREE char *via = frame_text(place->via, place_package_path(place->via->file), 0);
    AUTO_FREE char *text = mem_printf("%s via %s", at, via);
    if (columns == 0 || strlen(text) <= columns)
        return steal_ptr(text);
    AUTO_FREE char *short_text =
        mem_printf("%s via %s:%" PRId64, at, frame_file_name(place->via->file), place->via->line);
    return strlen(short_text) <= columns ? steal_ptr(short_text)
                                         : frame_text(place->frame, file, columns);
}

char *memory_stack_text(const struct snapshot *snapshot, uint32_t stack, size_t columns)
{
    struct place place = place_of(snapshot, stack);
    return memory_place_text(&place, columns);
}

char *memory_owner_text(const struct snapshot *snapshot, const struct owner *owner, size_t columns)
{
    static const char freed[] = "freed by ";
    size_t before = owner->freed_there ? sizeof freed - 1 : 0;
    struct place place = owner_place(snapshot, owner);
    AUTO_FREE char *at = memory_place_text(&place, columns > before ? columns - before : columns);
    if (at)
        return mem_printf("%s%s", owner->freed_there ? freed : "", at);
    if (owner->early && owner->kind != OWNER_EARLY)
        return mem_strdup("held before; a gradient's size");
    if (owner->each_bytes == 0)
        return mem_strdup(owner->early ? "held before the record" : "no stack recorded");
    AUTO_FREE char *each = memory_size_text(owner->each_bytes);
    return mem_printf("%s each", each);
}

bool memory_is_unnamed(const struct owner *owner)
{
    return owner->stack == 0 && (!owner->early || owner->kind == OWNER_EARLY);
}

static const char *explain_refusal(enum replay_outcome outcome, bool survivable)
{
    switch (outcome) {
    case REPLAY_SURVIVES:
        return "given back at once: most likely a workspace that cuDNN does without";
    case REPLAY_UNCERTAIN:
        return survivable
                   ? "hangs on where the driver puts segments"
                   : "hangs on where the driver puts segments, or on what was refused before";
    default:
        return "nothing was left to give back";
    }
}

/* How it ended under a setting: "fits", "fails at event 5879: 21.3 MiB on stream 0 (...)". */
static char *memory_outcome_text(const struct memory_try *try)
{
    const struct replay *replay = &try->replay;
    const struct replay_refusal *refusal = &replay->refusal;
    if (replay->outcome == REPLAY_FITS)
        return mem_strdup(replay->beyond
                              ? "fits as far as the record goes: where it ran out, it goes on"
                              : "fits");
    static const char *const heads[] = {[REPLAY_SURVIVES] = "fits if refusals are survived",
                                        [REPLAY_UNCERTAIN] = "uncertain",
                                        [REPLAY_FAILS] = "out of memory"};
    AUTO_FREE char *size = memory_size_text(refusal->size_bytes),
                   *segment = memory_size_text(refusal->segment_bytes);
    AUTO_FREE char *more = replay->outcome == REPLAY_SURVIVES && replay->refusals > 1
                               ? mem_printf(", the first of %zu", replay->refusals)
                               : mem_strdup("");
    return mem_printf("%s: event %" PRIu32 " asks for %s (a segment of %s)%s; %s",
                      heads[replay->outcome], refusal->event, size, segment, more,
                      explain_refusal(replay->outcome, refusal->survivable));
}

/* One size if both are printed alike. */
static char *size_range_text(uint64_t low, uint64_t high)
{
    AUTO_FREE char *from = memory_size_text(low), *to = memory_size_text(high);
    return strcmp(from, to) == 0 ? mem_printf("of %s", to)
                                 : mem_printf("between %s and %s", from, to);
}

char *memory_oom_text(const struct memory_report *report)
{
    if (report->oom_count == 0)
        return NULL;
    const struct usage_oom *oom = &report->ooms[report->oom_count - 1];
    AUTO_FREE char *requested = memory_size_text(oom->requested_bytes),
                   *segment = memory_size_text(oom->segment_bytes);
    AUTO_FREE char *reserved = memory_size_text(oom->reserved_bytes),
                   *allocated = memory_size_text(oom->allocated_bytes);
    AUTO_FREE char *free_bytes = memory_size_text(oom->device_free_bytes);
    AUTO_FREE char *stack = memory_stack_text(report->snapshot, oom->stack, 0);
    AUTO_FREE char *others = report->oom_count > 1
                                 ? mem_printf(" (%zu came before it)", report->oom_count - 1)
                                 : mem_strdup("");
    AUTO_FREE char *limit = size_range_text(oom->limit_low_bytes, oom->limit_high_bytes);
    AUTO_FREE char *why =
        oom->by_cap ? mem_printf("The GPU had %s free, so it was a cap %s that refused it",
                                 free_bytes, limit)
                    : mem_printf("The GPU had %s free: PyTorch could have %s at most", free_bytes,
                                 limit + 3);
    return mem_printf("Event %" PRIu32
                      "%s asked for %s (a segment of %s)%s%s, beside %s reserved, of which %s was "
                      "allocated. %s.",
                      oom->event, others, requested, segment, stack ? ", from " : "",
                      stack ? stack : "", reserved, allocated, why);
}

bool memory_is_open_ended(const struct memory_report *report)
{
    return report->oom_count > 0 || report->growth.grows;
}

/* The caveat of advice on a record in which memory grew or ran out; NULL: it did not. */
static char *memory_beyond_text(const struct memory_report *report)
{
    static const char grows[] = "Memory grows from step to step: no setting helps against that, "
                                "and a larger GPU only delays it.";
    if (report->oom_count == 0)
        return report->growth.grows ? mem_strdup(grows) : NULL;
    return mem_printf("%s%s"
                      "Memory ran out at event %" PRIu32
                      " of %zu: what the training would have asked for after that is not in "
                      "the record. All this is what it needs at least, as far as the record goes; "
                      "it promises no fit.",
                      report->growth.grows ? grows : "", report->growth.grows ? " " : "",
                      report->ooms[report->oom_count - 1].event,
                      report->snapshot->devices[report->device].count);
}

char *memory_check_text(const struct memory_report *report)
{
    const struct check *check = &report->check;
    const char *ring =
        check->complete ? "" : "; it began before the record, what lay there then is inferred";
    if (check->exact)
        return mem_printf(
            "exact: replaying the record gives all %zu events, every address and the layout at the "
            "end%s%s",
            check->events, check->empty_cache_count ? "; emptied caches were inferred" : "", ring);
    return mem_printf("NOT exact: %s (event %zu)%s. Predictions are estimates%s", check->difference,
                      check->differs_at, ring,
                      report->question->recorded_cap_bytes == MODEL_NO_CAP
                          ? "; if the training ran under a cap, say so with --recorded-cap"
                          : "");
}

#define CURVE_COLUMNS 64
#define CURVE_ROWS    8

static const char *curve_cell(uint64_t level_low, uint64_t level_high, uint64_t allocated,
                              uint64_t reserved)
{
    uint64_t middle = level_low + (level_high - level_low) / 2;
    return allocated >= middle && allocated > 0 ? "█"
           : reserved >= middle && reserved > 0 ? "░"
                                                : " ";
}

void memory_add_curve(const struct curve *curve, struct text *out)
{
    uint64_t allocated[CURVE_COLUMNS] = {0}, reserved[CURVE_COLUMNS] = {0};
    uint64_t top =
        curve->peak_reserved > curve->peak_allocated ? curve->peak_reserved : curve->peak_allocated;
    for (size_t i = 0; i < CURVE_COLUMNS && curve->count > 0; i++) {
        size_t from = i * curve->count / CURVE_COLUMNS,
               end = (i + 1) * curve->count / CURVE_COLUMNS;
        for (size_t p = from; p < end || p == from; p++) {
            allocated[i] = curve->points[p].allocated > allocated[i] ? curve->points[p].allocated
                                                                     : allocated[i];
            reserved[i] =
                curve->points[p].reserved > reserved[i] ? curve->points[p].reserved : reserved[i];
        }
    }
    for (uint64_t row = CURVE_ROWS; row-- > 0;) {
        AUTO_FREE char *size = memory_size_text(top / CURVE_ROWS * (row + 1));
        text_addf(out, "%12s ┤", row % 2 ? size : "");
        for (size_t i = 0; i < CURVE_COLUMNS; i++)
            text_add(out, curve_cell(top / CURVE_ROWS * row, top / CURVE_ROWS * (row + 1),
                                     allocated[i], reserved[i]));
        while (out->length > 0 && out->data[out->length - 1] == ' ')
            out->data[--out->length] = '\0';
        text_add_char(out, '\n');
    }
}

#define SHOWN_CONF 40

static char *short_text(const char *text, size_t columns)
{
    return strlen(text) <= columns ? mem_strdup(text)
                                   : mem_printf("%.*s...", (int)columns - 3, text);
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
    EACH (try, report->tries, report->try_count) {
        const struct replay *replay = &try->replay;
        table_row(table, try_name(try), memory_size_text(replay->stats.reserved.peak),
                  mem_printf("%" PRIu64, replay->stats.retries),
                  mem_strdup(replay_outcome_text(replay->outcome)));
    }
    table_end(table, out);
}

static void add_replay_notes(const struct memory_report *report, struct text *out)
{
    EACH (try, report->tries, report->try_count) {
        const struct replay *replay = &try->replay;
        AUTO_FREE char *name = try_name(try);
        if (replay->outcome != REPLAY_FITS || replay->beyond) {
            AUTO_FREE char *outcome = memory_outcome_text(try);
            AUTO_FREE char *stack = memory_stack_text(report->snapshot, replay->refusal.stack, 0);
            AUTO_FREE char *line =
                mem_printf("%s: %s%s%s", name, outcome, stack ? "; from " : "", stack ? stack : "");
            text_wrap(out, line, 2, 78);
        }
        if (replay->outcome != REPLAY_FAILS && replay->peak_low_bytes != replay->peak_high_bytes) {
            AUTO_FREE char *low = memory_size_text(replay->peak_low_bytes),
                           *high = memory_size_text(replay->peak_high_bytes);
            AUTO_FREE char *line =
                mem_printf("%s: the peak is between %s and %s, by where the driver puts segments",
                           name, low, high);
            text_wrap(out, line, 2, 78);
        }
        if (try->settings.gc_threshold > 0 && try->cap_bytes == MODEL_NO_CAP) {
            AUTO_FREE char *line =
                mem_printf("%s: garbage is collected only under a cap (--cap)", name);
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
    add_replay_notes(report, out);
}

static void add_advice_table(const struct memory_report *report, struct text *out)
{
    struct table *table = table_of(false, "SETTING", ">NEEDS", ">RETRIES", ">UNBOUNDED", ">GPU");
    EACH (advice, report->recommendation.advices, report->recommendation.count) {
        const struct gpu_size *gpu = gpu_size_for(advice->least_bytes);
        AUTO_FREE char *conf = memory_conf_text(&advice->settings);
        AUTO_FREE char *name = short_text(conf, SHOWN_CONF - 4);
        table_row(table, mem_printf("%s%s", name, advice->recorded ? " *" : ""),
                  memory_size_text(advice->least_bytes), mem_printf("%" PRIu64, advice->retries),
                  memory_size_text(advice->free_run.stats.reserved.peak),
                  gpu ? mem_printf("%u GB%s", gpu->gib, memory_is_open_ended(report) ? "+" : "")
                      : mem_strdup("none"));
    }
    table_end(table, out);
}

/* The first that is no garbage collection: that works only where the program bounds itself. */
static const struct advice *best_advice(const struct recommendation *recommendation)
{
    EACH (item, recommendation->advices, recommendation->count)
        if (item->settings.gc_threshold <= 0)
            return item;
    return NULL;
}

static const struct advice *recorded_advice(const struct recommendation *recommendation)
{
    EACH (item, recommendation->advices, recommendation->count)
        if (item->recorded)
            return item;
    return NULL;
}

/* If memory ran out, what is enough for the record is not enough for the training, which failed
 * with as much. */
static void add_advice_verdict(const struct memory_report *report, struct text *out)
{
    const struct advice *best = best_advice(&report->recommendation),
                        *now = recorded_advice(&report->recommendation);
    if (!best || !now)
        return;
    const struct gpu_size *gpu = gpu_size_for(best->least_bytes);
    AUTO_FREE char *beyond = memory_beyond_text(report), *conf = memory_conf_text(&best->settings);
    AUTO_FREE char *need = memory_size_text(best->least_bytes),
                   *had = memory_size_text(now->least_bytes);
    bool keep = best == now || best->least_bytes + best->step_bytes >= now->least_bytes;
    AUTO_FREE char *line =
        keep ? mem_printf("%s needs noticeably less than its %s.",
                          beyond ? "Up to there no setting" : "Keep the setting: none", had)
        : beyond
            ? mem_printf("Up to there PYTORCH_CUDA_ALLOC_CONF=%s needs %s, and it needs %s as it "
                         "is set now.",
                         conf, need, had)
            : mem_printf(
                  "Set PYTORCH_CUDA_ALLOC_CONF=%s: it fits in %s, and needs %s as it is set now.",
                  conf, need, had);
    if (beyond)
        text_wrap(out, beyond, 2, 78);
    text_wrap(out, line, 2, 78);
    if (beyond)
        return;
    AUTO_FREE char *size = gpu ? mem_printf("The smallest GPU that it fits on: %u GB (such as %s).",
                                            gpu->gib, gpu->examples)
                               : mem_strdup("No single GPU is large enough.");
    text_wrap(out, size, 2, 78);
}

void memory_text_advice(const struct memory_report *report, struct text *out)
{
    if (report->recommendation.count == 0)
        return;
    text_add(out, "\nRecommended\n");
    add_advice_verdict(report, out);
    text_add_char(out, '\n');
    add_advice_table(report, out);
    text_wrap(out,
              "NEEDS: the smallest cap that it fits under; RETRIES: how often the cache must be "
              "emptied for that, each a "
              "wait for the GPU; UNBOUNDED: what it reserves when nothing stops it; * as recorded. "
              "GPU: nine tenths of "
              "the nominal size, less 0.7 GiB for the CUDA context and libraries. "
              "garbage_collection_threshold works "
              "only under torch.cuda.set_per_process_memory_fraction().",
              2, 78);
    if (memory_is_open_ended(report))
        text_wrap(out,
                  report->oom_count > 0 ? "+: at least; the record ends where memory ran out, or "
                                          "goes on another way from there."
                                        : "+: at least; it grows.",
                  2, 78);
}
