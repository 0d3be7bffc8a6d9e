/* exec_job: the one job of exec, from its birth to the proof that nothing of it is left. */
#ifndef TARE_SESSION_EXEC_JOB_H
#define TARE_SESSION_EXEC_JOB_H

#include "session/exec_energy.h"
#include "session/registration.h"
#include "machine/contain/contain.h"
#include "machine/contain/guardian.h"

#include <stdbool.h>
#include <stdint.h>

/* The codes that env(1) and timeout(1) use too. */
enum { EXEC_TIMEOUT = 124, EXEC_OURS = 125, EXEC_NOT_EXECUTABLE = 126, EXEC_NOT_FOUND = 127 };

struct exec_options {
    struct state *state;        /* where the job is registered; NULL: nowhere */
    struct exec_energy *energy; /* prepared */
    bool foreground_tty;        /* what the terminal sends, it sends to the command as well */
    bool verbose;               /* says at the end what held and what was left */
    int signals;                /* of exec_signals_open */
    int64_t timeout_ns;         /* when, on CLOCK_MONOTONIC; 0: never */
    int64_t grace_ns;           /* from TERM to KILL */
};

/* Gives the exit code; everything has been said. */
int exec_job_run(const struct exec_options *options, struct guardian *guardian, const struct job_request *request);

#endif
