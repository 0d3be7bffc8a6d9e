/* window_knots: finds the update instants of an energy counter and the faults between them. */
#ifndef TARE_MEASURE_ENERGY_WINDOW_KNOTS_H
#define TARE_MEASURE_ENERGY_WINDOW_KNOTS_H

#include "measure/energy/window_private.h"

void knots_fini(struct knots *knots);
/* Always gives at least one segment. */
void knots_read(struct knots *knots, const struct series *series,
                const struct window_sensor *sensor, int64_t origin_ns);
/* Mean and variance of the update instant. */
void knot_moments(const struct knot *knot, double *mean, double *variance);

#endif
