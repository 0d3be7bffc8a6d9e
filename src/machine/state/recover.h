/* recover: ends the jobs that dead runs left, and lists the processes of live ones. */
#ifndef TARE_MACHINE_STATE_RECOVER_H
#define TARE_MACHINE_STATE_RECOVER_H

#include "machine/state/state_private.h"

void members_take(const struct job_identity *job, const struct live_runners *runners,
                  struct members *out);
void members_fini(struct members *members);

/* Adds "python3 (pid 17), sleep (pid 18)" for at most max of them in all; *shown counts those that
 * are in out. */
void members_add_names(const struct members *members, size_t max, size_t *shown, struct text *out);

#endif
