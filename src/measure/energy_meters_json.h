/* The figures of a stretch of time as JSON: docs/reference/measuring.md. */
#ifndef TARE_MEASURE_ENERGY_METERS_JSON_H
#define TARE_MEASURE_ENERGY_METERS_JSON_H

#include "measure/energy_meters.h"

/* As docs/reference/measuring.md describes it; absent is null. */
json_t *energy_meters_result_json(const struct energy_meters_result *result,
                                  const struct epoch *epochs);

#endif
