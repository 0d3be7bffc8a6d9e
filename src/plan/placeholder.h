/* placeholder: words of a command in which "{dir}", "{id}" and "{NAME}" of a hyperparameter are
 * replaced for each experiment. A plan keeps the words as they were written; they are replaced
 * where a job is started or shown, so that a retry with changed hyperparameters has its own.
 * Pure. */
#ifndef TARE_PLAN_PLACEHOLDER_H
#define TARE_PLAN_PLACEHOLDER_H

#include "base/strv.h"
#include "plan/config/problem.h"

#include <stdbool.h>

struct plan;
struct plan_job;

struct placeholder_place {
    const char *id;  /* for {id} */
    const char *dir; /* for {dir}; NULL: {dir} stays as it is, where the folder is not known */
};

/* Whether a word of job's argv (but the program), of its environment or of its steps after an
 * out-of-memory failure has a placeholder. */
bool placeholder_is_in(const struct plan_job *job);

/* A word with its placeholders replaced. "{{" before a name that is known is a brace; any other
 * brace stays. The caller frees it. */
char *placeholder_fill(const char *word, const struct plan_job *job,
                       const struct placeholder_place *place);

/* Appends the job's argv, or its env, to out: replaced where job->placeholders, else as they are.
 * place may be NULL: as they are. */
void placeholder_fill_argv(const struct plan_job *job, const struct placeholder_place *place,
                           struct strv *out);
void placeholder_fill_env(const struct plan_job *job, const struct placeholder_place *place,
                          struct strv *out);

/* {id} of a job of that experiment: its background has a name of its own. The caller frees it. */
char *placeholder_id(const char *experiment_id, bool background);

/* The name of the folder that {dir} is, in the experiment's. */
const char *placeholder_folder(bool background);

/* Adds warnings: once of options for outputs that have the same value in several experiments; of
 * each {NAME} that stays as it is and resembles a known name. */
void placeholder_check_plan(const struct plan *plan, struct problems *problems);

#endif
