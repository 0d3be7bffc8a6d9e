/* gpu_process: the process that reads one GPU: the only one that calls its driver. It may hang in there; whoever asks
 * does not wait for it. */
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

/* Answers until the other end is closed or says END; gives the exit code. Makes itself ready for it: its own signals
 * and descriptors, and dies with the thread that started it. */
int gpu_process_main(const struct gpu_process_options *options);

/* Every reading of a GPU once, with what it costs; in this process, so a driver that hangs hangs it too. (gpu_probe.c) */

struct gpu_probe_row {
    const char *device;  /* the driver's number */
    const char *what;    /* "power.instant"; the readings of one call share its cost, which stands with the first */
    struct reading value;
    const char *unit;
    const char *text;    /* what is no number; or why there is none */
    struct reading cost_us;
};

/* device: NULL: all. False: no driver, no such device. */
bool gpu_probe(const struct gpu_backend *backend, const char *library, const char *device,
               void (*row)(const struct gpu_probe_row *row), struct err *err);

#endif
