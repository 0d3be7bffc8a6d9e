/* runner_guardian: the guardian of all jobs: what it watches, and the time without one. */
#ifndef TARE_RUN_RUNNER_GUARDIAN_H
#define TARE_RUN_RUNNER_GUARDIAN_H

#include "run/runner.h"

struct job; /* machine/contain/job.h */

/* Guardian and state folder know of the job from now on, until attempt_job_gone. */
void lane_job_watch(struct lane *lane, const struct job *job);
/* there may have been no guardian from then until now: evidence */
void lane_unguarded(struct lane *lane, int64_t since_ns);

/* A guardian that is dead or does not answer is replaced, and what ran meanwhile has it as
 * evidence. */
void runner_check_guardian(struct runner *runner);
/* from now on; where it cannot be, the tick finds it dead */
void runner_watch_guardian(struct runner *runner);

#endif
