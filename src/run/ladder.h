/* ladder: chooses what a retry changes after a GPU's memory ran out. */
#ifndef TARE_RUN_LADDER_H
#define TARE_RUN_LADDER_H

#include "plan/plan.h"

struct lane;

enum { LADDER_STEPS_MAX = 400 };

struct ladder {
    struct plan_experiment *experiment;     /* with all changes so far; NULL: as planned */
    json_t *changed;                        /* plan/change.c; NULL: nothing */
    bool expandable;                        /* expandable segments were turned on */
    unsigned short steps[LADDER_STEPS_MAX]; /* of oom_steps, in the order taken */
    size_t step_count;
    bool given_up; /* no retry would help */
};

/* An experiment begins: as planned, or as its last attempt of an earlier session left it. */
void ladder_restore(struct lane *lane, const json_t *before);
void ladder_fini(struct ladder *ladder);

/* Whether what was written of it ("ladder" of an event; may be NULL) says that no retry would
 * help. */
bool ladder_gave_up(const json_t *state);

/* What the next attempt runs: the plan's, or a changed copy. */
const struct plan_experiment *ladder_experiment(const struct lane *lane);

/* Adds to the data of EVENT_ATTEMPT_PREPARED what is changed: "changed", and "ladder" for a resume;
 * nothing when nothing is. */
void ladder_add_changes(const struct lane *lane, json_t *data);

/* The attempt has ended: looks for out-of-memory messages at the end of its log and, if it failed
 * by one and may be tried again, decides how. Adds "oom" (the diagnosis) and "ladder" to the data
 * of EVENT_ATTEMPT_ENDED; nothing for other failures. Gives may_retry, or false where no retry
 * would help. */
bool ladder_judge(struct lane *lane, json_t *data, bool may_retry);

#endif
