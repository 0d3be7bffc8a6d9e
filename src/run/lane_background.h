/* The background of a parallel experiment: a job that is started again and again until the
 * foreground has ended. Each loop is contained, journaled and proven gone as every job is, before
 * the next one is born. */
#ifndef TARE_RUN_LANE_BACKGROUND_H
#define TARE_RUN_LANE_BACKGROUND_H

#include "run/lane.h"

/* A loop has ended by itself. beside: while the foreground ran. TELL comes once. Pure. */
enum background_next lane_background_ended(struct background_tally *tally, enum outcome outcome,
                                           bool beside);

/* Loops. None of these does anything where there is no background. */
/* or not: written down, with what is left */
void lane_background_proven(struct lane *lane, double seconds);
json_t *lane_background_json(const struct lane *lane);

/* lane_background.c */
void phase_loading(struct lane *lane);

/* The run breaks off: the attempt's survivors cannot be ended. */
void lane_break_unkillable(struct lane *lane, const struct attempt *attempt);

#endif
