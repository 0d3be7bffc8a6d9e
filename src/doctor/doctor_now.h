/* What each GPU does at this moment: an experiment that began now would begin on it. */
#ifndef TARE_DOCTOR_DOCTOR_NOW_H
#define TARE_DOCTOR_DOCTOR_NOW_H

#include "doctor/doctor.h"

/* Whether each GPU is idle, empty and unbraked now: asked through a meter, which waits for a driver
 * that hangs, not we. */
void doctor_now(struct findings *out);

void doctor_now_gpu(const struct doctor_gpu *gpu, struct findings *out);

#endif
