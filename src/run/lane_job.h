/* lane_job: the lane's job, from its files to the proof that it is gone. */
#ifndef TARE_RUN_LANE_JOB_H
#define TARE_RUN_LANE_JOB_H

#include "run/lane.h"

void phase_opening(struct lane *lane);
void phase_birth(struct lane *lane);
void phase_gate(struct lane *lane);
void phase_running(struct lane *lane);
void phase_job_event(struct lane *lane, enum lane_event event);
void phase_stopping(struct lane *lane);
void phase_stopping_event(struct lane *lane, enum lane_event event);
void phase_proving(struct lane *lane);

/* Output of the job or of its background. If it cannot be written, the attempt and the run end. */
void lane_job_read_log(struct lane *lane, struct attempt *attempt, struct step_source *source);
void lane_job_lose_log(struct lane *lane, const struct attempt *attempt, const struct err *cause);
void lane_job_sources_fini(struct lane *lane);

/* Breaks the run: the survivors of the attempt cannot be killed. */
void lane_job_break_unkillable(struct lane *lane, const struct attempt *attempt);

#endif
