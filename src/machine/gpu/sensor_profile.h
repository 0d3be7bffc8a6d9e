/* sensor_profile: how the power sensor of a model of GPU behaves, as far as anybody has published
 * or measured it. Each vendor has its rows (vendor.h); measure/energy/sensor_behaviour.h finds
 * one. */
#ifndef TARE_MACHINE_GPU_SENSOR_PROFILE_H
#define TARE_MACHINE_GPU_SENSOR_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

/* How power becomes a sample: the power of an instant, the mean of so long before it, or a
 * first-order filter. */
enum window_averaging { WINDOW_INSTANT, WINDOW_BOXCAR, WINDOW_EXPONENTIAL };

/* Of one sensor. A calibration fills in the same. */
struct sensor_behaviour {
    /* averaging_ns and delay_ns are so; else they are the most that they may be */
    bool told;
    int64_t update_ns, jitter_ns; /* between two updates, and its standard deviation */
    enum window_averaging averaging;
    /* length of the boxcar, time constant of the exponential */
    int64_t averaging_ns;
    /* from the end of what is averaged to the update that shows it */
    int64_t delay_ns;
    /* standard uncertainties, of a calibration; 0: nobody tells */
    double averaging_sd_ns, delay_sd_ns;
    /* where told is not: so much later the middle of what is averaged is shown, by a calibration */
    int64_t lag_ns;
    double lag_sd_ns; /* its standard uncertainty; 0: not known */
    /* the counter shows the energy up to so long before; below 0 where the end of each period
     * counts for all of it */
    int64_t counter_lag_ns;
    double counter_lag_sd_ns; /* its standard uncertainty; 0: not known */
    double looked_share;      /* of an update period; at 1 all power is looked at */
    bool share_unsure;        /* looked_share is the least that it may be; it may be 1 */
    bool share_measured;      /* looked_share is that of the counter */
    /* the counter holds all energy up to its update: only samples are averaged */
    bool counter_current;
};

/* By which share what a sensor shows may differ from what was drawn: the same for all that it
 * shows, so no reading tells it. */
struct sensor_gain {
    /* at most so much, anywhere within as likely (GUM, 4.3.7); 0: nobody states one */
    double bound;
    const char *source; /* who states it */
};

struct sensor_profile {
    const char *label; /* "H100 (arXiv 2312.02741)": what results name */
    /* words of the model's name, each followed by something that is no digit */
    const char *models[8];
    struct sensor_behaviour behaviour;
    /* of the power reading, where there is no counter; NULL: behaviour */
    const struct sensor_behaviour *reading;
    /* the share of the time that counters of these models were measured to see: any in this range
     * is equally likely; 0: not measured */
    double counter_least, counter_most;
    /* the sensor's own, as its vendor states it; "unknown" */
    const char *accuracy;
    struct sensor_gain gain; /* the same as a figure */
    const char *source;      /* of each figure */
};

#endif
