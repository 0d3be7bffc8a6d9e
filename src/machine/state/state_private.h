/* state_private: what the files of state/ share. */
#ifndef TARE_MACHINE_STATE_STATE_PRIVATE_H
#define TARE_MACHINE_STATE_STATE_PRIVATE_H

#include "machine/state/state.h"

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

/* Of a process of this boot that started at this tick; below 0: unknown. */
double state_age_s(uint64_t start_time);

#endif
