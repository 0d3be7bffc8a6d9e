/* sensor_profile: how the power sensor of each generation of GPUs behaves, as far as anybody has published or measured
 * it. What the meter hands to the window estimator, until a calibration of the very GPU replaces it. */
#ifndef TARE_MEASURE_ENERGY_SENSOR_PROFILE_H
#define TARE_MEASURE_ENERGY_SENSOR_PROFILE_H

#include "measure/energy/window.h"

/* Of one sensor. A calibration fills in the same. */
struct sensor_behaviour {
    bool told;                    /* averaging_ns and delay_ns are so; else they are the most that they may be */
    int64_t update_ns, jitter_ns; /* between two updates, and its standard deviation */
    enum window_averaging averaging;
    int64_t averaging_ns; /* length of the boxcar, time constant of the exponential */
    int64_t delay_ns;     /* from the end of what is averaged to the update that shows it */
    double looked_share;  /* of an update period; at 1 all power is looked at */
    bool counter_current; /* the counter holds all energy up to its update: only samples are averaged */
};

/* By which share what a sensor shows may differ from what was drawn: the same for all that it shows, so no reading tells
 * it. */
struct sensor_gain {
    double bound;       /* at most so much, anywhere within as likely (GUM, 4.3.7); 0: nobody states one */
    const char *source; /* who states it */
};

extern const struct sensor_gain sensor_gain_rapl;

struct sensor_profile {
    const char *label;     /* "H100 (arXiv 2312.02741)": what results name */
    const char *models[8]; /* words of the model's name, each followed by something that is no digit */
    struct sensor_behaviour behaviour;
    const char *accuracy;    /* the sensor's own, as its vendor states it; "unknown" */
    struct sensor_gain gain; /* the same as a figure */
    const char *source;      /* of each figure */
};

extern const struct sensor_profile sensor_profile_unknown; /* the widest bounds */

/* The row of a model as the driver names it ("NVIDIA H100 80GB HBM3"); sensor_profile_unknown when it is in none. */
const struct sensor_profile *sensor_profile_find(const char *model);

void sensor_behaviour_apply(const struct sensor_behaviour *behaviour, struct window_sensor *sensor);

#endif
