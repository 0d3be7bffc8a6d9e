/* submit: what the commands of a submitted run share. */
#ifndef TARE_CLI_SUBMIT_H
#define TARE_CLI_SUBMIT_H

#include "base/strv.h"
#include "batch/collect.h"
#include "batch/submission.h"
#include "cli/run_input.h"

#include <stdbool.h>

/* A folder that is to be submitted from. */
struct submitted {
    int dir;
    char *path;      /* as a person would name it from here */
    char *absolute;
    struct submission submission;
    struct collected collected;
};

void submitted_fini(struct submitted *submitted);

/* Hands the experiments of the plan that are missing, and that no task in the queue is to do, to sbatch. False: err says what was not
 * submitted and how to go on. at_once: so many at a time; 0: as many as the scheduler likes. */
struct submit_wish {
    const struct strv *env;
    size_t at_once;
    bool json;
};
bool submit_missing(struct submitted *submitted, const struct submit_wish *wish, struct err *err);

/* The scripts that would be handed over, for --dry-run. */
void submit_show(const struct plan *plan, const char *run_dir, size_t array_size, size_t at_once, struct text *out);

/* What was collected, as a table for a person or as JSON. */
void collected_text(const struct collected *collected, const char *run_dir, struct text *out);
json_t *collected_json(const struct collected *collected, const char *run_dir);

#endif
