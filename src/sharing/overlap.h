/* overlap: for how long two trainings trained at the same time, from looks at what each had of the GPU. Pure.
 *
 * A training is in its training phase in a look in which it has nine tenths of its steady memory alone or more, and
 * computes: it has a quarter of the share of the multiprocessors that it can expect, or more. Two that have more than
 * 100 % together when each is alone can expect less, in proportion. One look without load between two with it is
 * forgiven: a training waits for its data now and then. It is at its peak where it has nine tenths of its highest
 * memory alone. */
#ifndef TARE_SHARING_OVERLAP_H
#define TARE_SHARING_OVERLAP_H

#include "base/reading.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { FOREGROUND, BACKGROUND, OVERLAP_SIDES };

/* One look, t_s after the foreground's start (negative: before it). */
struct overlap_look {
    double t_s;
    double bytes[OVERLAP_SIDES];
    struct reading percent[OVERLAP_SIDES]; /* of the multiprocessors' time */
};

/* What one of the two had alone, as the same looks show it; steady 0: not known. */
struct overlap_alone {
    double steady_bytes, peak_bytes;
    struct reading percent; /* mean at its peak */
};

struct overlap {
    double seconds;        /* both were in their training phase; a look stands for half the way to its neighbours */
    size_t looks;          /* in which both were */
    size_t at_peaks;       /* in which both were at their peaks, too */
    double together_bytes; /* the highest sum in one of looks; 0: there is none */
    struct reading first_s[OVERLAP_SIDES]; /* when each was first in its training phase */
};

void overlap_measure(const struct overlap_look *looks, size_t count, const struct overlap_alone alone[OVERLAP_SIDES],
                     struct overlap *out);

/* The looks of tare.parallel, which are not trusted; NULL: there are none. The caller frees them. */
struct overlap_look *overlap_looks_from_json(const json_t *json, size_t *count);

/* When the foreground is to start after the background, so that both training phases begin together: startup_s of each,
 * period_s from one start of the background to the next. Never below 0: then it is a later start of the background. */
double overlap_start_after(const double startup_s[OVERLAP_SIDES], double period_s);

#endif
