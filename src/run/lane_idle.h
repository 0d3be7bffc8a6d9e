/* lane_idle: measures the idle power of the lane's GPUs around each attempt, and makes the pauses:
 * a fixed time, or until the GPUs are idle and cool. An idle window is part of the pause. */
#ifndef TARE_RUN_LANE_IDLE_H
#define TARE_RUN_LANE_IDLE_H

#include "run/lane.h"
#include "run/observers/guard.h"

void lane_idle_pause(struct lane *lane, double seconds); /* as in the settings */

void phase_closing(struct lane *lane);

/* Measures the idle window, asks the guard, then runs done. False: no window is wanted. */
bool lane_idle_begin(struct lane *lane, lane_step *done);
void lane_idle_check_answers(struct lane *lane); /* the meters answered */
/* The previous attempt has its baseline after it, or never will. */
void lane_idle_record_net(struct lane *lane);
void lane_idle_keep_attempt(struct lane *lane, const struct energy_record *energy);
/* Evidence that a successful attempt did not use the lane's GPUs. */
void lane_idle_record_unused(struct lane *lane, const struct attempt_use *use);
json_t *lane_idle_json(const struct idle_window *window);

#endif
