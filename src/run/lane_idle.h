/* lane_idle: what a lane's idle GPUs draw, measured before each attempt and after the last; and
 * what an attempt drew beyond that. And the pause between trainings: as long as the settings say,
 * or until the GPUs are idle and cool. What the idle window before the next attempt takes is part
 * of it. */
#ifndef TARE_RUN_LANE_IDLE_H
#define TARE_RUN_LANE_IDLE_H

#include "run/lane.h"
#include "run/observers/guard.h"

void lane_idle_pause(struct lane *lane, double seconds); /* seconds: of the settings */

void phase_closing(struct lane *lane);

/* The idle window, then a round, then done; false: no window is wanted. */
bool lane_idle_begin(struct lane *lane, lane_step *done);
void lane_idle_check_answers(struct lane *lane); /* the energy_meters has answered something */
/* the attempt before has the baseline after it now, or never will */
void lane_idle_record_net(struct lane *lane);
void lane_idle_keep_attempt(struct lane *lane, const json_t *energy);
/* Evidence where the attempt, which succeeded and was to use a GPU, used none of its lane's.
 * energy, memory: as they are recorded. */
void lane_idle_record_unused(struct lane *lane, const json_t *energy, const json_t *memory);
json_t *lane_idle_json(const struct idle_window *window);

#endif
