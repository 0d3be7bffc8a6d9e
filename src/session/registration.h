/* registration: what every command that runs jobs does first: end what dead runs of this user left, and register as a live one. */
#ifndef TARE_SESSION_REGISTRATION_H
#define TARE_SESSION_REGISTRATION_H

#include "machine/state/state.h"

#include <stdbool.h>

/* Opens the state folder, ends what dead runs left, and says so. NULL: it cannot be used, which is said; the command goes on. */
struct state *registration_open(void);

/* Ends what dead runs left, once more: after a wait in which a run may have died. state: NULL does nothing. */
void registration_recover(struct state *state);

/* run_dir: as a person wrote it; NULL for an exec. Gives state; NULL when it is NULL, or closed because it failed, which
 * is said. */
struct state *registration_begin(struct state *state, enum state_kind kind, const char *run_dir);

/* Takes the registration back and closes. NULL: nothing. */
void registration_end(struct state *state);

/* Says what state_recover reports: what was ended, and what could not be. */
void registration_say(void *context, const struct state_report *report);

#endif
