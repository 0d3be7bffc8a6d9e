/* estimate: how long the rest of a plan takes, from what has ended so far and from how far along
 * what runs is. */
#ifndef TARE_REPORT_LIVE_ESTIMATE_H
#define TARE_REPORT_LIVE_ESTIMATE_H

#include "base/reading.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stddef.h>

/* Experiments that train the same repository and model; they are expected to take the same time, or
 * the same for each epoch. */
struct estimate_group {
    const struct plan_experiment *like;
    double sum_s, sum_work;       /* work: epochs where a hyperparameter says how many, else 1 */
    double sum_rate, sum_squares; /* of the seconds for each unit of work */
    size_t ended;
};

struct estimate {
    const struct plan *plan; /* borrowed */
    bool *done;              /* per experiment */
    size_t *group_of;        /* per experiment */
    struct estimate_group *groups;
    size_t group_count;
    double pauses_planned_s, pauses_took_s; /* of those that are over */
};

void estimate_init(struct estimate *estimate, const struct plan *plan);
void estimate_fini(struct estimate *estimate);

/* How many epochs an experiment has by a hyperparameter of that name; absent: none says so. */
struct reading estimate_epochs(const struct plan_experiment *experiment);

/* The experiment (number from 1) needs no time any more. duration_s: with its retries; < 0 when not
 * known (it ended in an earlier session). */
void estimate_done(struct estimate *estimate, size_t number, double duration_s);

/* A pause that was planned to be so long is over. */
void estimate_pause(struct estimate *estimate, double planned_s, double took_s);

/* What a lane has in work (number 0: nothing), how long it has had it, and the pause that it is
 * in. */
struct estimate_running {
    size_t number;
    double elapsed_s;
    double pause_s;        /* of which so much is left */
    struct reading left_s; /* by its own marks or progress bar, which are so far: */
    double share;
};

/* Four times in five the end comes between low and high. */
struct estimate_left {
    double expected_s, low_s, high_s;
};

/* Seconds from now to the end of the plan: each open experiment counts as the mean of those of the
 * same repository and model that ended, else as its expected time, else as the mean of all; one
 * that runs less what it has used already, or as its own marks or bar say; and the pauses between
 * them. The range comes from how much durations differ, at first an assumed 40 %. False: nothing
 * tells yet. */
bool estimate_left(const struct estimate *estimate, const struct estimate_running *running,
                   size_t lanes, struct estimate_left *out);

/* The pauses between the experiments of a plan that are not done yet (done NULL: all), without
 * retries. */
double estimate_pauses(const struct plan *plan, const bool *done);

/* How much shorter they are if each is adaptive and as short as it can be. */
double estimate_adaptive_saves(const struct plan *plan);

#endif
