/* Before an experiment: the sensors of the lane's GPUs are calibrated where that was not done yet
 * and the plan uses them for long enough. A process of its own does it (doctor/calibrator.h), which
 * ends with this one. Whatever comes of it, the experiment follows. */
#ifndef TARE_RUN_LANE_CALIBRATION_H
#define TARE_RUN_LANE_CALIBRATION_H

#include "base/text.h"
#include "run/step.h"

#include <sys/types.h>

/* The process that calibrates a GPU of the lane, and what it has answered so far. */
struct lane_calibration {
    bool over; /* it was done or tried in this session */
    /* how long the plan uses the GPUs, when estimated_at experiments had succeeded */
    bool estimated;
    int64_t estimated_at;
    size_t place; /* of the GPU among the lane's */
    pid_t pid;    /* 0: none */
    int fd;
    struct text text;
    struct step_source answer;
};

/* lane_calibration.c */
void phase_calibrating(struct lane *lane);
void lane_calibration_cancel(struct lane *lane); /* nothing is kept */
void lane_calibration_fini(struct lane *lane);

#endif
