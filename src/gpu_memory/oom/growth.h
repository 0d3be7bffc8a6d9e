/* growth: does the memory of a training grow from epoch to epoch, and in which one will it run out?
 * Pure. */
#ifndef TARE_GPU_MEMORY_OOM_GROWTH_H
#define TARE_GPU_MEMORY_OOM_GROWTH_H

#include <stdbool.h>
#include <stddef.h>

/* With fewer epochs nothing is said. */
enum { GROWTH_EPOCHS_LEAST = 3 };

/* What the epochs so far say. Bytes are doubles: differences and quotients are taken of them. */
struct growth {
    size_t epochs;          /* whose peaks were compared */
    bool of_steps;          /* steps of a memory snapshot, not epochs */
    bool grows;             /* steadily: not what a warm-up, a single step or noise looks like */
    double bytes_per_epoch; /* robust (Theil and Sen); 0 where it does not grow */
    double first_bytes, last_bytes; /* peaks of the first epoch that counts, and of the last */
};

/* peaks: the highest memory in each epoch, from the first on, of epochs that have ended. At least 3
 * are needed. The first is warm-up: caches fill, the first validation comes; it counts only where
 * the second and third go on as it began. limit_bytes: what there is (0: not known); growth of less
 * than a hundredth of it in all is none. */
struct growth growth_of(const double *peaks, size_t count, double limit_bytes);

/* How many epochs after the last one memory runs out, when it goes on so: 1 is the next. 0: it does
 * not grow, or the limit is not known. */
size_t growth_epochs_left(const struct growth *growth, double limit_bytes);

/* The median of the slopes between all pairs (Theil 1950, Sen 1968) of values at 0, 1, 2, ...; 0
 * for fewer than two. At most the last GROWTH_POINTS_MAX count. */
enum { GROWTH_POINTS_MAX = 64 };
double growth_slope(const double *values, size_t count);

/* Does memory grow from one span of time to the next, where a training names no epochs; and when
 * will it run out? Pure. */

/* With fewer that have ended nothing is said: a program that loads its model looks like a leak at
 * first. */
enum { GROWTH_WINDOWS_LEAST = 12 };

/* The highest memory in each window, from the first reading on. When there are too many, each two
 * become one of twice the length. */
struct growth_windows {
    double step_s;  /* how long each is */
    double first_s; /* the first reading's time */
    bool any;
    size_t open; /* the window that has not ended: so many before it have */
    double peaks[GROWTH_POINTS_MAX];
};

void growth_windows_begin(struct growth_windows *windows, double step_s);

/* t_s: since any one moment. True: a window has ended by it. */
bool growth_windows_add(struct growth_windows *windows, double t_s, double bytes);

/* By the same rules as from epoch to epoch. */
struct growth_in_time {
    size_t windows; /* that have ended */
    bool grows;
    double bytes_per_s; /* 0 where it does not grow */
    double last_bytes;  /* of the last window that has ended */
};
struct growth_in_time growth_in_time(const struct growth_windows *windows, double limit_bytes);

/* How long after the last window memory runs out, when it goes on so. Infinite: it does not grow,
 * or the limit is not known. */
double growth_seconds_left(const struct growth_in_time *growth, double limit_bytes);

#endif
