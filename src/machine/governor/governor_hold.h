/* governor_hold: a governor that is set for a while, by one or several runs of one user at once: written down before it
 * is changed, in a folder that nobody else may write, and given back by the last of them; after a crash by whoever
 * comes next. Who relies on it holds a kernel lock on the file, so what no living process relies on is
 * known for sure. */
#ifndef TARE_MACHINE_GOVERNOR_GOVERNOR_HOLD_H
#define TARE_MACHINE_GOVERNOR_GOVERNOR_HOLD_H

#include "machine/governor/governor.h"

struct governor_hold {
    int folder; /* borrowed */
    int file;   /* -1: nothing is held */
    const char *sysroot; /* borrowed */
    char wanted[GOVERNOR_NAME_MAX];
};

/* Gives back first what a dead run left set. False: it could not be set (governor.h), or a living run has set another
 * one, or nothing can be written down; then it is as it was. folder, a descriptor, and sysroot must live as long. */
bool governor_hold_take(int folder, const char *sysroot, const char *wanted, struct governor_hold *out,
                        struct err *err);

/* Gives it back unless others rely on it. False: it could not be given back, and stays written down. */
bool governor_hold_end(struct governor_hold *hold, struct err *err);

struct governor_leftover {
    struct governor_change change;
    struct governor_restored restored; /* by governor_recover */
};

/* What a dead run of this boot set and nobody gave back. look: changes nothing. recover: gives it back, so that the
 * file is empty. False, with count 0 and err untouched: there is none. False and err: it could not be given back. */
bool governor_leftover_look(int folder, const char *sysroot, struct governor_leftover *out);
bool governor_leftover_recover(int folder, const char *sysroot, struct governor_leftover *out, struct err *err);
void governor_leftover_fini(struct governor_leftover *leftover);

#endif
