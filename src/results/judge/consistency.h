/* consistency: data that contradict themselves or each other. One fixed table of checks, made on
 * every dataset; each adds evidence to the experiments that fail it. */
#ifndef TARE_RESULTS_JUDGE_CONSISTENCY_H
#define TARE_RESULTS_JUDGE_CONSISTENCY_H

#include "measure/guard/evidence.h"

#include <stdbool.h>
#include <stddef.h>

struct dataset;
struct dataset_experiment;

enum consistency {
    CONSISTENCY_COPIED_RUN,
    CONSISTENCY_TIME,
    CONSISTENCY_COPIED_TRACE,
    CONSISTENCY_ROWS,
    CONSISTENCY_SENSOR,
    CONSISTENCY_METRICS,
    CONSISTENCIES
};

struct consistency_check {
    const char *evidence;    /* the kind that it adds: its weight and meaning are that kind's */
    const char *compares;    /* one sentence */
    size_t false_alarms, of; /* undisturbed generated experiments that failed it, of how many */
    void (*find)(struct dataset *dataset);
};

const struct consistency_check *consistency_check(enum consistency check);

/* Makes all checks, before anything else compares experiments. Each experiment then has the
 * outcome of each in its member consistency. */
void consistency_find(struct dataset *dataset);

/* Private to the checks: the outcome before a check of the sample files in energy/. Runs of this
 * program do not need it: their figures are the meter's, and the files copies of its readings. */
enum check_outcome consistency_of_samples(const struct dataset *dataset,
                                          const struct dataset_experiment *experiment,
                                          bool sampled);

#endif
