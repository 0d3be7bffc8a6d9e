/* window_index: builds the index of samples and knots from which energies are read. */
#ifndef TARE_MEASURE_ENERGY_WINDOW_INDEX_H
#define TARE_MEASURE_ENERGY_WINDOW_INDEX_H

#include "measure/energy/window_private.h"

struct index_moment index_moment(const struct window_index *index, double t);

/* All parts of the uncertainty of the energy between two moments: what the readings tell, what
 * edges add, how the sensor averages, and what it does not look at. */
void index_parts(const struct window_index *index, const struct index_moment *from,
                 const struct index_moment *to, struct window_parts *out);

/* How much more or less may have been drawn between them, J, by a load in step with the sensor;
 * invalid: the most that the device draws is not known. */
struct reading index_aliasing_j(const struct window_index *index, const struct index_moment *from,
                                const struct index_moment *to);

#endif
