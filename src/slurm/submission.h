/* submission: what of a run was handed to the scheduler, and when: RUN/submit.json. */
#ifndef TARE_SLURM_SUBMISSION_H
#define TARE_SLURM_SUBMISSION_H

#include "base/err.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One array. */
struct submission_array {
    char *job_id;   /* NULL: sbatch's answer was not heard, so it may or may not be queued */
    char *job_name; /* "tare-run_20261121_101500-3fa9": by this it is found in the queue */
    char *indices;  /* "1-20" */
    size_t offset;  /* of experiment numbers over them */
    int64_t realtime_ns;
};

struct submission {
    char *name;            /* what each job_name begins with */
    double kill_wait_s;    /* of the cluster; 0: not known */
    size_t array_size;
    struct strv options;   /* of the person, for sbatch */
    struct submission_array *arrays;
    size_t count;
};

bool submission_write(int dir, const struct submission *submission, struct err *err);
bool submission_read(int dir, struct submission *out, struct err *err);
struct submission_array *submission_add(struct submission *submission);
void submission_fini(struct submission *submission);

/* How long a task may take from TERM to KILL, so that its tree is gone before the scheduler kills what is left: 0: not known. */
double submission_grace_max_s(const struct submission *submission);

#endif
