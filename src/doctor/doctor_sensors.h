/* The energy sensors: of each GPU as its meter finds them, and the host's counters. */
#ifndef TARE_DOCTOR_DOCTOR_SENSORS_H
#define TARE_DOCTOR_DOCTOR_SENSORS_H

#include "doctor/doctor.h"

void doctor_sensors(const struct doctor_machine *machine, struct host_meter *host,
                    struct findings *out);

struct meter *doctor_meter(const struct energy_meters_gpu *gpu, struct err *err);

/* Waits for the slowest of count things of that size, at most 4 s: step takes what came of one,
 * tells its descriptor (-1: none), and gives whether it is to be waited for. */
void doctor_await(void *all, size_t count, size_t size, bool (*step)(void *one, int *fd));

/* All at once: waits for the slowest of them, 4 s for it to be there and 4 s more for its
 * answers. */
void doctor_look(struct doctor_look *looks, size_t count);

#endif
