/* script: what sbatch is given for a run's tasks. Pure: text in, text out. */
#ifndef TARE_BATCH_SCRIPT_H
#define TARE_BATCH_SCRIPT_H

#include "base/text.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Experiments by their numbers from 1, in rising order. */
struct script_numbers {
    const size_t *items;
    size_t count;
};

/* "1-3,7,9-12" */
void script_ranges(const struct script_numbers *numbers, struct text *out);

/* How long one task may take at most, in whole minutes, as Slurm counts: every attempt with all its waits. 0: the plan sets no bound,
 * because an experiment has no timeout. */
int64_t script_minutes(const struct plan *plan, const struct script_numbers *numbers);

struct script {
    const char *job_name;
    const char *program; /* absolute */
    const char *run_dir; /* absolute */
    struct script_numbers numbers; /* of one array */
    size_t offset;       /* of experiment numbers over array indices */
    size_t at_once;      /* so many tasks at the same time at most; 0: as the scheduler likes */
    int64_t minutes;     /* 0: as the partition has it */
};

/* The whole script, with its #SBATCH lines. */
void script_text(const struct script *script, struct text *out);

#endif
