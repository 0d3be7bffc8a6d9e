#include "report/memory_lines.h"
#include "base/mem.h"
#include "gpu_memory/allocator/recommend.h"
#include "report/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Pieces of text that the terminal, JSON and the page share. */

#define NAME_SHOWN 120 /* bytes of a function's or a file's name */

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

/* A folder or file of PyTorch's Python package, wherever it was built. */
static bool is_of_torch(const char *file)
{
    static const char *const parts[] = {
        "_",    "amp/", "autograd/", "cuda/",  "distributed/", "functional.py", "fx/",
        "jit/", "nn/",  "nested/",   "optim/", "profiler/",    "utils/",        NULL};
    for (const char *at = file; (at = strstr(at, "/torch/"));) {
        at += strlen("/torch/");
        for (size_t i = 0; parts[i]; i++)
            if (strncmp(at, parts[i], strlen(parts[i])) == 0)
                return true;
    }
    return strstr(file, "/torchinductor_") != NULL; /* what torch.compile wrote */
}

/* What every allocation comes through. */
static bool is_allocator(const char *function)
{
    static const char *const fronts[] = {"c10::",
                                         "at::detail::",
                                         "at::_ops::",
                                         "at::cuda::",
                                         "at::native::empty",
                                         "at::(anonymous namespace)::",
                                         "torch::unwind",
                                         "torch::CapturedTraceback",
                                         "void c10::",
                                         "std::",
                                         NULL};
    for (size_t i = 0; fronts[i]; i++)
        if (strncmp(function, fronts[i], strlen(fronts[i])) == 0)
            return true;
    return *function == '\0' || strcmp(function, "??") == 0 || strstr(function, "CachingAllocator");
}

enum frame_kind {
    FRAME_ANY,
    FRAME_COMPILED,
    FRAME_STANDARD,
    FRAME_TORCH,
    FRAME_LIBRARY,
    FRAME_USER
};

static enum frame_kind frame_kind_of(const struct snapshot_frame *frame)
{
    /* "train.py", and what Python itself calls "<string>" or "<ipython-input-3>"; all else is of
     * compiled code. */
    if (*frame->file != '<' && !text_ends_with(frame->file, ".py"))
        return is_allocator(frame->function) ? FRAME_ANY : FRAME_COMPILED;
    if (is_of_torch(frame->file) || strstr(frame->file, "-packages/torch/"))
        return FRAME_TORCH;
    if (strstr(frame->file, "/site-packages/") || strstr(frame->file, "/dist-packages/"))
        return FRAME_LIBRARY;
    if (strstr(frame->file, "/lib/python3") || strncmp(frame->file, "<frozen ", 8) == 0)
        return FRAME_STANDARD;
    /* torch.fx writes such */
    return strncmp(frame->file, "<eval_with_key>", 15) == 0 ? FRAME_TORCH : FRAME_USER;
}

struct memory_place memory_place(const struct snapshot *snapshot, uint32_t stack)
{
    struct memory_place place = {0};
    enum frame_kind best = FRAME_ANY;
    if (stack == 0 || stack >= snapshot->stack_count)
        return place;
    for (size_t i = 0; i < snapshot->stacks[stack].frame_count && best < FRAME_USER; i++) {
        const struct snapshot_frame *frame = snapshot_frame(snapshot, stack, i);
        enum frame_kind kind = frame_kind_of(frame);
        if (place.frame && kind <= best)
            continue;
        if (!place.via && best >= FRAME_TORCH)
            place.via = place.frame;
        place.frame = frame;
        best = kind;
    }
    return place;
}

/* "/opt/lib/python3.12/site-packages/torch/nn/modules/linear.py": from "torch" on. */
static const char *package_path(const char *file)
{
    static const char *const fronts[] = {"/site-packages/", "/dist-packages/", NULL};
    for (size_t i = 0; fronts[i]; i++) {
        const char *at = strstr(file, fronts[i]);
        if (at)
            return at + strlen(fronts[i]);
    }
    const char *at = strstr(file, "/torch/");
    return at && is_of_torch(file) ? at + 1 : file;
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

static char *frame_text(const struct snapshot_frame *frame, const char *file)
{
    size_t length = strlen(file);
    file += length > NAME_SHOWN ? length - NAME_SHOWN : 0;
    return mem_printf("%.*s (%s:%" PRId64 ")", (int)function_name_length(frame->function),
                      frame->function, file, frame->line);
}

char *memory_stack_text(const struct snapshot *snapshot, uint32_t stack, size_t columns)
{
    struct memory_place place = memory_place(snapshot, stack);
    if (!place.frame)
        return NULL;
    AUTO_FREE char *at = frame_text(place.frame, frame_file_name(place.frame->file));
    if (!place.via)
        return steal_ptr(at);
    AUTO_FREE char *via = frame_text(place.via, package_path(place.via->file));
    if (columns > 0 && strlen(at) + strlen(" via ") + strlen(via) > columns) {
        free(via);
        const char *file = frame_file_name(place.via->file);
        via = mem_printf("%.*s:%" PRId64, NAME_SHOWN, file, place.via->line);
    }
    return mem_printf("%s via %s", at, via);
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

/* The caveat of advice on a record in which memory ran out; NULL: it did not. */
static char *memory_beyond_text(const struct memory_report *report)
{
    if (report->oom_count == 0)
        return NULL;
    return mem_printf("Memory ran out at event %" PRIu32
                      " of %zu: what the training would have asked for after that is not in "
                      "the record. All this is what it needs at least, as far as the record goes; "
                      "it promises no fit.",
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
                  gpu ? mem_printf("%u GB%s", gpu->gib, report->oom_count > 0 ? "+" : "")
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
    if (report->oom_count > 0)
        text_wrap(
            out,
            "+: at least; the record ends where memory ran out, or goes on another way from there.",
            2, 78);
}
