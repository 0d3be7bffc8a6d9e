/* sensor_behaviour: how the power sensor of a model of GPUs behaves, as far as it is known. */
#ifndef TARE_MEASURE_ENERGY_SENSOR_BEHAVIOUR_H
#define TARE_MEASURE_ENERGY_SENSOR_BEHAVIOUR_H

#include "machine/gpu/vendor.h"
#include "measure/energy/window.h"

/* How the power sensor of each generation of GPUs behaves, as far as anybody has published or
 * measured it. What the meter hands to the window estimator, until a calibration of the very GPU
 * replaces it. */

extern const struct sensor_gain sensor_gain_rapl;

extern const struct sensor_profile sensor_profile_unknown; /* the widest bounds */

/* The vendor's row of a model as the driver names it ("NVIDIA H100 80GB HBM3");
 * sensor_profile_unknown when it is in none, or vendor is NULL. */
const struct sensor_profile *sensor_profile_find(const struct gpu_vendor *vendor,
                                                 const char *model);

void sensor_behaviour_apply(const struct sensor_behaviour *behaviour, struct window_sensor *sensor);

#endif
