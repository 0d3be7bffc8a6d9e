/* What of the machine itself makes figures wander: governor, turbo, pressure, the clock, the disk
 * of the results. */
#ifndef TARE_DOCTOR_DOCTOR_HOST_H
#define TARE_DOCTOR_DOCTOR_HOST_H

#include "doctor/doctor.h"

/* The real ones. Gives how many processes that are not tare's to end have a GPU open, which
 * doctor_gpus tells. */
size_t doctor_state(struct findings *out);

void doctor_kernel(const struct doctor_machine *machine, struct findings *out);

/* What makes figures wander: governor, turbo, pressure, clock; and the disk on which results, a
 * folder, will lie. */
void doctor_host(const struct doctor_machine *machine, const char *results, struct findings *out);

#endif
