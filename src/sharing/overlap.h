/* overlap: how long two trainings computed at the same time, from samples of their GPU load. */
#ifndef TARE_SHARING_OVERLAP_H
#define TARE_SHARING_OVERLAP_H

#include "sharing/feasibility.h"

void overlap_measure(const struct overlap_look *looks, size_t count,
                     const struct overlap_alone alone[OVERLAP_SIDES], struct overlap *out);

/* The looks of tare.parallel, which are not trusted; NULL: there are none. The caller frees
 * them. */
struct overlap_look *overlap_looks_from_json(const json_t *json, size_t *count);

/* How long after a start of the background, which repeats every period_s, the
 * foreground starts, for both training phases to begin together. */
double overlap_start_after(const double startup_s[OVERLAP_SIDES], double period_s);

#endif
