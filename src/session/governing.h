/* governing: the CPU frequency governor of a run, as far as it needs root's rights; and what dead runs left set. */
#ifndef TARE_SESSION_GOVERNING_H
#define TARE_SESSION_GOVERNING_H

#include "machine/governor/governor_keeper.h"
#include "plan/plan.h"
#include "run/run.h"

struct governing {
    struct run_governor of_run; /* for run_plan */
    struct err why;
};

/* Root's part, before root is given up and before any thread is started: gives back what a dead run left set, and
 * starts the keeper where this process may set governors. */
void governing_begin(struct governing *out);

/* The plan is known: without a governor in it, no keeper is needed. */
void governing_settle(struct governing *governing, const struct plan *plan);

/* What was before is given back; warns where that cannot be. */
void governing_end(struct governing *governing);

/* What a dead run of this user left set, in words, or NULL; fresh. recover: gives it back, and says so; false: err. */
char *governing_leftover_text(int folder);
bool governing_recover(int folder, struct err *err);

#endif
