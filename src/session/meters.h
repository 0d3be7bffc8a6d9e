/* meters: what can measure the energy of jobs here: the GPUs that they will see, and the host's counters. */
#ifndef TARE_SESSION_METERS_H
#define TARE_SESSION_METERS_H

#include "base/strv.h"
#include "measure/energy_meters.h"
#include "plan/plan.h"

struct meters {
    struct energy_meters_options options; /* for run_plan */
    struct energy_meters_gpu *gpus;
    struct calibration *calibrations; /* the user's that are not too old */
    struct sensor_gains *gains;       /* that outside meters told */
};

/* The host's counters, which may need root's rights: before these are given up. Free it with host_meter_free. */
struct host_meter *meters_open_host(void);

/* plan: what adds to the environment; NULL: none. host (may be NULL) stays the caller's. */
void meters_find(const struct strv *environment, const struct plan *plan, struct host_meter *host, struct meters *out);

/* Those that a person names: "all", or numbers as nvidia-smi has them and UUIDs (or what they begin with), by commas.
 * False: there is no such GPU. */
bool meters_choose(const char *list, struct host_meter *host, struct meters *out, struct err *err);

/* Takes TARE_TIME_SCALE (machine/sensors/time_scale.h). False: it is no scale, or the GPUs are real. */
bool meters_scale(struct meters *meters, struct err *err);
void meters_fini(struct meters *meters);

#endif
