/* window_beats: does power look as if the load were in step with the sensor? Of a load that repeats about as often as the sensor looks,
 * the samples show a slower one, or one level of it alone. Some of these samples a slow load would not give. Times in seconds. */
#ifndef TARE_MEASURE_ENERGY_WINDOW_BEATS_H
#define TARE_MEASURE_ENERGY_WINDOW_BEATS_H

#include "measure/energy/window_shape.h"

struct beats {
    bool suspected;
    double power_min_w, power_max_w; /* of all samples that were checked; there is none: INFINITY, -INFINITY */
};

/* In the window [from,to] and some seconds around it. */
struct beats beats_find(const struct shape *shape, double from, double to);

#endif
