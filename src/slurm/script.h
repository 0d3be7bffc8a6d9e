/* script: what sbatch is given for a run's tasks. Pure: text in, text out. */
#ifndef TARE_SLURM_SCRIPT_H
#define TARE_SLURM_SCRIPT_H

#include "base/strv.h"
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

/* Whether such a text holds the number; what is none holds nothing. */
bool script_ranges_hold(const char *ranges, size_t number);

/* How many GPUs a task is to ask for: what the plan gives to an experiment, unless it takes none, all there are, or the
 * options for sbatch (may be NULL) ask for GPUs themselves. */
int64_t script_gpus(const struct plan *plan, const struct strv *options);

/* The jobs that the options for sbatch name as dependency, and after: the later one counts, as with sbatch itself.
 * Fresh; NULL: there is none. Dependencies that are alternatives ("?") cannot be added to, and stay as they are. */
char *script_dependency(const struct strv *options, const char *after);

/* How long one task may take at most, in whole minutes, as Slurm counts: every attempt with all its waits. 0: the plan sets no bound,
 * because an experiment has no timeout. */
int64_t script_minutes(const struct plan *plan, const struct script_numbers *numbers);

/* A task's own log, seen from the run's folder; %A: the array's number, %a: the index. */
#define SCRIPT_LOG "tasks/slurm-%A_%a.log"

struct script {
    const char *job_name;
    const char *program; /* absolute */
    const char *run_dir; /* absolute */
    struct script_numbers numbers; /* of one array */
    size_t offset;       /* of experiment numbers over array indices */
    size_t at_once;      /* so many tasks at the same time at most; 0: as the scheduler likes */
    int64_t minutes;     /* 0: as the partition has it */
    int64_t gpus;        /* that a task asks for; 0: none, or as the person's own options say */
};

/* The whole script, with its #SBATCH lines. */
void script_text(const struct script *script, struct text *out);

#endif
