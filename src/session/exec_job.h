/* exec_job: the one job of exec, from its birth to the proof that nothing of it is left. */
#ifndef TARE_SESSION_EXEC_JOB_H
#define TARE_SESSION_EXEC_JOB_H

#include "session/exec_energy.h"
#include "session/registration.h"
#include "machine/contain/contain.h"
#include "machine/contain/guardian.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

/* What reaches a command from outside: the signals that are passed on to it, and the terminal. */

/* Of these signals those that whoever started us does not want ignored (nohup). */
void exec_signals_not_ignored(const int *signals, size_t count, sigset_t *out);

/* Blocks those that are passed on, as far as they are not ignored; gives a signalfd for them, -1: there is none. */
int exec_signals_open(void);

/* Whether there is a terminal whose group the command shall be. */
bool exec_terminal_is_ours(void);

/* The terminal's process group now; -1: there is no terminal. */
pid_t exec_terminal_group(void);

/* An interactive job may have made a process group of its own the terminal's; that group is gone now. */
void exec_terminal_take_back(pid_t group);

#endif
