/* estimate: how long the rest of a plan takes, from what has ended so far. */
#ifndef TARE_REPORT_LIVE_ESTIMATE_H
#define TARE_REPORT_LIVE_ESTIMATE_H

#include "plan/plan.h"

#include <stdbool.h>
#include <stddef.h>

/* Experiments that train the same repository and model; they are expected to take the same time. */
struct estimate_group {
    const struct plan_experiment *like;
    double sum_s;
    size_t ended;
};

struct estimate {
    const struct plan *plan; /* borrowed */
    bool *done;              /* per experiment */
    size_t *group_of;        /* per experiment */
    struct estimate_group *groups;
    size_t group_count, group_capacity;
};

void estimate_init(struct estimate *estimate, const struct plan *plan);
void estimate_fini(struct estimate *estimate);

/* The experiment (number from 1) needs no time any more. duration_s: with its retries; < 0 when not known (it ended
 * in an earlier session). */
void estimate_done(struct estimate *estimate, size_t number, double duration_s);

/* Seconds from now to the end: each open experiment counts as the mean of those of the same repository and model
 * that ended, else as the mean of all; the current one (number, 0: none) less what it has used already; and the
 * pauses between them. False: nothing has ended yet. */
bool estimate_left(const struct estimate *estimate, size_t current, double elapsed_s, double *out);

/* The same of several lanes: what each has in work, and how long it has had it (number 0: none). */
struct estimate_running {
    size_t number;
    double elapsed_s;
};
bool estimate_left_of(const struct estimate *estimate, const struct estimate_running *running, size_t lanes, double *out);

/* The pauses between the experiments of a plan that are not done yet (done NULL: all), without retries. */
double estimate_pauses(const struct plan *plan, const bool *done);

#endif
