/* ladder: what a retry changes after a GPU's memory ran out (docs/reference/running.md). */
#ifndef TARE_RUN_LADDER_H
#define TARE_RUN_LADDER_H

#include "plan/plan.h"

struct lane;

enum { LADDER_STEPS_MAX = 400 };

struct ladder {
    struct plan_experiment *experiment; /* with all changes; NULL: as planned */
    json_t *changed;                    /* plan/change.c; NULL: nothing */
    bool expandable;
    unsigned short steps[LADDER_STEPS_MAX]; /* indices of oom_steps, in order */
    size_t step_count;
    bool given_up;
};

/* Starts as planned, or as the last attempt of an earlier session ended. */
void ladder_restore(struct lane *lane, const json_t *before);
void ladder_fini(struct ladder *ladder);

/* state: "ladder" of an event, may be NULL. */
bool ladder_gave_up(const json_t *state);

/* As planned, or the changed copy. */
const struct plan_experiment *ladder_experiment(const struct lane *lane);

/* Adds "changed", and "ladder" for a resume, to the data of EVENT_ATTEMPT_PREPARED. */
void ladder_add_changes(const struct lane *lane, json_t *data);

/* Decides how to retry an attempt that ran out of GPU memory. Adds "oom" and "ladder" to the data
 * of EVENT_ATTEMPT_ENDED. Returns may_retry, or false when no retry would help. */
bool ladder_judge(struct lane *lane, json_t *data, bool may_retry);

#endif
