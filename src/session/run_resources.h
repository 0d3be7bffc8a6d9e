/* run_resources: what stands behind a call that runs experiments: what root's rights opened, and
 * whom it then became. */
#ifndef TARE_SESSION_RUN_MEANS_H
#define TARE_SESSION_RUN_MEANS_H

#include "machine/governor/governor_keeper.h"
#include "machine/sensors/host.h"
#include "machine/state/state.h"
#include "plan/plan.h"
#include "run/run.h"
#include "session/caller.h"

#include <stdbool.h>

/* The CPU frequency governor of a run, as far as it needs root's rights; and what dead runs left
 * set. */

struct governing {
    struct run_governor of_run; /* for run_plan */
    struct err why;
};

/* The plan is known: without a governor in it, no keeper is needed. */
void governing_settle(struct governing *governing, const struct plan *plan);

/* What was before is given back; warns where that cannot be. */
void governing_end(struct governing *governing);

/* What a dead run of this user left set, in words, or NULL; fresh. recover: gives it back, and says
 * so; false: err. */
char *governing_leftover_text(int folder);
bool governing_recover(int folder, struct err *err);

struct run_resources {
    struct caller caller;
    struct host_meter *host; /* opened while there were root's rights; NULL: nothing will run */
    struct governing governing;
};

/* Becomes the caller under sudo, and says so. Nothing else where nothing will run. containment: the
 * option's text. Gives 0, or the exit code, all having been said; out must be freed by
 * run_resources_fini in each case. */
int run_resources_begin(bool will_run, const char *containment, bool as_root, bool quiet,
                        struct run_resources *out);
void run_resources_fini(struct run_resources *means);

/* What every command that runs jobs does first: end what dead runs of this user left, and register
 * as a live one. */

/* Opens the state folder, ends what dead runs left, and says so. NULL: it cannot be used, which is
 * said; the command goes on. */
struct state *registration_open(void);

/* Ends what dead runs left, once more: after a wait in which a run may have died. state: NULL does
 * nothing. */
void registration_recover(struct state *state);

/* run_dir: as a person wrote it; NULL for an exec. Gives state; NULL when it is NULL, or closed
 * because it failed, which is said. */
struct state *registration_begin(struct state *state, enum state_kind kind, const char *run_dir);

/* Takes the registration back and closes. NULL: nothing. */
void registration_end(struct state *state);

/* Says what state_recover reports: what was ended, and what could not be. */
void registration_say(void *context, const struct state_report *report);

#endif
