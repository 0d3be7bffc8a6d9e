/* sensor_schedule: the loads from which a power sensor is learnt (sensor_learn.h). Pure. In three parts, since the
 * second needs the update period that the first has shown:
 *   steps  rest, and single loads of a second or more with rest between them: levels, noise, delay, averaging, period
 *   waves  square waves with the period of the update, half on and half off, each burst a little later in that period:
 *          what the sensor does not look at shows as power that depends on the phase (arXiv 2312.02741)
 *   rest   nothing: idle power, how long power and temperature take to be back */
#ifndef TARE_MEASURE_CALIBRATION_SENSOR_SCHEDULE_H
#define TARE_MEASURE_CALIBRATION_SENSOR_SCHEDULE_H

#include "measure/calibration/sensor_learn.h"

enum { SCHEDULE_LOADS_MAX = 4096 };
#define SCHEDULE_SECONDS_MIN 20.0
#define SCHEDULE_SECONDS_MAX 600.0

struct sensor_schedule {
    struct load_interval loads[SCHEDULE_LOADS_MAX]; /* times from 0, the part's begin */
    size_t count;
    int64_t end_ns; /* of the part, with the rest at its end */
};

/* The steps' part takes about half of seconds, the waves' a fifth, the rest the remainder. seconds: within MIN and MAX. */
void sensor_schedule_steps(double seconds, struct sensor_schedule *out);

/* period_s: of the update; what is not within 4 ms and 1 s (0: unknown) is taken as 100 ms. */
void sensor_schedule_waves(double seconds, double period_s, struct sensor_schedule *out);
void sensor_schedule_rest(double seconds, struct sensor_schedule *out);

#endif
