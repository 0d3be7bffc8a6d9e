/* exec_job: the one job of exec, from its birth to the proof that nothing of it is left. */
#ifndef TARE_SESSION_EXEC_JOB_H
#define TARE_SESSION_EXEC_JOB_H

#include "base/err.h"
#include "base/strv.h"
#include "machine/contain/contain.h"
#include "machine/contain/guardian.h"
#include "session/measuring.h"
#include "session/run_resources.h"

#include <jansson.h>
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
int exec_job_run(const struct exec_options *options, struct guardian *guardian,
                 const struct job_request *request);

/* What reaches a command from outside: the signals that are passed on to it, and the terminal. */

/* Of these signals those that whoever started us does not want ignored (nohup). */
void exec_signals_not_ignored(const int *signals, size_t count, sigset_t *out);

/* Blocks those that are passed on, as far as they are not ignored; gives a signalfd for them, -1:
 * there is none. */
int exec_signals_open(void);

/* Whether there is a terminal whose group the command shall be. */
bool exec_terminal_is_ours(void);

/* The terminal's process group now; -1: there is no terminal. */
pid_t exec_terminal_group(void);

/* An interactive job may have made a process group of its own the terminal's; that group is gone
 * now. */
void exec_terminal_take_back(pid_t group);

/* What it draws: measured beside it, cut at its marks, told when all is over. (exec_energy.c) */

struct exec_marks;

/* All zero: energy is not asked for, and every function does nothing. */
struct exec_energy {
    const struct energy_meters_options *energy_meters;
    const char *json_path;       /* instead of the table; NULL: none */
    struct measuring *measuring; /* NULL: nothing is measured */
    struct exec_marks *marks;    /* NULL: there are none */
};

/* Makes $TARE_MARKS, before the command is born. */
void exec_energy_prepare(struct exec_energy *energy, struct strv *environment);

/* The command runs already: it waits for no meter. */
void exec_energy_begin(struct exec_energy *energy, struct job *job);

/* After each poll of what measures and of the marks. */
void exec_energy_step(struct exec_energy *energy);

/* The command has ended; the job is not gone yet. */
void exec_energy_end(struct exec_energy *energy, struct job *job, int64_t end_ns);

/* When all is over: the table on standard error, or the file. gpu_memory (is taken; may be NULL):
 * one more section of the file, which is written for it alone where no energy was measured. */
void exec_energy_show(struct exec_energy *energy, json_t *gpu_memory);
void exec_energy_fini(struct exec_energy *energy);

/* The FIFO in $TARE_MARKS of one command that is run under exec. */

int exec_marks_fd(const struct exec_marks *marks); /* -1 of NULL */

/* What it allocates on its GPUs: followed and limited, told when all is over. (exec_energy.c) */

struct ledger;

/* The options on the command line: limit_text may be NULL. */
struct exec_gpu_memory {
    const char *limit_text, *trace;
    bool track;
    struct ledger *ledger; /* NULL: not asked for */
};

bool exec_gpu_memory_wanted(const struct exec_gpu_memory *memory);

/* Before the command is born; does nothing where it is not wanted. False: what was asked for cannot
 * be held. */
bool exec_gpu_memory_prepare(struct exec_gpu_memory *memory, struct strv *environment,
                             struct err *err);
int exec_gpu_memory_fd(const struct exec_gpu_memory *memory); /* for job_request.shared_fd */

/* The section of the JSON file; NULL: not asked for. */
json_t *exec_gpu_memory_json(const struct exec_gpu_memory *memory);

/* Lines on standard error. */
void exec_gpu_memory_show(const struct exec_gpu_memory *memory);
void exec_gpu_memory_fini(struct exec_gpu_memory *memory);

#endif
