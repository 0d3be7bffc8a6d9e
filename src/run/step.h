/* step: what a lane does on an event of the loop. */
#ifndef TARE_RUN_STEP_H
#define TARE_RUN_STEP_H

#include <stdint.h>
#include <systemd/sd-event.h>

struct lane;

/* Runs when its event is durable, or at once if the journal is lost; lane_enter_next only in the
 * same phase. */
typedef void lane_step(struct lane *lane);

struct step_source {
    sd_event_source *source;
    lane_step *step;
    struct lane *lane;
};

/* Negative: sd-event's error. step_on_time runs once, step_on_input until it is cancelled. */
int step_on_time(struct lane *lane, struct step_source *source, uint64_t us, lane_step *step);
int step_on_input(struct lane *lane, struct step_source *source, int fd, lane_step *step);

void step_cancel(struct step_source *source);

#endif
