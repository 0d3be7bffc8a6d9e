/* A calibration: what its children see is gathered, and it ends when somebody else uses the GPU. */
#ifndef TARE_MEASURE_CALIBRATION_CALIBRATION_MEASURE_H
#define TARE_MEASURE_CALIBRATION_CALIBRATION_MEASURE_H

#include "measure/calibration/calibration.h"

void calibration_data_fini(struct calibration_data *data);

bool calibration_look(const struct calibration_options *options, struct calibration_look *out,
                      struct err *err);

/* Loads the GPU for about options->seconds, and stops within 0.5 s when another process comes.
 * False: out->outcome and err say why. */
bool calibration_measure(const struct calibration_options *options, struct calibration_data *out,
                         struct err *err);

#endif
