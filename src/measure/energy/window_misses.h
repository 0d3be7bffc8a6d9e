/* window_misses: the half-width of an energy over all sensors and loads that fit the trace. */
#ifndef TARE_MEASURE_ENERGY_WINDOW_MISSES_H
#define TARE_MEASURE_ENERGY_WINDOW_MISSES_H

#include "measure/energy/window_private.h"

/* window_misses: the half-width of an energy over all sensors that it may be and loads that it
 * may have been. */

/* All that is known of power are the samples: there is no counter, or it adds up these. */
bool misses_summed(const struct window_index *index);
/* The share of the time in which the sensor does not look, at most. */
double misses_unseen(const struct window_index *index);
/* The index's summed, from its knots and sums. */
double misses_learn(const struct window_index *index);
/* rest_j, between_j: standard uncertainties of what is not missed; of what the readings leave
 * open between them. */
double misses_half_width(const struct window_index *index, const struct index_moment *from,
                         const struct index_moment *to, double rest_j, double between_j);

#endif
