/* slurm: asks Slurm's own programs, without a shell and with a bound on the time. */
#ifndef TARE_SLURM_SLURM_H
#define TARE_SLURM_SLURM_H

#include "plan/plan.h"

/* What `scontrol show config` says. */
struct slurm_config {
    double kill_wait_s; /* from TERM to KILL; 0: not known */
    size_t array_size;  /* indices of an array are below this (MaxArraySize) */
    bool has_gpus;      /* GPUs are dealt out as a resource of their own (GresTypes) */
};

struct slurm_config slurm_config_parse(const char *text);

/* env: the environment, with PATH. False: there is no Slurm to ask (code is ENOENT), or it does not
 * answer. */
bool slurm_config_read(const struct strv *env, struct slurm_config *out, struct err *err);

/* What one array is submitted with. */
struct slurm_submission {
    const struct strv *env;
    const char *run_dir;        /* becomes the tasks' working folder */
    const struct strv *options; /* of the person, for sbatch; they count over the script's own */
    const char *dependency;     /* takes the place of the options' own; NULL: none */
    const char *script;         /* its path */
};

/* job_id: the array's, which the caller frees. False: sbatch refused, or it is not known whether it
 * took it (code is ETIMEDOUT). */
bool slurm_submit(const struct slurm_submission *submission, char **job_id, struct err *err);

/* An array's task, and what Slurm says of it. Whatever is not said is "". */
struct slurm_task {
    char *job_name; /* of the queue */
    char *job_id;   /* of the accounting: the array's */
    size_t index;
    char *state;  /* "PENDING", "RUNNING", "NODE_FAIL" ... */
    char *nodes;  /* where */
    char *reason; /* of the queue: why it waits; of the accounting: "CODE:SIGNAL" */
};

struct slurm_tasks {
    struct slurm_task *items;
    size_t count;
};

/* Those of the jobs with one of these names that wait or run. */
bool slurm_queue_read(const struct strv *env, const struct strv *job_names, struct slurm_tasks *out,
                      struct err *err);
/* lines "NAME|INDEX|STATE|NODES|REASON" */
void slurm_queue_parse(const char *text, struct slurm_tasks *out);

/* Those of the arrays with one of these numbers that the accounting knows; many clusters keep none:
 * false then. */
bool slurm_accounts_read(const struct strv *env, const struct strv *job_ids,
                         struct slurm_tasks *out, struct err *err);
/* lines "ID_INDEX|STATE|NODES|CODE:SIGNAL" */
void slurm_accounts_parse(const char *text, struct slurm_tasks *out);

void slurm_tasks_fini(struct slurm_tasks *tasks);

/* script: what sbatch is given for a run's tasks. Pure: text in, text out. */

/* Experiments by their numbers from 1, in rising order. */
struct script_numbers {
    const size_t *items;
    size_t count;
};

/* "1-3,7,9-12" */
void script_ranges(const struct script_numbers *numbers, struct text *out);

/* Whether such a text holds the number; what is none holds nothing. */
bool script_ranges_hold(const char *ranges, size_t number);

/* How many GPUs a task is to ask for: what the plan gives to an experiment, unless it takes none,
 * all there are, or the options for sbatch (may be NULL) ask for GPUs themselves. */
int64_t script_gpus(const struct plan *plan, const struct strv *options);

/* The jobs that the options for sbatch name as dependency, and after: the later one counts, as with
 * sbatch itself. Fresh; NULL: there is none. Dependencies that are alternatives ("?") cannot be
 * added to, and stay as they are. */
char *script_dependency(const struct strv *options, const char *after);

/* How long one task may take at most, in whole minutes, as Slurm counts: every attempt with all its
 * waits. 0: the plan sets no bound, because an experiment has no timeout. */
int64_t script_minutes(const struct plan *plan, const struct script_numbers *numbers);

/* A task's own log, seen from the run's folder; %A: the array's number, %a: the index. */
#define SCRIPT_LOG "tasks/slurm-%A_%a.log"

struct script {
    const char *job_name;
    const char *program;           /* absolute */
    const char *run_dir;           /* absolute */
    struct script_numbers numbers; /* of one array */
    size_t offset;                 /* of experiment numbers over array indices */
    size_t at_once;  /* so many tasks at the same time at most; 0: as the scheduler likes */
    int64_t minutes; /* 0: as the partition has it */
    int64_t gpus;    /* that a task asks for; 0: none, or as the person's own options say */
};

/* The whole script, with its #SBATCH lines. */
void script_text(const struct script *script, struct text *out);

#endif
