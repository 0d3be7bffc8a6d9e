/* holders: programs outside the run that hold a GPU before an attempt: how long each has been
 * waited for, and how to end it. Pure. */
#ifndef TARE_MEASURE_GUARD_HOLDERS_H
#define TARE_MEASURE_GUARD_HOLDERS_H

#include "measure/guard/look.h"

/* A process is known by pid and start time. Whatever holds a GPU without a name is one holder,
 * with pid 0. */
struct guard_holder {
    int32_t pid;
    uint64_t start_time;
    double since_s; /* it has been there without a break */
    bool there;     /* in the newest check */
};

/* Those of one preflight. Starts as {0}. */
struct guard_holders {
    struct guard_holder *items;
    size_t count;
    size_t came;   /* holders seen so far: each begins a wait of its own */
    double free_s; /* no holder since then */
};

/* Adds a check at now_s (seconds since the first one). Returns how long the current wait has
 * lasted: of the holder that has been there longest or, without one, since the last holder left. */
double guard_holders_add(struct guard_holders *holders, const struct guard_findings *findings,
                         double now_s);
void guard_holders_fini(struct guard_holders *holders);

/* What blocks, and the commands that end the processes that do: "GPU 0 is used by pid 12 of user
 * ada, ...; end it with 'tare clean --pid 12'". Fresh. */
char *guard_holders_text(const struct guard_findings *findings);

#endif
