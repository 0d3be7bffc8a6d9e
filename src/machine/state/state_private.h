/* state_private: what the files of state/ share. */
#ifndef TARE_MACHINE_STATE_STATE_PRIVATE_H
#define TARE_MACHINE_STATE_STATE_PRIVATE_H

#include "base/text.h"
#include "machine/contain/contain.h"
#include "machine/state/state.h"

#include <stdbool.h>
#include <stddef.h>

enum { STATE_PLACES = 2 };

struct state {
    int places[STATE_PLACES]; /* folders of runs' files: the proper one and the fallback; -1: not there */
    char *fallback;           /* path of the second; NULL: none */
    int home;      /* the one of them that our own file is in */
    int file;      /* our own, locked; -1: not registered */
    char *name;    /* its name in home */
    size_t living; /* jobs in it that are not gone */
    bool torn;     /* the last line was not written to its end */
};

/* The processes that live of a job whose runner is dead. */

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
