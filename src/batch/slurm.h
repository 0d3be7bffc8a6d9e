/* slurm: asks Slurm's own programs, without a shell and with a bound on the time. */
#ifndef TARE_BATCH_SLURM_H
#define TARE_BATCH_SLURM_H

#include "base/err.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>

/* What `scontrol show config` says. */
struct slurm_config {
    double kill_wait_s;  /* from TERM to KILL; 0: not known */
    size_t array_size;   /* indices of an array are below this (MaxArraySize) */
};

struct slurm_config slurm_config_parse(const char *text);

/* env: the environment, with PATH. False: there is no Slurm to ask (code is ENOENT), or it does not answer. */
bool slurm_config_read(const struct strv *env, struct slurm_config *out, struct err *err);

/* What one array is submitted with. */
struct slurm_submission {
    const struct strv *env;
    const char *run_dir;         /* becomes the tasks' working folder */
    const struct strv *options;  /* of the person, for sbatch; they count over the script's own */
    const char *script;          /* its path */
};

/* job_id: the array's, which the caller frees. False: sbatch refused, or it is not known whether it took it (code is ETIMEDOUT). */
bool slurm_submit(const struct slurm_submission *submission, char **job_id, struct err *err);

/* An array's task that waits or runs. */
struct slurm_task {
    char *job_name;
    size_t index;
};

struct slurm_queue {
    struct slurm_task *tasks;
    size_t count, capacity;
};

/* Those of the jobs with one of these names. */
bool slurm_queue_read(const struct strv *env, const struct strv *job_names, struct slurm_queue *out, struct err *err);
void slurm_queue_parse(const char *text, struct slurm_queue *out); /* lines "NAME INDEX" */
void slurm_queue_fini(struct slurm_queue *queue);

#endif
