/* calibrate: learns how the sensors of one GPU behave, by a small load. */
#ifndef TARE_DOCTOR_CALIBRATE_H
#define TARE_DOCTOR_CALIBRATE_H

#include "base/strv.h"
#include "base/text.h"
#include "measure/calibration/calibration.h"

#include <stdbool.h>

struct calibrate_options {
    const char *gpu; /* number or UUID; NULL: the only one */
    double seconds;
    bool yes; /* the GPU's owner agrees: nobody is asked */
    bool json;
    bool verbose;                   /* all figures, in a table */
    bool show;                      /* what was learnt before; no load */
    const struct strv *environment; /* where the locks of the run that we are part of are told */
};

/* The program's exit code. What went wrong has been said. */
int calibrate(const struct calibrate_options *options);

#endif
