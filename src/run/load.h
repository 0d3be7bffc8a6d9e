/* load: whether the background of a parallel experiment loads the GPU, from looks at it, and when the foreground may
 * start. Pure. Private to run/. */
#ifndef TARE_RUN_LOAD_H
#define TARE_RUN_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct load_watch {
    bool visible;     /* some look could tell */
    int64_t since_ns; /* the load holds since; 0: there is none */
    int64_t last_ns;  /* of the last look that found it; 0: none has */
    bool missed;      /* the look before found none */
    size_t looks, loaded; /* that could tell, and that found it */
};

/* One look (CLOCK_MONOTONIC). A training that reads its data computes nothing for a moment: only two looks in a row
 * without load end it. */
void load_take(struct load_watch *watch, int64_t t_ns, bool loaded);

struct load_times {
    int64_t wait_ns, hold_ns, limit_ns;
    bool set; /* the foreground starts after wait_ns, whether there is load or not */
};

enum load_verdict {
    LOAD_WAIT,
    LOAD_HELD,   /* it has loaded the GPU for hold_ns, and wait_ns are over */
    LOAD_UNSEEN, /* nobody can tell here; wait_ns are over */
    LOAD_SET,    /* nobody asks; wait_ns are over */
    LOAD_NONE    /* limit_ns (wait_ns, when that is longer) are over without it */
};

enum load_verdict load_decide(const struct load_watch *watch, const struct load_times *times, int64_t begun_ns,
                              int64_t now_ns);

/* The share of the looks that found load; false: too few to say. */
bool load_share(const struct load_watch *watch, double *out);

#endif
