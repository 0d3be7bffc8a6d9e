/* lane_marks: a lane's marks: from the log and from the FIFO into the journal. */
#ifndef TARE_RUN_OBSERVERS_MARKS_H
#define TARE_RUN_OBSERVERS_MARKS_H

#include "run/lane.h"

struct step_marks; /* measure/marks/marks.h */

/* Marks (lane_marks.c): the FIFO is made before the job is born; it is watched while the job runs;
 * what was marked is recorded about once a second, and the rest when the job is gone. */
int lane_marks_watch(struct lane *lane);                     /* as sd-event says it */
void lane_marks_add(void *context, const struct mark *mark); /* context: the lane */
void lane_marks_close(struct lane *lane);
void lane_marks_warn(struct lane *lane); /* says it when they look wrong */

struct step_marks *lane_marks_steps(const struct lane *lane);

#endif
