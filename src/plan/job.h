/* job: what the files of plan/ share about one job. */
#ifndef TARE_PLAN_JOB_H
#define TARE_PLAN_JOB_H

#include "plan/config/settings.h"
#include "plan/plan.h"

#include <jansson.h>

void plan_job_fini(struct plan_job *job);

/* A double of a struct, by its key in JSON. A table ends with {0}. (plan_head.c) */
struct plan_number {
    const char *key;
    size_t offset;
};

void plan_numbers_to_json(json_t *json, const struct plan_number *rows, const void *of);
bool plan_numbers_from_json(const json_t *json, const struct plan_number *rows, void *out, struct err *err);

/* Members of a plan's JSON. (plan_json.c) */

void plan_set_text(json_t *json, const char *key, const char *text); /* NULL: left out */
void plan_set_list(json_t *json, const char *key, const struct strv *list);
bool plan_get_integer(const json_t *json, const char *key, int64_t *out, struct err *err);

/* The steps after an out-of-memory failure as run.db keeps them. (oom_json.c) */

json_t *plan_oom_to_json(const struct plan_job *job);

/* From "oom_steps" of a job; plans without it have none. */
bool plan_oom_from_json(const json_t *json, struct plan_job *out, struct err *err);

#endif
