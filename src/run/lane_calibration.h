/* Before an experiment: the sensors of the lane's GPUs are calibrated where that was not done yet
 * and the plan uses them for long enough. A process of its own does it (doctor/calibrator.h), which
 * ends with this one. Whatever comes of it, the experiment follows. */
#ifndef TARE_RUN_LANE_CALIBRATION_H
#define TARE_RUN_LANE_CALIBRATION_H

#include "run/lane.h"

/* lane_calibration.c */
void phase_calibrating(struct lane *lane);
void lane_calibration_cancel(struct lane *lane); /* nothing is kept */
void lane_calibration_fini(struct lane *lane);

#endif
