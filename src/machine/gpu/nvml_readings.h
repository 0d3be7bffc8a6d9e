/* nvml_readings: reads power, energy, temperature, clocks and throttle reasons through NVML. */
#ifndef TARE_MACHINE_GPU_NVML_READINGS_H
#define TARE_MACHINE_GPU_NVML_READINGS_H

#include "machine/gpu/nvml.h"

/* nvml_readings.c */
const char *nvml_group_name(size_t group);

bool nvml_group_read(struct gpu_sensor *sensor, size_t group, struct gpu_readings *out,
                     struct err *err);

#endif
