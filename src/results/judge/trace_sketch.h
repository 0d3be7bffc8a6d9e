/* trace_sketch: a trace of samples reduced to a fixed size: enough to recognise the same samples
 * in another trace, rows that are there more than once, and a value that does not change. */
#ifndef TARE_RESULTS_JUDGE_TRACE_SKETCH_H
#define TARE_RESULTS_JUDGE_TRACE_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Hashes are of so many consecutive samples; the smallest are kept. */
#define TRACE_SKETCH_RUN    8
#define TRACE_SKETCH_HASHES 32

struct trace_sketch {
    int64_t origin_s;
    size_t samples;
    int64_t first_s, last_s;              /* since origin_s */
    size_t changes;                       /* samples that differ from the one before */
    uint64_t values, times, stamped;      /* hashes of all values; of all times; of both */
    uint64_t hashes[TRACE_SKETCH_HASHES]; /* ascending */
    size_t hash_count;
    size_t stamps, repeated; /* different times; of them those with several equal rows */

    /* While samples are added. */
    double last;
    size_t rows; /* with the last time */
    bool equal_rows;
    uint64_t mixed[TRACE_SKETCH_RUN], rolling; /* hashes of the last samples; of them all */
};

/* origin_s: the moment, seconds since 1970, from which the times of trace_sketch_add count. */
void trace_sketch_begin(struct trace_sketch *sketch, int64_t origin_s);

/* Times ascend. */
void trace_sketch_add(struct trace_sketch *sketch, const int64_t *t_s, const double *values,
                      size_t count);

/* Once, after the last sample. */
void trace_sketch_end(struct trace_sketch *sketch);

/* Whether at least half of the hashes of the one with fewer are also the other's, and enough to be
 * no chance. Times do not matter. */
bool trace_sketch_shares(const struct trace_sketch *a, const struct trace_sketch *b);

/* Whether each time has several rows of one value, while the values change from time to time. */
bool trace_sketch_repeats_rows(const struct trace_sketch *sketch);

/* How long after a sample the next one came, by its value: TRACE_LEVELS_OCTAVE levels an octave,
 * from 1 on. */
#define TRACE_LEVELS_OCTAVE 8
#define TRACE_LEVELS        (14 * TRACE_LEVELS_OCTAVE)

struct trace_intervals {
    struct {
        uint32_t count, seconds;
    } levels[TRACE_LEVELS];
    int64_t last_s;
    size_t last_level;
    bool has_last;
};

void trace_intervals_add(struct trace_intervals *intervals, const int64_t *t_s,
                         const double *values, size_t count);

/* Adds those of the values from low to high. */
void trace_intervals_sum(const struct trace_intervals *intervals, double low, double high,
                         double *count, double *seconds);

/* Consecutive samples of one value. */
struct still_span {
    int64_t from_s, to_s;
    size_t samples;
    double value;
};

#define STILL_SPANS 8

/* The longest spans of a trace, longest first; or, with limits, the longest within each limit. */
struct still_spans {
    struct still_span spans[STILL_SPANS];
    size_t count;
    struct still_span open;
    /* NULL: none; the i-th span is then within the i-th of them */
    const struct still_spans *limits;
};

void still_spans_begin(struct still_spans *spans, const struct still_spans *limits);
void still_spans_add(struct still_spans *spans, const int64_t *t_s, const double *values,
                     size_t count);
void still_spans_end(struct still_spans *spans);

#endif
