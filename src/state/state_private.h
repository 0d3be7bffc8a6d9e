/* state_private: what state.c, recover.c and leftovers.c share. */
#ifndef TARE_STATE_STATE_PRIVATE_H
#define TARE_STATE_STATE_PRIVATE_H

#include "state/state.h"

struct state {
    int runs;      /* the folder of the runs' files */
    int file;      /* our own, locked; -1: not registered */
    char *name;    /* its name in runs */
    size_t living; /* jobs in it that are not gone */
    bool torn;     /* the last line was not written to its end */
};

#endif
