/* sensor_learn: how a GPU's power sensor behaves, learnt from loads of known times and what was
 * read meanwhile. Pure: arrays in, figures with their uncertainty out. What is learnt is of sensor
 * and GPU together: power that rises slowly looks like a sensor that averages. */
#ifndef TARE_MEASURE_CALIBRATION_SENSOR_LEARN_H
#define TARE_MEASURE_CALIBRATION_SENSOR_LEARN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Times: CLOCK_MONOTONIC. Between two intervals there is no load (level 0). In order of time, none
 * overlaps. */
struct load_interval {
    int64_t begin_ns, end_ns;
    double level; /* 0 to 1 */
};

/* One call: the value is of some moment between its begin and its end. A sample that the driver
 * stamped has both alike. */
struct sensor_reading {
    int64_t before_ns, after_ns;
    double value; /* W, or J of a counter */
};

struct learnt {
    bool known;
    double value, half_width; /* 95 % */
    const char *why;          /* of what is not known; static */
};

enum sensor_averaging {
    AVERAGING_UNKNOWN,
    AVERAGING_INSTANT,
    AVERAGING_BOXCAR,
    AVERAGING_EXPONENTIAL
};

struct sensor_learnt {
    struct learnt update_period_s; /* mean time from one update to the next */
    struct learnt jitter_s;        /* standard deviation of that time */
    enum sensor_averaging averaging;
    const char *averaging_why; /* of AVERAGING_UNKNOWN; static */
    struct learnt averaging_s; /* length of the boxcar, or time constant of the exponential */
    struct learnt delay_s;     /* from the end of what was averaged until it can be read */
    /* by so much later is the middle of a step shown, whatever the averaging is */
    struct learnt lag_s;
    struct learnt looked_share; /* of the time that enters any value; instant: about 0 */
    struct learnt quantum;      /* step between values: W, or J of a counter */
    struct learnt noise_w;      /* standard deviation of one value while the load is steady */
    struct learnt idle_w, load_w;
    size_t updates; /* from which all this was learnt */
};

/* "boxcar" */
const char *sensor_averaging_name(enum sensor_averaging averaging);

/* Power readings; idle stands before, between and after the loads, some of which last a second or
 * longer. */
void sensor_learn_power(const struct load_interval *loads, size_t load_count,
                        const struct sensor_reading *readings, size_t count,
                        struct sensor_learnt *out);

/* The same of an energy counter: learnt from what it adds at each update. */
void sensor_learn_counter(const struct load_interval *loads, size_t load_count,
                          const struct sensor_reading *readings, size_t count,
                          struct sensor_learnt *out);

/* Energy of the counter over that of the power readings, for the time in which both were read. */
struct learnt sensor_learn_agreement(const struct sensor_reading *power, size_t power_count,
                                     const struct sensor_reading *counter, size_t counter_count);

/* Seconds from from_ns until the readings stay within band of base for the rest of the readings. */
struct learnt sensor_learn_return(const struct sensor_reading *readings, size_t count,
                                  int64_t from_ns, double base, double band);

/* The loads from which a power sensor is learnt (sensor_learn.h). Pure. In three parts, since the
 * second needs the update period that the first has shown:
 *   steps  rest, and single loads of a second or more with rest between them: levels, noise, delay,
 * averaging, period waves  square waves with the period of the update, half on and half off, each
 * burst a little later in that period: what the sensor does not look at shows as power that depends
 * on the phase (arXiv 2312.02741) rest   nothing: idle power, how long power and temperature take
 * to be back */

enum { SCHEDULE_LOADS_MAX = 4096 };
#define SCHEDULE_SECONDS_MIN 20.0
#define SCHEDULE_SECONDS_MAX 600.0

struct sensor_schedule {
    struct load_interval loads[SCHEDULE_LOADS_MAX]; /* times from 0, the part's begin */
    size_t count;
    int64_t end_ns; /* of the part, with the rest at its end */
};

/* The steps' part takes about half of seconds, the waves' a fifth, the rest the remainder. seconds:
 * within MIN and MAX. */
void sensor_schedule_steps(double seconds, struct sensor_schedule *out);

/* period_s: of the update; what is not within 4 ms and 1 s (0: unknown) is taken as 100 ms. */
void sensor_schedule_waves(double seconds, double period_s, struct sensor_schedule *out);
void sensor_schedule_rest(double seconds, struct sensor_schedule *out);

#endif
