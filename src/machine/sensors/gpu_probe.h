/* gpu_probe: every reading of a GPU once, with what it costs; in this process, so a driver that hangs hangs it too. */
#ifndef TARE_MACHINE_SENSORS_GPU_PROBE_H
#define TARE_MACHINE_SENSORS_GPU_PROBE_H

#include "machine/gpu/sensor.h"

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
               void (*row)(void *data, const struct gpu_probe_row *row), void *data, struct err *err);

#endif
