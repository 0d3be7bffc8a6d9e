/* leftovers: which processes of this machine tare should have ended, and which others have a GPU open. */
#ifndef TARE_STATE_LEFTOVERS_H
#define TARE_STATE_LEFTOVERS_H

#include "state/census.h"
#include "state/state.h"

enum leftover_kind {
    LEFTOVER_OF_DEAD_RUN, /* in the file of a run that is dead: state_recover ends it */
    LEFTOVER_TAGGED,      /* carries the tag of a job that no live run knows: leftovers_end ends it */
    LEFTOVER_NONE_GPU,    /* none: has a GPU open, and is not tare's */
    LEFTOVER_LIVE_GPU     /* none: has a GPU open, and is of a live run */
};

struct leftover {
    const struct census_process *process; /* in the census */
    enum leftover_kind kind;
    enum state_kind run;  /* of LEFTOVER_OF_DEAD_RUN */
    char *run_dir;        /* of a dead run; NULL: an exec */
};

struct leftovers {
    struct census census;
    struct leftover *items; /* by pid */
    size_t count, capacity;
    struct strv kept; /* "FILE: reason" of files in the state folder that are no business of ours */
};

/* Of this user; all users' (but not their runs' files) for root. Nothing that this process or one of its ancestors belongs to, and
 * nothing below a job's init, counts as left. state: NULL when there is none to ask. Changes nothing. */
bool leftovers_find(struct state *state, const struct census_roots *roots, struct leftovers *out, struct err *err);
void leftovers_fini(struct leftovers *leftovers);

bool leftover_is_ours(const struct leftover *leftover); /* one of the first two kinds */
size_t leftovers_count_ours(const struct leftovers *leftovers);

/* SIGKILL to one LEFTOVER_TAGGED. False: err, and code ESRCH when it is gone already. */
bool leftover_kill(const struct census_roots *roots, const struct leftover *leftover, struct err *err);

#endif
