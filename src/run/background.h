/* background: how the loops of a parallel experiment's background went, and when it is given up. Pure. Private to
 * run/. */
#ifndef TARE_RUN_BACKGROUND_H
#define TARE_RUN_BACKGROUND_H

#include "plan/event.h"

#include <stdbool.h>
#include <stddef.h>

/* So many failures in a row, and it is not started again: before the foreground, and beside it. */
enum { BACKGROUND_TRIES_ALONE = 3, BACKGROUND_TRIES_BESIDE = 5, BACKGROUND_FAILURES_TOLD = 2 };

struct background_tally {
    size_t started, succeeded, failed;
    size_t failed_in_a_row;
    size_t failed_beside; /* while the foreground ran */
    bool gave_up;
};

enum background_next {
    BACKGROUND_AGAIN,    /* after the restart delay */
    BACKGROUND_TELL,     /* the same, and it is time to say that it fails repeatedly */
    BACKGROUND_GIVE_UP,  /* it failed too often in a row */
};

/* A loop has ended by itself. beside: while the foreground ran. TELL comes once. */
enum background_next background_ended(struct background_tally *tally, enum outcome outcome, bool beside);

#endif
