/* calibrating: whether GPUs may be loaded for a calibration that no person asked for. */
#ifndef TARE_SESSION_CALIBRATING_H
#define TARE_SESSION_CALIBRATING_H

#include "base/err.h"
#include "base/strv.h"
#include "measure/energy_meters.h"
#include "plan/config/settings.h"

#include <stdbool.h>

/* Whether user, site and settings allow it: TARE_CALIBRATE in the environment, /etc/tare/calibrate
 * below the machine's root, Slurm. mode: enum calibrate_mode. False: err says what forbids it. */
bool calibrating_is_allowed(int mode, const struct strv *environment, struct err *err);

/* Whether the machine does: it has no battery, and MPS does not share its GPUs. */
bool calibrating_suits_machine(struct err *err);

/* What a calibration would give for the energies of GPUs that have none: a line, fresh; NULL where
 * it would not narrow them to less than half. */
char *calibrating_hint(const struct energy_meters_result *result);

/* GPUs of one host take turns: waits at most wait_s for this one's. Gives a descriptor that ends
 * the turn when it is closed, or -1 (err). */
int calibrating_turn(double wait_s, struct err *err);

#endif
