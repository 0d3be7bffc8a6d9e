/* Accounting shared by all lanes: whose the processors' energy was and how long each lane worked
 * (nothing where there is one); when others are in the way of an attempt, by memory, disks and
 * processors; and the guardian of all jobs. */
#ifndef TARE_RUN_OBSERVERS_ENERGY_SPLIT_H
#define TARE_RUN_OBSERVERS_ENERGY_SPLIT_H

#include "run/lane.h"
#include "run/runner.h"

/* Guardian and state folder know of the job from now on, until attempt_job_gone. */
void lane_job_watch(struct lane *lane, const struct job *job);
/* there may have been no guardian from then until now: evidence */
void lane_unguarded(struct lane *lane, int64_t since_ns);

/* A guardian that is dead or does not answer is replaced, and what ran meanwhile has it as
 * evidence. */
void runner_check_guardian(struct runner *runner);
/* from now on; where it cannot be, the tick finds it dead */
void runner_watch_guardian(struct runner *runner);

/* What several lanes come to together (lanes.c): whose the processors' energy was, and how long
 * each lane worked. */
void lanes_begin(struct runner *runner); /* the meters were started */

/* For EVENT_SESSION_ENDED, or null: docs/reference/files.md. */
json_t *lanes_json(struct runner *runner);
/* of the packages' energy that is divided: this lane's, since the session began */
int64_t lanes_part_mj(const struct lane *lane);

#endif
