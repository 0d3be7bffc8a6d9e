/* memory_curve: how much memory something had in the course of time, in a bounded number of points:
 * when they are used up, two and two become one. Peaks are never lost. Pure. */
#ifndef TARE_MEASURE_MEMORY_CURVE_H
#define TARE_MEASURE_MEMORY_CURVE_H

#include "machine/gpu/ledger.h"

enum { MEMORY_CURVE_POINTS = 512 };

struct memory_curve {
    double step_s; /* of a point; 0: nothing was added yet */
    size_t count;
    /* the highest within each step, in bytes; below 0: nothing was read in it */
    double points[MEMORY_CURVE_POINTS];
    double peak_bytes;
    bool any;
};

/* t_s: since the beginning; what is before it, or no number, is left out. */
void memory_curve_add(struct memory_curve *curve, double t_s, double bytes);

/* {"peak_bytes", "step_s", "bytes": [n, null, ...]}; null when nothing was added. */
json_t *memory_curve_json(const struct memory_curve *curve);

/* counted: what a job has of one GPU by its own books (machine/gpu/ledger.h), set against what the
 * driver tells of it: peaks that no sample sees, and what its CUDA contexts hold. */

struct counted {
    bool any;
    struct ledger_gpu last; /* as it was read last: */
    int64_t since_ns;       /* from the first look that saw the same on; CLOCK_MONOTONIC */
    double last_s;          /* after the attempt's start, also where there was nothing to see */
    /* the most that the driver told beyond what was held; below 0: not known */
    double context_bytes;
    /* of what was held, contexts not counted; no peak is missing in it */
    struct memory_curve curve;
};

void counted_begin(struct counted *counted);

/* Now, now_s after the attempt's start. */
void counted_look(struct counted *counted, const struct ledger *ledger, const char *uuid,
                  int64_t now_ns, double now_s);

/* The driver told so much of the job at t_ns, which was not after the last look. */
void counted_compare(struct counted *counted, int64_t t_ns, double bytes);

/* {"processes", "peak_bytes" (contexts and all), "held_peak_bytes" (of one process),
 * "sum_peak_bytes" (of all that were alive together), "context_bytes", "curve"}; peak_bytes is null
 * where it is not known to the byte. null: nothing was counted. */
json_t *bytes_json(bool known, double bytes); /* null for what is not known */
json_t *memory_counted_json(const struct counted *counted);

#endif
