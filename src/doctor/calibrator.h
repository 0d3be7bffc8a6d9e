/* calibrator: the process in which a run has one of its GPUs calibrated. It ends with the run. */
#ifndef TARE_DOCTOR_CALIBRATOR_H
#define TARE_DOCTOR_CALIBRATOR_H

#include "base/err.h"
#include "base/text.h"
#include "machine/gpu/vendor.h"
#include "measure/calibration/calibration.h"

struct calibrator_options {
    const struct gpu_vendor *vendor;
    const char *library; /* of the driver; NULL: the usual one */
    const char *device;  /* UUID or the driver's number */
    double time_scale;   /* machine/sensors/time_scale.h */
};

/* Calibrates it, where all that calibration_permits and calibrating_suits_machine ask for holds,
 * and prints what came of it on standard output, as a line of JSON: outcome, reason, seconds,
 * energy_j, memory_bytes, calibration. Gives the exit code, 0 where there is a calibration. The
 * GPU's lock is the caller's. */
int calibrator_main(const struct calibrator_options *options);

/* How a GPU is measured of which no person said that it may be loaded. seconds: of the load. */
struct calibration_options calibrator_how(const struct calibrator_options *options, double seconds);

/* Keeps it where jobs cannot write and later runs look: root's folder, or the user's state folder.
 * Sets its digest. (calibrate.c) */
bool calibrate_keep(struct calibration *found, struct err *err);

#endif
