/* runner_guardian: the guardian of all jobs: what it watches, and the time without one. */
#ifndef TARE_RUN_RUNNER_GUARDIAN_H
#define TARE_RUN_RUNNER_GUARDIAN_H

#include "run/runner.h"

struct job; /* machine/contain/job.h */

/* Guardian and state folder know of the job from now on, until attempt_forget_job. */
void runner_guardian_watch_job(struct lane *lane, const struct job *job);
/* there may have been no guardian from then until now: evidence */
void runner_guardian_record_absence(struct lane *lane, int64_t since_ns);

/* A guardian that is dead or does not answer is replaced, and what ran meanwhile has it as
 * evidence. */
void runner_guardian_check(struct runner *runner);
/* from now on; where it cannot be, the tick finds it dead */
void runner_guardian_watch(struct runner *runner);

#endif
