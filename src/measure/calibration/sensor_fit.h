/* sensor_fit: which averaging of a known load gives the values that a sensor showed: length and
 * delay by maximum likelihood, with intervals by its profile. For sensor_learn.c. */
#ifndef TARE_MEASURE_CALIBRATION_SENSOR_FIT_H
#define TARE_MEASURE_CALIBRATION_SENSOR_FIT_H

#include "measure/calibration/sensor_learn.h"

/* A new value: seen at t_s ± dt_s (uniform), in seconds after the origin. */
struct fit_update {
    double t_s, dt_s;
    double value;    /* W */
    double spread_w; /* standard deviation of its own; 0: only the sensor's noise */
};

struct fit_input {
    const struct load_interval *loads;
    size_t load_count;
    int64_t origin_ns;
    const struct fit_update *updates; /* in order of time */
    size_t count;
    double rise_w;  /* of the load, about */
    double noise_w; /* standard deviation of one value */
};

enum fit_kind { FIT_BOXCAR, FIT_EXPONENTIAL };

struct fit_result {
    double length_s, length_half_s, delay_s, delay_half_s; /* 95 % */
    bool instant;                                          /* a length of 0 fits as well */
    /* -2 log likelihood, but for a constant */
    double score;
    double chi_per_update; /* about 1 for the right kind */
};

/* False: too few updates near the steps. */
bool sensor_fit(const struct fit_input *input, enum fit_kind kind, struct fit_result *out);

/* By how much later than a step its middle is shown, whatever the shape between: what is missing
 * after long steps, over their height. Half the difference between rises and falls is in half_s.
 * False: too few such steps, or power does not come to rest within half a second. */
bool sensor_lag(const struct fit_input *input, double *lag_s, double *half_s);

#endif
