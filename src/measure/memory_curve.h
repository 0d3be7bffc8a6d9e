/* memory_curve: how much memory something had in the course of time, in a bounded number of points: when they are used up, two
 * and two become one. Peaks are never lost. Pure. */
#ifndef TARE_MEASURE_MEMORY_CURVE_H
#define TARE_MEASURE_MEMORY_CURVE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { MEMORY_CURVE_POINTS = 512 };

struct memory_curve {
    double step_s; /* of a point; 0: nothing was added yet */
    size_t count;
    double points[MEMORY_CURVE_POINTS]; /* the highest within each step, in bytes; below 0: nothing was read in it */
    double peak_bytes;
    bool any;
};

/* t_s: since the beginning; what is before it, or no number, is left out. */
void memory_curve_add(struct memory_curve *curve, double t_s, double bytes);

/* {"peak_bytes", "step_s", "bytes": [n, null, ...]}; null when nothing was added. */
json_t *memory_curve_json(const struct memory_curve *curve);

#endif
