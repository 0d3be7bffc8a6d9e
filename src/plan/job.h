/* job: what the files of plan/ share about one job. */
#ifndef TARE_PLAN_JOB_H
#define TARE_PLAN_JOB_H

#include "plan/plan.h"

void plan_job_fini(struct plan_job *job);

/* Makes the texts and lists of like also those of job, which had equal ones of its own. For one
 * thread: users are not counted atomically. */
void plan_job_share(struct plan_job *job, struct plan_job *like);

#endif
