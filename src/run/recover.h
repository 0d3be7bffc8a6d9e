/* recover: what a session that died left behind, settled before a run goes on: its job is ended, its attempt is
 * closed, an end that was reached but not written is written. Private to run/. */
#ifndef TARE_RUN_RECOVER_H
#define TARE_RUN_RECOVER_H

#include "run/runner.h"

/* Waits for the journal. False: something of an earlier session cannot be ended, or the journal cannot be written. */
bool recover_run(struct runner *runner, struct err *err);

#endif
