/* command: finds the interpreter and the script of a model, and composes the command of an
 * experiment. */
#ifndef TARE_PLAN_COMMAND_H
#define TARE_PLAN_COMMAND_H

#include "plan/plan.h"

/* The command as a person could paste it into a shell: NAME=VALUE of env, cd is not part of it.
 * place: what its placeholders stand for; NULL: they stay. The caller frees it. */
char *plan_job_shell(const struct plan_job *job, const struct placeholder_place *place);

/* What is missing is a problem (an error when options->for_running, else a warning); the command
 * then holds the names as they were given. */
void command_init(struct command *command, const struct repo *repo, const struct json_doc *registry,
                  const struct plan_options *options, struct problems *problems);
void command_fini(struct command *command);

/* Fills cwd, argv, env and path_prepend of a job whose repo, model and params are set. environment:
 * NAME=VALUE over all else. */
void command_fill(const struct command *command, const struct repo *repo,
                  const struct strv *environment, struct plan_job *job);

/* A flag that ends with "=", or is empty, is joined with the value: "--lr=0.1",
 * "optimizer.lr=0.1". */
bool plan_param_is_joined(const struct plan_param *param);
char *plan_param_word(const struct plan_param *param); /* the word with the value; fresh */

/* Adds the flag and the value, and sets place. */
void plan_param_append(struct plan_param *param, struct strv *argv);

/* The variable by which a hyperparameter without a flag is handed over: "learning-rate" is
 * TARE_PARAM_LEARNING_RATE. The caller frees it. */
char *command_param_variable(const char *name);

#endif
