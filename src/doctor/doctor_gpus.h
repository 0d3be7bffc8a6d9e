/* doctor_gpus: the GPUs, their locks, and who has them. */
#ifndef TARE_DOCTOR_DOCTOR_GPUS_H
#define TARE_DOCTOR_DOCTOR_GPUS_H

#include "doctor/doctor.h"

void doctor_gpus(const struct doctor_machine *machine, size_t users, struct findings *out);

#endif
