/* time_scale: TARE_TIME_SCALE, for tests: tare's own waits get so much shorter, and so does what
 * the played driver (tests/fake) has happen. With a real driver it is refused: GPUs take their time
 * to cool and to be idle. */
#ifndef TARE_MACHINE_SENSORS_TIME_SCALE_H
#define TARE_MACHINE_SENSORS_TIME_SCALE_H

#include "machine/gpu/sensor.h"

#define TIME_SCALE_VARIABLE "TARE_TIME_SCALE"

/* From 0.001 to 1. NULL or "": 1. */
bool time_scale_read(const char *text, double *out, struct err *err);

/* False: the scale is neither 1 nor 0 (which is 1), and the library (NULL: the usual one) is that
 * of a real driver. */
bool time_scale_permitted(double scale, const struct gpu_backend *backend, const char *library,
                          struct err *err);

#endif
