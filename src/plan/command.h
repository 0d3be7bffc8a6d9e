/* command: how the jobs of one repository are started: its folder, script, interpreter and prefix, found and checked
 * once. */
#ifndef TARE_PLAN_COMMAND_H
#define TARE_PLAN_COMMAND_H

#include "plan/plan.h"

struct command {
    struct strv head; /* prefix, interpreter, script */
    struct strv env;  /* what comes before the registry's own: VIRTUAL_ENV, CONDA_PREFIX */
    struct strv path_prepend;
};

/* What is missing is a problem (an error when options->for_running, else a warning); the command then holds the
 * names as they were given. */
void command_init(struct command *command, const struct repo *repo, const struct json_doc *registry,
                  const struct plan_options *options, struct problems *problems);
void command_fini(struct command *command);

/* Fills cwd, argv, env and path_prepend of a job whose repo, model and params are set. environment: NAME=VALUE over all
 * else. */
void command_fill(const struct command *command, const struct repo *repo, const struct strv *environment,
                  struct plan_job *job);

/* The variable by which a hyperparameter without a flag is handed over: "learning-rate" is TARE_PARAM_LEARNING_RATE. The
 * caller frees it. */
char *command_param_variable(const char *name);

#endif
