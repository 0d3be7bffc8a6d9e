/* submit: what the commands of a submitted run share. */
#ifndef TARE_SESSION_SUBMIT_H
#define TARE_SESSION_SUBMIT_H

#include "base/strv.h"
#include "session/run_input.h"
#include "slurm/collect.h"
#include "slurm/tasks.h"

#include <stdbool.h>
#include <stddef.h>

/* A folder that is to be submitted from. */
struct submitted {
    int dir;
    char *path; /* as a person would name it from here */
    char *absolute;
    struct submission submission;
    struct collected collected;
    bool has_gpus; /* the cluster deals them out */
};

void submitted_fini(struct submitted *submitted);

/* Hands the experiments of the plan that are missing, and that no task in the queue is to do, to
 * sbatch. False: err says what was not submitted and how to go on. */
struct submit_options {
    const struct strv *env;
    size_t at_once;   /* so many at a time; 0: as many as the scheduler likes */
    const bool *only; /* by number - 1: which of them; NULL: all */
    bool json;
};
bool submit_missing(struct submitted *submitted, const struct submit_options *options,
                    struct err *err);

/* The scripts that would be handed over, for --dry-run: of the plan that is in collected, with the
 * submission's options. */
void submit_show(const struct submitted *submitted, size_t at_once, struct text *out);

/* Plans those results again that are suspect or contaminated, of a run that was just collected, and
 * collects anew. only: by number - 1, those and what was planned again before, which the caller
 * frees; NULL: there are none. False: err. */
bool submit_plan_again(struct submitted *submitted, bool json, bool **only, struct err *err);

/* What was collected, as a table for a person or as JSON. */
void collected_text(const struct collected *collected, const char *run_dir, struct text *out);
/* Adds bytes that came with the folder, fit for a terminal: no control characters. */
void collected_add_legible(struct text *out, const char *bytes, size_t count);
json_t *collected_json(const struct collected *collected, const char *run_dir);

/* What `run --task` begins with. */

/* Makes the start's folder: start->path. NULL there: what was wrong has been said; the exit code.
 * As a task of Slurm (env says so) it waits for what another machine wrote a moment ago, and, begun
 * again after its node was lost, for the lock that this node still has. */
int submit_task_begin(const struct strv *env, const char *run_dir, size_t number,
                      struct tasks_start *start);

#endif
