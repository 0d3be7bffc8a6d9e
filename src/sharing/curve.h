/* curve: the memory of one training alone, as the run kept it: its shape, and how much may hide between two looks.
 * Pure. */
#ifndef TARE_SHARING_CURVE_H
#define TARE_SHARING_CURVE_H

#include "base/reading.h"
#include "measure/memory_curve.h"

#include <jansson.h>
#include <stdbool.h>

/* Bytes but startup_s. */
struct curve_shape {
    struct reading peak;
    struct reading steady;    /* the median of what was read from then on: */
    struct reading startup_s; /* when nine tenths of the median of the second half were first reached */
    struct reading context;   /* the first reading above 0, where that lies below the steady state: the context has no
                                 more than that */
    struct reading ripple;    /* the median step between neighbouring readings after the start-up: so much comes and
                                 goes within a look */
};

/* What memory_curve_json wrote. False: null, or no such thing. */
bool curve_from_json(const json_t *json, struct memory_curve *out);

void curve_shape(const struct memory_curve *curve, struct curve_shape *out);

/* Puts what the run counted (memory.gpus[].counted) over what the driver told: as high as either at any time, and its
 * peak as high as counted. False: it was not counted to the byte, the curve stays. */
bool curve_count(const json_t *counted, struct memory_curve *curve);

/* Each point is so much higher, as far as the peak. */
void curve_raise(struct memory_curve *curve, double bytes);

/* Each point that was not read becomes the larger of its neighbours that were, so that nothing is missed. */
void curve_fill(struct memory_curve *curve);

#endif
