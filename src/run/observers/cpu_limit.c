/* Stops a job that exceeds the limit of CPU time. */
#include "run/lane.h"

static void check_limits(struct lane *lane)
{
    double limit_s = lane->runner->plan->limits.job.cpu_time_s;
    if (lane->phase == PHASE_RUNNING && attempt_is_over_cpu_limit(&lane->attempt, limit_s))
        lane_stop_attempt(lane, STOP_LIMIT);
}

const struct observer limits_observer = {.tick = check_limits};
