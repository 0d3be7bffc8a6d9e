/* window_index: what all windows of a series share: the running energy and what covers which time. Private to
 * window*.c. */
#ifndef TARE_MEASURE_ENERGY_WINDOW_INDEX_H
#define TARE_MEASURE_ENERGY_WINDOW_INDEX_H

#include "measure/energy/window_smooth.h"
#include "stats/interval.h"

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
/* All parts of the uncertainty of the energy between two moments: what the readings tell, what edges add, how the sensor
 * averages, and what it does not look at. */
void index_parts(const struct window_index *index, const struct index_moment *from, const struct index_moment *to,
                 struct window_parts *out);

#endif
