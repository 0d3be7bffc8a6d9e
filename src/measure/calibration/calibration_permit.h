/* calibration_permit: whether a GPU may be calibrated though no person asked for it. */
#ifndef TARE_MEASURE_CALIBRATION_CALIBRATION_PERMIT_H
#define TARE_MEASURE_CALIBRATION_CALIBRATION_PERMIT_H

#include "measure/calibration/calibration.h"

/* Whether this look allows a calibration that no person asked for: the GPU is whole, empty, idle
 * and not slowed down, has no display, and the driver lists its processes. False: err says what
 * does not hold. Pure. */
bool calibration_permits(const struct calibration_look *look, struct err *err);

#endif
