/* oom_json: the steps after an out-of-memory failure as run.db keeps them. Private to plan/. */
#ifndef TARE_PLAN_OOM_JSON_H
#define TARE_PLAN_OOM_JSON_H

#include "plan/plan.h"

json_t *plan_oom_to_json(const struct plan_job *job);

/* From "oom_steps" of a job; plans without it have none. */
bool plan_oom_from_json(const json_t *json, struct plan_job *out, struct err *err);

#endif
