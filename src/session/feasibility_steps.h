/* feasibility_steps: a study from its first model alone to its report. */
#ifndef TARE_SESSION_FEASIBILITY_STEPS_H
#define TARE_SESSION_FEASIBILITY_STEPS_H

#include "session/feasibility.h"

struct study_steps {
    struct session_options session; /* of both runs */
    bool quiet, json;            /* nothing is told on the way; the report is feasibility.json */
    bool predict_only;
};

/* Gives the exit code; all has been said. */
int study_carry_out(struct study *study, const struct study_steps *steps);

#endif
