/* gpu_process: the process that reads one GPU: the only one that calls its driver. It may hang in
 * there; whoever asks does not wait for it. */
#ifndef TARE_MACHINE_SENSORS_GPU_PROCESS_H
#define TARE_MACHINE_SENSORS_GPU_PROCESS_H

#include "machine/gpu/sensor.h"

struct gpu_process_options {
    const struct gpu_backend *backend;
    const char *library; /* NULL: the driver's usual one */
    const char *device;  /* UUID or number */
    int fd;              /* its end of the socket pair; any number above 2 */
    double time_scale;   /* 0: 1 (machine/sensors/time_scale.h) */
};

/* Answers until the other end is closed or says END; gives the exit code. Makes itself ready for
 * it: its own signals and descriptors, and dies with the thread that started it. */
int gpu_process_main(const struct gpu_process_options *options);

#endif
