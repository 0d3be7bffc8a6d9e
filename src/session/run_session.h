/* run_session: one life of the runner: containment, journal, progress, the run itself, the closing
 * table. */
#ifndef TARE_SESSION_RUN_SESSION_H
#define TARE_SESSION_RUN_SESSION_H

#include "base/err.h"
#include "machine/contain/contain.h"
#include "session/caller.h"
#include "session/gpu_hold.h"
#include "session/run_input.h"

#include <stdbool.h>

struct cli_value;
struct governing;
struct host_meter;
struct run_listener;

struct session_options {
    const struct run_input *input; /* a new run of this plan in output, or NULL: */
    struct plan *spent_plan;       /* that plan, freed once the store has its own; NULL: it stays */
    const char *output;
    const char *resume_dir; /* an earlier run to go on with */
    bool task;              /* it is a start of a submitted run (slurm/tasks.h) */
    bool rerun;             /* of it, repeat some, and nothing else: */
    /* as again_choose (run/again.h) takes it; NULL: what is not clean */
    const char *rerun_which;
    const struct caller *caller;
    struct host_meter *host;     /* what root's rights may have opened; NULL: nothing */
    struct governing *governing; /* as far as root's rights began it; stays the caller's */
    enum containment_mode containment;
    enum gpu_hold_mode gpu_lock;
    bool gpu_lock_asked;          /* by a person */
    const char *gpus;             /* over what the plan says; NULL: as it says */
    struct run_budget budget;     /* over what the run has: what is 0 is not said */
    const char *metrics_textfile; /* for node_exporter; NULL: none */
    bool quiet, json;
    bool verbose;     /* what is normal is told each time, on a terminal too */
    const char *kind; /* of a new run: what its folder's name begins with; NULL: "run" */
    /* hears all events, too; where it has enough, what did not begin is no failure; or NULL */
    const struct run_listener *watch;
    bool no_calibrate;    /* GPUs are not loaded to calibrate their sensors */
    bool stop_at_failure; /* nothing more begins when an experiment has failed */
    /* the caller says how it ended: no closing table, no word of the page */
    bool leaves_closing;
    char **run_dir; /* NULL, or takes the run's folder, fresh; NULL when there is none */
    /* of a command that goes on afterwards: the governor stays as it is set */
    bool part;
};

/* What --containment and --gpu-lock say. */
void run_session_take_options(struct session_options *options, const struct cli_value *containment,
                              const struct cli_value *gpu_lock);

/* The checks that run_session makes of a new run before it makes its folder, and nothing else:
 * gives the exit code that it would end with there, or 0; everything has been said. A GPU that is
 * held counts only where the run would refuse to wait. */
int run_session_check(const struct session_options *options);

/* Gives the exit code; everything has been said. */
int run_session(const struct session_options *options);

/* A run's metrics in a file for node_exporter's textfile collector, replaced about every 15 s and
 * at the end. A thread of its own reads the run's folder (results/store/live.h) and writes, so that
 * a disk that hangs does not delay the run. (metrics_file.c) */

struct metrics_file;

/* Whether path can be that of such a file: the collector reads names that end in ".prom" only. */
bool metrics_file_check_name(const char *path, struct err *err);

/* Writes the file at once, and says on standard error when that fails; it is tried again each time.
 * Its mode is 0644. A link of that name is replaced, not followed. path NULL: there is none, and
 * NULL is given. */
struct metrics_file *metrics_file_start(const char *path, const char *run_dir);

/* For when the run's records are closed: writes the file a last time, waits a few seconds for that,
 * says what failed unless that was said, and frees. The file stays. */
void metrics_file_end(struct metrics_file *file);

#endif
