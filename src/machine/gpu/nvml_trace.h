/* nvml_trace: the driver's own buffer of power samples. Its stamps are of the wall clock, which can
 * be set: they become times of CLOCK_MONOTONIC by pairs of both clocks read around the call, and
 * what was stamped before the clock was set is refused. */
#ifndef TARE_MACHINE_GPU_NVML_TRACE_H
#define TARE_MACHINE_GPU_NVML_TRACE_H

#include "machine/gpu/nvml.h"

/* nvml_trace.c, nvml_users.c */
bool nvml_trace(struct gpu_sensor *sensor, struct gpu_trace *out, struct err *err);

#endif
