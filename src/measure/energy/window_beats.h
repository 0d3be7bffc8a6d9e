/* window_beats: does power look as if the load were in step with the sensor? Of a load that repeats about as often as the sensor looks,
 * the samples show a slower one, or one level of it alone. Some of these samples a slow load would not give. Times in seconds. */
#ifndef TARE_MEASURE_ENERGY_WINDOW_BEATS_H
#define TARE_MEASURE_ENERGY_WINDOW_BEATS_H

#include "measure/energy/window.h"
#include "measure/energy/window_shape.h"

struct beats {
    bool suspected;
    double power_min_w, power_max_w; /* of all samples that were checked; there is none: INFINITY, -INFINITY */
};

/* In the window [from,to] and some seconds around it. */
struct beats beats_find(const struct shape *shape, double from, double to);

/* What a load that repeats exactly as often as the sensor shows its power may draw more or less, on average, than the mean that is shown
 * (W, at most): no reading tells it from a steady one. unseen_share: of the time; 0: what is shown are averages of all power, one each
 * interval_s, which an exponential mean or a boxcar of another length than the interval weighs unevenly. Power lies between 0 and the
 * sensor's limit, which must be known. */
double beats_hidden_w(const struct window_sensor *sensor, double unseen_share, double interval_s, double mean_w);

/* How evenly a sensor looked at all parts of a job's steps. */
struct beats_looks {
    size_t count;  /* samples within steps */
    double part_s; /* how much of the time lies in steps that were marked */
    double uneven; /* 0: evenly, as far as so many samples can be; 1: always at the same part, or nobody can tell */
};

/* In the window [from,to]. update_s: the sensor's period. steps: when each begins, in order; the last one is an end alone. */
struct beats_looks beats_looks_at(const struct shape *shape, double update_s, const double *steps, size_t step_count, double from, double to);

#endif
