/* members: the processes that live of a job whose runner is dead. Private to state/. */
#ifndef TARE_MACHINE_STATE_MEMBERS_H
#define TARE_MACHINE_STATE_MEMBERS_H

#include "base/text.h"
#include "machine/contain/contain.h"

#include <stdbool.h>
#include <stddef.h>

struct members {
    struct job_member *items; /* what job_recover would end; without the init */
    size_t count;
    bool init_alive;
};

void members_take(const struct job_identity *job, struct members *out);
void members_fini(struct members *members);

/* Adds "python3 (pid 17), sleep (pid 18)" for at most max of them in all; *shown counts those that are in out. */
void members_add_names(const struct members *members, size_t max, size_t *shown, struct text *out);

#endif
