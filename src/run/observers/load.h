/* Whether the background of a parallel experiment loads the GPU: looks at it, first while it runs
 * alone, until its load has held, then beside the foreground. */
#ifndef TARE_RUN_OBSERVERS_LOAD_H
#define TARE_RUN_OBSERVERS_LOAD_H

#include "run/lane.h"

/* One look (CLOCK_MONOTONIC). A training that reads its data computes nothing for a moment: only
 * two looks in a row without load end it. */
void load_take(struct load_watch *watch, int64_t t_ns, bool loaded);

enum load_verdict load_decide(const struct load_watch *watch, const struct load_times *times,
                              int64_t begun_ns, int64_t now_ns);

/* The share of the looks that found load; false: too few to say. */
bool load_share(const struct load_watch *watch, double *out);

/* Looks. */
void lane_load_prepare(struct lane *lane); /* the background is about to be born */
void lane_load_begin(struct lane *lane);   /* its gate is open */
const struct lane_load *lane_load(const struct lane *lane);

/* What the driver told of the loop that has just ended. */
struct gpu_memory_told lane_load_told(struct lane *lane);

#endif
