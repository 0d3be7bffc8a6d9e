/* How a job starts: the init is cloned, takes its place, and says so; a refused layer is left out
 * when AUTO allows it. */
#ifndef TARE_MACHINE_CONTAIN_START_H
#define TARE_MACHINE_CONTAIN_START_H

#include "machine/contain/contain.h"

/* Starts the job's init, which waits at the gate: nothing of the command runs yet. Call from the
 * main thread (PDEATHSIG). Errors of exec itself come out later, as exit code 127 with
 * job_exec_error. */
struct job *job_start(const struct job_request *request, struct err *err);

#endif
