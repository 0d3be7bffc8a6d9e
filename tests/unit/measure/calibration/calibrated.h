/* calibrated: an H200 with a calibration. */
#ifndef TARE_TESTS_CALIBRATED_H
#define TARE_TESTS_CALIBRATED_H

#include "base/json_print.h"
#include "measure/calibration/calibration_width.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"

#include <string.h>

static inline struct learnt figure(double value, double half_width)
{
    return (struct learnt){.known = true, .value = value, .half_width = half_width};
}

static inline struct calibration calibrated_h200(void)
{
    struct calibration found = {
        .uuid = "GPU-1", .driver = "580.1", .name = "NVIDIA H200", .made_s = 1795422320};
    struct sensor_learnt *counter = &found.sensors[CALIBRATION_COUNTER],
                         *samples = &found.sensors[CALIBRATION_SAMPLES];
    *counter = (struct sensor_learnt){.averaging = AVERAGING_BOXCAR, .updates = 500};
    counter->update_period_s = figure(0.1, 0.0001);
    counter->jitter_s = figure(0.001, 0.0015);
    counter->averaging_s = figure(0.0995, 0.0015);
    counter->delay_s = figure(0.006, 0.003);
    counter->looked_share = figure(0.995, 0.015);
    samples->lag_s = figure(0.014, 0.007);
    return found;
}

#endif
