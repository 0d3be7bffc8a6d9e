/* nvml_users: lists the processes that use a GPU, with their memory and load, through NVML. */
#ifndef TARE_MACHINE_GPU_NVML_USERS_H
#define TARE_MACHINE_GPU_NVML_USERS_H

#include "machine/gpu/nvml.h"

bool nvml_users(struct gpu_sensor *sensor, struct gpu_users *out, struct err *err);

bool nvml_all_users(struct gpu_sensor *sensor, struct gpu_user_list *out, struct err *err);

#endif
