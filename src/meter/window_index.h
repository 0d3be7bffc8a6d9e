/* window_index: what all windows of a series share: the running energy and what covers which time. Private to
 * window*.c. */
#ifndef TARE_METER_WINDOW_INDEX_H
#define TARE_METER_WINDOW_INDEX_H

#include "meter/window_knots.h"
#include "meter/window_shape.h"
#include "meter/window_smooth.h"
#include "meter/window_spans.h"

struct window_index {
    struct window_sensor sensor;
    int64_t origin_ns;
    bool empty;
    struct shape shape;
    struct knots knots;
    struct smooth smooth;
    struct spans traced;  /* where the trace has no gap */
    struct spans counted; /* between the first and the last knot of each segment */
    struct spans covered; /* either */
    double lag_s;         /* the running energy shows what was drawn so long before */
    double power_quantum_w;
    double smoothed_s; /* and of an exponential mean, with this time constant */
};

/* A moment, and the running energy there. */
struct index_moment {
    double t, energy_j;
    size_t segment;
    struct shape_sum sum;
    struct smooth_place place;
};

struct index_moment index_moment(const struct window_index *index, double t);
/* Variance of the running energy between two moments: of what the readings tell, without what edges add. */
double index_variance(const struct window_index *index, const struct index_moment *from, const struct index_moment *to);
/* What the two edges add: samples that are means, and power that varied unseen. */
double index_edge_variance(const struct window_index *index, const struct index_moment *from,
                           const struct index_moment *to);
/* What comes on top as a half-width: how the sensor averages, and what it does not look at. */
double index_bound(const struct window_index *index, const struct index_moment *from, const struct index_moment *to);

#endif
