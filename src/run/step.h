/* step: what a lane does next, on an event of the loop: a timer, or input on a descriptor. */
#ifndef TARE_RUN_STEP_H
#define TARE_RUN_STEP_H

#include <stdint.h>
#include <systemd/sd-event.h>

struct lane;

/* Recorded with an event, it runs when that is durable (at once, when the journal is lost);
 * lane_enter_next only if the lane is still in the same phase. */
typedef void lane_step(struct lane *lane);

struct step_source {
    sd_event_source *source;
    lane_step *step;
    struct lane *lane;
};

/* Both return a negative error number of sd-event when they fail. step_on_time runs the step once;
 * step_on_input until it is cancelled. */
int step_on_time(struct lane *lane, struct step_source *source, uint64_t us, lane_step *step);
int step_on_input(struct lane *lane, struct step_source *source, int fd, lane_step *step);

void step_cancel(struct step_source *source); /* nothing to cancel: no effect */

#endif
