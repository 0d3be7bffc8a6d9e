/* job: what the files of plan/ share about one job. */
#ifndef TARE_PLAN_JOB_H
#define TARE_PLAN_JOB_H

#include "plan/plan.h"

void plan_job_fini(struct plan_job *job);

#endif
