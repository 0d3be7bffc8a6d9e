#include "results/judge/trace_sketch.h"

#include <math.h>
#include <string.h>

/* A trace that hardly changes, such as an idle GPU's, or that repeats itself, has few hashes: it
 * may be like any other of its kind. */
enum { DISTINCT_LEAST = 5, HASHES_LEAST = 10, STAMPS_LEAST = 10, STILL_LEAST = 5, GAP_S = 10 };

/* The finaliser of MurmurHash3: each bit of the input changes half of the output's. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return x ^ (x >> 33);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static bool is_equal(double a, double b)
{
    return !(a < b) && !(a > b);
}

/* Whether the last samples vary enough to be those of one trace alone. */
static bool varies(const struct trace_sketch *sketch)
{
    size_t distinct = 0;
    for (size_t i = 0; i < TRACE_SKETCH_RUN; i++) {
        size_t k = 0;
        while (k < i && sketch->mixed[k] != sketch->mixed[i])
            k++;
        distinct += k == i;
    }
    return distinct >= DISTINCT_LEAST;
}

static void keep_hash(struct trace_sketch *sketch, uint64_t hash)
{
    size_t at = sketch->hash_count;
    if (at == TRACE_SKETCH_HASHES && hash >= sketch->hashes[at - 1])
        return;
    if (!varies(sketch))
        return;
    while (at > 0 && sketch->hashes[at - 1] > hash)
        at--;
    if (at > 0 && sketch->hashes[at - 1] == hash)
        return;
    size_t behind = sketch->hash_count - at;
    if (sketch->hash_count == TRACE_SKETCH_HASHES)
        behind--;
    else
        sketch->hash_count++;
    memmove(&sketch->hashes[at + 1], &sketch->hashes[at], behind * sizeof *sketch->hashes);
    sketch->hashes[at] = hash;
}

static uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

/* A cyclic polynomial of the last samples: one comes and one goes at a time (Cohen 1997). */
static void add_to_run(struct trace_sketch *sketch, uint64_t mixed)
{
    uint64_t *slot = &sketch->mixed[sketch->samples % TRACE_SKETCH_RUN];
    sketch->rolling = rotate(sketch->rolling, 1) ^ mixed;
    if (sketch->samples >= TRACE_SKETCH_RUN)
        sketch->rolling ^= rotate(*slot, TRACE_SKETCH_RUN);
    *slot = mixed;
    sketch->samples++;
    if (sketch->samples >= TRACE_SKETCH_RUN)
        keep_hash(sketch, mix(sketch->rolling));
}

static void end_stamp(struct trace_sketch *sketch)
{
    sketch->stamps += sketch->rows > 0;
    sketch->repeated += sketch->rows > 1 && sketch->equal_rows;
}

static void add_sample(struct trace_sketch *sketch, int64_t t_s, double value)
{
    uint64_t mixed = mix(bits_of(value) ^ 0x9e3779b97f4a7c15ULL);
    bool equal = sketch->samples > 0 && is_equal(sketch->last, value);
    if (sketch->samples == 0)
        sketch->first_s = t_s;
    sketch->changes += sketch->samples > 0 && !equal;
    if (sketch->rows > 0 && t_s == sketch->last_s) {
        sketch->rows++;
        sketch->equal_rows &= equal;
    } else {
        end_stamp(sketch);
        sketch->rows = 1;
        sketch->equal_rows = true;
    }
    sketch->last = value;
    sketch->last_s = t_s;
    sketch->times = mix(sketch->times ^ (uint64_t)t_s);
    sketch->stamped = mix(mix(sketch->stamped ^ mixed) ^ (uint64_t)t_s);
    add_to_run(sketch, mixed);
}

void trace_sketch_begin(struct trace_sketch *sketch, int64_t origin_s)
{
    *sketch = (struct trace_sketch){.origin_s = origin_s, .stamped = mix((uint64_t)origin_s)};
}

void trace_sketch_add(struct trace_sketch *sketch, const int64_t *t_s, const double *values,
                      size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_sample(sketch, t_s[i], values[i]);
}

void trace_sketch_end(struct trace_sketch *sketch)
{
    end_stamp(sketch);
    sketch->rows = 0;
}

bool trace_sketch_shares(const struct trace_sketch *a, const struct trace_sketch *b)
{
    size_t shared = 0, least = a->hash_count < b->hash_count ? a->hash_count : b->hash_count;
    for (size_t i = 0, k = 0; i < a->hash_count && k < b->hash_count;) {
        shared += a->hashes[i] == b->hashes[k];
        if (a->hashes[i] <= b->hashes[k])
            i++;
        else
            k++;
    }
    return shared >= HASHES_LEAST && 2 * shared >= least;
}

bool trace_sketch_repeats_rows(const struct trace_sketch *sketch)
{
    return sketch->stamps >= STAMPS_LEAST && sketch->changes >= STAMPS_LEAST / 2 &&
           sketch->repeated * 100 >= sketch->stamps * 98;
}

static size_t level_of(double value)
{
    double level = value > 1 ? TRACE_LEVELS_OCTAVE * log2(value) : 0;
    return level < TRACE_LEVELS - 1 ? (size_t)level : TRACE_LEVELS - 1;
}

void trace_intervals_add(struct trace_intervals *intervals, const int64_t *t_s,
                         const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t span_s = t_s[i] - intervals->last_s;
        if (intervals->has_last && span_s <= GAP_S) {
            intervals->levels[intervals->last_level].count++;
            intervals->levels[intervals->last_level].seconds += (uint32_t)span_s;
        }
        intervals->last_s = t_s[i];
        intervals->last_level = level_of(values[i]);
        intervals->has_last = true;
    }
}

void trace_intervals_sum(const struct trace_intervals *intervals, double low, double high,
                         double *count, double *seconds)
{
    for (size_t level = level_of(low); level <= level_of(high); level++) {
        *count += intervals->levels[level].count;
        *seconds += intervals->levels[level].seconds;
    }
}

void still_spans_begin(struct still_spans *spans, const struct still_spans *limits)
{
    memset(spans, 0, sizeof *spans);
    spans->limits = limits;
    spans->count = limits ? limits->count : 0;
}

/* Of those without limits the longest are kept, in order. */
static void keep_longest(struct still_spans *spans, const struct still_span *span)
{
    size_t at = spans->count < STILL_SPANS ? spans->count++ : STILL_SPANS - 1;
    if (span->samples <= spans->spans[at].samples)
        return;
    for (; at > 0 && spans->spans[at - 1].samples < span->samples; at--)
        spans->spans[at] = spans->spans[at - 1];
    spans->spans[at] = *span;
}

/* The part of a span that is within each limit; its samples are counted as evenly spaced. */
static void keep_within(struct still_spans *spans, const struct still_span *span)
{
    for (size_t i = 0; i < spans->count; i++) {
        const struct still_span *limit = &spans->limits->spans[i];
        int64_t from_s = span->from_s > limit->from_s ? span->from_s : limit->from_s;
        int64_t to_s = span->to_s < limit->to_s ? span->to_s : limit->to_s;
        if (to_s <= from_s || to_s - from_s <= spans->spans[i].to_s - spans->spans[i].from_s)
            continue;
        double share = (double)(to_s - from_s) / (double)(limit->to_s - limit->from_s);
        spans->spans[i] = (struct still_span){
            from_s, to_s, (size_t)(share * (double)limit->samples + 0.5), span->value};
    }
}

static void end_span(struct still_spans *spans)
{
    if (spans->open.samples < 2)
        return;
    if (spans->limits)
        keep_within(spans, &spans->open);
    else if (spans->open.samples >= STILL_LEAST)
        keep_longest(spans, &spans->open);
}

void still_spans_add(struct still_spans *spans, const int64_t *t_s, const double *values,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (spans->open.samples > 0 && is_equal(spans->open.value, values[i])) {
            spans->open.to_s = t_s[i];
            spans->open.samples++;
            continue;
        }
        end_span(spans);
        spans->open = (struct still_span){t_s[i], t_s[i], 1, values[i]};
    }
}

void still_spans_end(struct still_spans *spans)
{
    end_span(spans);
    spans->open.samples = 0;
}
