/* runner_guardian: keeps the guardian of all jobs alive. */
#ifndef TARE_RUN_RUNNER_GUARDIAN_H
#define TARE_RUN_RUNNER_GUARDIAN_H

#include "run/runner.h"

struct job; /* machine/contain/job.h */

/* Until attempt_forget_job; also in the state folder. */
void runner_guardian_watch_job(struct lane *lane, const struct job *job);
/* Evidence: possibly no guardian since then. */
void runner_guardian_record_absence(struct lane *lane, int64_t since_ns);

/* Replaces a dead or silent guardian; running attempts get evidence. */
void runner_guardian_check(struct runner *runner);
/* Best effort: the tick finds a dead one, too. */
void runner_guardian_watch(struct runner *runner);

#endif
