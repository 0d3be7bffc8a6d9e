/* settings_job: what one side of an entry trains: "repo", "model", "mutate", "hyperparameters". Private to config/. */
#ifndef TARE_PLAN_CONFIG_SETTINGS_JOB_H
#define TARE_PLAN_CONFIG_SETTINGS_JOB_H

#include "plan/config/field.h"
#include "plan/config/settings.h"

/* Everything but what is mutated. */
void settings_read_job(const struct source *source, const char *path, const json_t *object, enum mode mode,
                       struct job_settings *job);

/* "mutate", or "mutate_params", of a job whose mode is read. */
void settings_read_mutates(const struct source *source, const char *path, const json_t *object,
                           struct job_settings *job);

/* Every text of a job is there, also when the file did not say it: the planner need not ask. */
void settings_fill_job(struct job_settings *job, const char *path);

void settings_job_fini(struct job_settings *job);

#endif
