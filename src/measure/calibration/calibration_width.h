/* How good energies of a calibrated GPU are: by what the estimator states of a load that is played
 * to the sensor. */
#ifndef TARE_MEASURE_CALIBRATION_CALIBRATION_WIDTH_H
#define TARE_MEASURE_CALIBRATION_CALIBRATION_WIDTH_H

#include "measure/calibration/calibration.h"

/* The share of an energy of so many seconds that its half-width comes to under a load in steps of
 * about a second; row: as calibration_profile takes it. */
struct reading calibration_half_width_share(const struct calibration *calibration,
                                            const struct sensor_profile *row, double seconds);

#endif
