/* marks: the lane's marks, from log and FIFO into the journal. */
#ifndef TARE_RUN_OBSERVERS_MARKS_H
#define TARE_RUN_OBSERVERS_MARKS_H

#include "run/lane.h"

struct step_marks; /* measure/marks/marks.h */

/* From the gate until the job is gone. Marks are recorded about once a second, the rest at the end.
 */
int lane_marks_watch(struct lane *lane);                     /* negative: sd-event's error */
void lane_marks_add(void *context, const struct mark *mark); /* context: the lane */
void lane_marks_close(struct lane *lane);
void lane_marks_warn(struct lane *lane); /* if they seem to be placed wrongly */

struct step_marks *lane_marks_steps(const struct lane *lane);

#endif
