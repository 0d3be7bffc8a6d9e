/* doctor_now: what is made of a look at one GPU. Pure but for reading who a process is. */
#ifndef TARE_DOCTOR_DOCTOR_NOW_H
#define TARE_DOCTOR_DOCTOR_NOW_H

#include "doctor/doctor.h"
#include "machine/gpu/sensor.h"

struct doctor_gpu {
    const char *label;                    /* "GPU 0" */
    const char *proc;                     /* "/proc" */
    const struct gpu_readings *readings;  /* NULL: it did not answer: why */
    const struct gpu_identity *identity;  /* with readings */
    const struct gpu_users *users;        /* NULL: not told: users_why */
    const char *why, *users_why;
};

void doctor_now_gpu(const struct doctor_gpu *gpu, struct findings *out);

#endif
