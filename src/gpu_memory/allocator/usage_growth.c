/* Whether memory grows from epoch to epoch, and what stays behind. */
#include "gpu_memory/allocator/usage.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define EPOCHS_MAX  200
#define STEPS_MAX   12        /* more epochs or steps than that are joined */
#define GROWS_LEAST (1 << 20) /* bytes over the whole record: less is noise */

/* The first event at this time or later. */
static size_t event_at(const struct snapshot_device *trace, int64_t time_us)
{
    size_t low = 0, high = trace->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (trace->events[middle].time_us < time_us)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Starts of the annotations whose name has this word. */
static size_t find_starts(const struct snapshot *snapshot, size_t device, const char *word,
                          size_t *out)
{
    const struct snapshot_device *trace = &snapshot->devices[device];
    size_t count = 0;
    EACH (mark, snapshot->marks, snapshot->mark_count) {
        if (!mark->start || mark->device != device || !strcasestr(mark->name, word))
            continue;
        size_t event = event_at(trace, mark->time_us);
        if (count == 0 || event > out[count - 1])
            out[count++] = event;
    }
    return count;
}

static void add_span(struct growth *growth, size_t first, size_t end)
{
    if (end <= first)
        return;
    MEM_ADD(growth->spans, growth->span_count) =
        (struct growth_span){.first_event = first, .end_event = end, .low = UINT64_MAX};
}

/* Each span from one start to the one that stands every places further. */
static void spans_from(struct growth *growth, const size_t *starts, size_t count, size_t every,
                       size_t events)
{
    for (size_t i = 0; i < count; i += every)
        add_span(growth, starts[i], i + every < count ? starts[i + every] : events);
}

/* Epochs, as torch.profiler.record_function("epoch 3") marks them; else steps of the profiler; else
 * steps of the optimizer, which PyTorch marks itself. Growth needs repetition:
 * a single forward pass grows as well. */
static void find_spans(const struct snapshot *snapshot, size_t device, struct growth *out)
{
    static const struct {
        enum growth_source source;
        const char *word;
        size_t spans_max;
    } rows[] = {{GROWTH_EPOCHS, "epoch", EPOCHS_MAX},
                {GROWTH_PROFILER_STEPS, "ProfilerStep#", STEPS_MAX},
                {GROWTH_STEPS, "Optimizer.step", STEPS_MAX}};
    size_t *starts = mem_array(snapshot->mark_count, sizeof *starts);
    EACH_OF (row, rows) {
        size_t count = find_starts(snapshot, device, row->word, starts);
        out->marked = count > out->marked ? count : out->marked;
        if (count < GROWTH_SPANS_LEAST)
            continue;
        out->source = row->source;
        out->steps_per_span = (count + row->spans_max - 1) / row->spans_max;
        spans_from(out, starts, count, out->steps_per_span, snapshot->devices[device].count);
        break;
    }
    free(starts);
}

static struct growth_span *find_growth_span(struct growth *growth, size_t event)
{
    size_t low = 0, high = growth->span_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (growth->spans[middle].end_event <= event)
            low = middle + 1;
        else
            high = middle;
    }
    return low < growth->span_count && growth->spans[low].first_event <= event ? &growth->spans[low]
                                                                               : NULL;
}

static void fill_spans(const struct snapshot_device *trace, const struct program *program,
                       struct growth *growth)
{
    uint64_t live = 0;
    EACH (item, program->allocations, program->allocation_count)
        live += item->born == UINT32_MAX ? item->size : 0;
    size_t at = 0;
    for (size_t i = 0; i < trace->count; i++) {
        if (trace->events[i].action == NAME_ALLOC)
            live += trace->events[i].size_bytes;
        else if (trace->events[i].action == NAME_FREE_REQUESTED)
            live -= trace->events[i].size_bytes;
        while (at < growth->span_count && growth->spans[at].end_event <= i)
            at++;
        if (at == growth->span_count || growth->spans[at].first_event > i)
            continue;
        struct growth_span *span = &growth->spans[at];
        span->low = live < span->low ? live : span->low;
        span->high = live > span->high ? live : span->high;
    }
    EACH (allocation, program->allocations, program->allocation_count) {
        struct growth_span *span =
            allocation->born == UINT32_MAX ? NULL : find_growth_span(growth, allocation->born);
        if (span && allocation->died == UINT32_MAX)
            span->kept += allocation->size;
    }
}

static int compare_growth_values(const void *a, const void *b)
{
    double one = *(const double *)a, two = *(const double *)b;
    return ORDER(one, two);
}

/* The median of the slopes of all pairs: a few odd spans do not move it. The share of them that
 * rise tells growth from noise. */
static void find_slope(struct growth *growth)
{
    size_t n = growth->span_count, first = growth->warm_up, count = 0, rising = 0;
    if (n < first + 3)
        return;
    double *slopes = mem_array((n - first) * (n - first - 1) / 2, sizeof *slopes);
    for (size_t i = first; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            slopes[count] =
                ((double)growth->spans[j].low - (double)growth->spans[i].low) / (double)(j - i);
            rising += slopes[count] > 0;
            count++;
        }
    qsort(slopes, count, sizeof *slopes, compare_growth_values);
    growth->slope_bytes =
        count % 2 ? slopes[count / 2] : (slopes[count / 2 - 1] + slopes[count / 2]) / 2;
    growth->grows = (double)rising >= 0.9 * (double)count &&
                    growth->slope_bytes * (double)(n - first) >= GROWS_LEAST;
    free(slopes);
}

struct kept {
    uint32_t place; /* 1 + the owner; 0: no stack is known */
    uint32_t owner, stack, born;
    unsigned class; /* of sizes, where no stack is known */
    uint64_t size;
    size_t span;
};

static int same_kind(const struct kept *one, const struct kept *two)
{
    if (one->place != two->place)
        return one->place < two->place ? -1 : 1;
    return ORDER(one->class, two->class);
}

static int compare_kept_kinds(const void *a, const void *b)
{
    const struct kept *one = a, *two = b;
    int order = same_kind(one, two);
    return order ? order : one->born < two->born ? -1 : one->born > two->born;
}

static int compare_suspect_bytes(const void *a, const void *b)
{
    const struct growth_suspect *one = a, *two = b;
    return ORDER(two->bytes, one->bytes);
}

static struct kept *find_kept_allocations(const struct program *program,
                                          const struct owners *owners, struct growth *growth,
                                          size_t *count)
{
    struct kept *kept = NULL;
    *count = 0;
    for (size_t i = 0; i < program->allocation_count; i++) {
        const struct allocation *allocation = &program->allocations[i];
        if (allocation->born == UINT32_MAX || allocation->died != UINT32_MAX)
            continue;
        const struct growth_span *span = find_growth_span(growth, allocation->born);
        if (!span || span < growth->spans + growth->warm_up)
            continue;
        MEM_ADD(kept, *count) =
            (struct kept){.place = allocation->stack ? owners->of[i] + 1 : 0,
                          .owner = owners->of[i],
                          .stack = allocation->stack,
                          .born = allocation->born,
                          .class = allocation->stack || allocation->size == 0
                                       ? 0
                                       : 64 - (unsigned)__builtin_clzll(allocation->size),
                          .size = allocation->size,
                          .span = (size_t)(span - growth->spans)};
    }
    if (*count > 0)
        qsort(kept, *count, sizeof *kept, compare_kept_kinds);
    return kept;
}

/* What at least a third of the spans left behind. */
static void find_suspects(const struct program *program, const struct owners *owners,
                          struct growth *growth)
{
    size_t count, spans = growth->span_count - growth->warm_up,
                  least = spans / 3 > 2 ? spans / 3 : 2;
    struct kept *kept = find_kept_allocations(program, owners, growth, &count);
    for (size_t i = 0; i < count;) {
        struct growth_suspect suspect = {.owner = kept[i].owner, .size_low = UINT64_MAX};
        size_t from = i;
        for (; i < count && same_kind(&kept[i], &kept[from]) == 0; i++) {
            suspect.count++;
            suspect.bytes += kept[i].size;
            suspect.size_low = kept[i].size < suspect.size_low ? kept[i].size : suspect.size_low;
            suspect.size_high = kept[i].size > suspect.size_high ? kept[i].size : suspect.size_high;
            suspect.spans += i == from || kept[i].span != kept[i - 1].span;
            suspect.last_event = kept[i].born;
            suspect.stack = kept[i].stack;
        }
        if (suspect.spans < least)
            continue;
        MEM_ADD(growth->suspects, growth->suspect_count) = suspect;
    }
    if (growth->suspect_count > 1)
        qsort(growth->suspects, growth->suspect_count, sizeof *growth->suspects,
              compare_suspect_bytes);
    free(kept);
}

void usage_growth(const struct snapshot *snapshot, size_t device, const struct program *program,
                  const struct owners *owners, struct growth *out)
{
    *out = (struct growth){0};
    find_spans(snapshot, device, out);
    if (out->source == GROWTH_NONE)
        return;
    out->warm_up = out->span_count >= 10 ? 2 : 1;
    fill_spans(&snapshot->devices[device], program, out);
    find_slope(out);
    if (out->grows)
        find_suspects(program, owners, out);
}

void usage_growth_fini(struct growth *growth)
{
    free(growth->spans);
    free(growth->suspects);
    *growth = (struct growth){0};
}
