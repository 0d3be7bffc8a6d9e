/* growth_windows: does memory grow from one span of time to the next, where a training names no epochs; and when will it
 * run out? Pure. */
#ifndef TARE_GPU_MEMORY_OOM_GROWTH_WINDOWS_H
#define TARE_GPU_MEMORY_OOM_GROWTH_WINDOWS_H

#include "gpu_memory/oom/growth.h"

/* With fewer that have ended nothing is said: a program that loads its model looks like a leak at first. */
enum { GROWTH_WINDOWS_LEAST = 12 };

/* The highest memory in each window, from the first reading on. When there are too many, each two become one of twice the
 * length. */
struct growth_windows {
    double step_s;  /* how long each is */
    double first_s; /* the first reading's time */
    bool any;
    size_t open;    /* the window that has not ended: so many before it have */
    double peaks[GROWTH_POINTS_MAX];
};

void growth_windows_begin(struct growth_windows *windows, double step_s);

/* t_s: since any one moment. True: a window has ended by it. */
bool growth_windows_add(struct growth_windows *windows, double t_s, double bytes);

/* By the same rules as from epoch to epoch. */
struct growth_in_time {
    size_t windows;     /* that have ended */
    bool grows;
    double bytes_per_s; /* 0 where it does not grow */
    double last_bytes;  /* of the last window that has ended */
};
struct growth_in_time growth_in_time(const struct growth_windows *windows, double limit_bytes);

/* How long after the last window memory runs out, when it goes on so. Infinite: it does not grow, or the limit is not
 * known. */
double growth_seconds_left(const struct growth_in_time *growth, double limit_bytes);

#endif
