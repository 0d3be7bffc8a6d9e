/* energy_meters_measure: what the meters' readings say of a stretch of time. */
#ifndef TARE_MEASURE_ENERGY_METERS_MEASURE_H
#define TARE_MEASURE_ENERGY_METERS_MEASURE_H

#include "measure/energy_meters.h"

/* "GPU board", "CPU package", "DRAM", "platform" */
const char *energy_meters_scope_name(enum energy_meters_scope scope);

/* Between two moments; epochs as epochs_cut gives them for these (may be NULL, 0), marks of the
 * job's steps (may be NULL), which are sorted, and live as long as the result. */
void energy_meters_measure(const struct energy_meters *energy_meters, int64_t start_ns,
                           int64_t end_ns, const struct epoch *epochs, size_t epoch_count,
                           struct step_marks *marks, struct energy_meters_result *out);
void energy_meters_result_fini(struct energy_meters_result *result);

/* What would make the half-width narrower, as a phrase: a calibration where the sensor's profile
 * makes most of it and the window is of a second or more, else a longer window. */
const char *energy_meters_remedy(const struct energy_meters_figures *device);

#endif
