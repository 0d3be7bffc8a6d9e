/* job: what the files of plan/ share about one job. */
#ifndef TARE_PLAN_JOB_H
#define TARE_PLAN_JOB_H

#include "plan/config/settings.h"
#include "plan/plan.h"

#include <jansson.h>

void plan_job_fini(struct plan_job *job);

/* The guard's settings on their way through run.db. (plan_guard.c) */

json_t *plan_guard_to_json(const struct guard_settings *guard);

/* The key "guard" of a plan's head; one made before there was a guard says nothing of it and has the defaults. */
bool plan_guard_from_json(const json_t *head, struct guard_settings *out, struct err *err);

/* The steps after an out-of-memory failure as run.db keeps them. (oom_json.c) */

json_t *plan_oom_to_json(const struct plan_job *job);

/* From "oom_steps" of a job; plans without it have none. */
bool plan_oom_from_json(const json_t *json, struct plan_job *out, struct err *err);

#endif
