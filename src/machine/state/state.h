/* state: which runs of this user live on this machine, so that what a dead one left is always
 * found. One file a run, in a folder of the user's own; a run is dead when the kernel lock of its
 * file can be taken. docs/reference/machine.md describes the files. */
#ifndef TARE_MACHINE_STATE_STATE_H
#define TARE_MACHINE_STATE_STATE_H

#include "machine/contain/contain.h"

enum state_kind { STATE_RUN, STATE_EXEC };

struct state;

/* Where the folder may be, best first: $TARE_STATE_DIR alone; else $XDG_STATE_HOME/tare or
 * .local/state/tare at home (when there is a home), and behind it tare-UID in $TMPDIR or /tmp: for
 * a home that cannot be written. For root under sudo root's home of the user database, and /tmp:
 * the environment is another user's. */
bool state_paths(struct strv *out, struct err *err);

/* Opens the folder at path, making it (0700) where there is none. Refused: a link, somebody else's,
 * one that others may write. */
struct state *state_open(const char *path, struct err *err);

/* The same with a second folder, which is looked into as well where it is there, and is made when
 * the first (NULL: none) cannot be had or written. Its parent must be nobody else's to write, or
 * sticky as /tmp is. */
struct state *state_open_either(const char *path, const char *fallback, struct err *err);
struct state *state_open_user(struct err *err); /* by state_paths: what every command uses */

/* Hides the folders of state_paths from the jobs of this containment: a job cannot plant files
 * there. The second is made, too: else a job could make it. */
void state_hide(struct containment *containment);
void state_close(struct state *state); /* lets go of the lock, leaves the file; NULL: nothing */

/* A folder of it that nobody else may write, for what else a user's runs must tell each other;
 * borrowed. */
int state_folder(const struct state *state);

/* From now on this process is a live run; once. Only system calls, no wait for a disk: what a power
 * failure takes from the file, it takes from the machine as well, and a file of another boot is of
 * no use. run_dir: absolute; NULL for STATE_EXEC. Children that fork without exec must close all
 * descriptors but their own, as a job's init and the guardian do: else they hold the lock. */
bool state_register(struct state *state, enum state_kind kind, const char *run_dir,
                    struct err *err);

/* Between job_start and job_open_gate; and when the job is proven gone. */
bool state_job_born(struct state *state, const struct job_identity *identity, struct err *err);
void state_job_gone(struct state *state, const struct job_identity *identity);

/* A proper end: the file is removed, unless a job is in it that is not gone. */
void state_end(struct state *state);

enum state_verdict {
    STATE_ENDED,    /* processes of a dead run were ended, nothing of it is left */
    STATE_SURVIVED, /* something of a dead run cannot be ended: reason */
    /* the file cannot be read, belongs to another machine or container, or names a process that may
     * be another's: reason */
    STATE_KEPT
};

struct state_report {
    enum state_verdict verdict;
    enum state_kind kind;
    const char *file;    /* its name in the folder's "runs" */
    const char *run_dir; /* NULL: an exec, or unknown */
    double age_s;        /* since its runner started; below 0: unknown */
    size_t killed;
    /* of what was killed: "python3 (pid 17), sleep (pid 18)"; "" where it was not seen */
    const char *names;
    const char *reason;
};
typedef void state_report_fn(void *context, const struct state_report *report);

/* Ends what dead runs left of their jobs and removes their files; those of earlier boots too.
 * Nothing is reported of a dead run that left nothing. Waits at most about timeout_s for what does
 * not die. */
bool state_recover(struct state *state, double timeout_s, state_report_fn *report, void *context,
                   struct err *err);

/* What the files of live runs say, their locks being held: none of it is ended. Where the folder
 * cannot be read, nothing. */
struct state_live {
    struct strv tags; /* of their jobs */
    struct live_runners runners;
};
void state_live_read(const struct state *state, struct state_live *out);
void state_live_fini(struct state_live *live);

#endif
