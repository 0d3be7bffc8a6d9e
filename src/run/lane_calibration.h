/* lane_calibration: lets a child process (doctor/calibrator.h) calibrate the sensors of the lane's
 * GPUs, if the plan uses them long enough. The experiment follows in any case. */
#ifndef TARE_RUN_LANE_CALIBRATION_H
#define TARE_RUN_LANE_CALIBRATION_H

#include "base/text.h"
#include "run/step.h"

#include <sys/types.h>

/* The child and its answer so far. */
struct lane_calibration {
    bool over; /* done or tried in this session */
    /* expected use, as of estimated_at successes */
    bool estimated;
    int64_t estimated_at;
    size_t place; /* index of the lane's GPU */
    pid_t pid;    /* 0: none */
    int fd;
    struct text text;
    struct step_source answer;
};

void phase_calibrating(struct lane *lane);
void lane_calibration_cancel(struct lane *lane);
void lane_calibration_fini(struct lane *lane);

#endif
