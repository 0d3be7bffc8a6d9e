/* smoke: a short start of one training, with the command, environment and containment of a run, to see whether it fails
 * at once. It trains where a run would, and what it writes there stays; tare's own files go to a folder that is given. */
#ifndef TARE_RUN_SMOKE_H
#define TARE_RUN_SMOKE_H

#include "run/run.h"

enum smoke_state {
    SMOKE_NOT_STARTED, /* something is missing that it needs */
    SMOKE_FAILED,      /* as a run would judge it, or an error pattern had matched when the time was over */
    SMOKE_NO_METRIC,   /* it ended by itself, with 0, and none of its metrics was seen */
    SMOKE_ENDED,       /* by itself: a run would say that it succeeded */
    SMOKE_RAN,         /* all the time, without failing; it was then ended */
    SMOKE_INTERRUPTED  /* by a signal to this program */
};

struct smoke {
    char *repo, *model;
    char *command; /* as a person could paste it; NULL: not started */
    enum smoke_state state;
    double seconds;    /* it ran */
    bool exited, signalled;
    int code;          /* of exited */
    int signal_number; /* of INTERRUPTED */
    char *why;         /* of what is not good; NULL: nothing to say */
    const char *cause; /* of FAILED: as outcome.h names it; NULL: none */
    struct strv seen;  /* metrics that were seen, as "loss 0.5" */
    size_t metrics;    /* that the registry names */
    struct strv log;   /* the last lines that are not blank; printable */
};
void smoke_fini(struct smoke *smoke);

/* Ended, or ran; what a run would call good. */
bool smoke_is_good(const struct smoke *smoke);
const char *smoke_state_name(enum smoke_state state); /* "failed", "no metric", "ended", ... */

/* Starts the foreground of this experiment of the plan, and ends all of it after the plan's stop_grace_s at the latest when so many
 * seconds are over. request: dir and dir_path (made for this), containment, environment, guardian and state. signals: readable when it
 * is to stop at once (a signalfd, which is read). False: it could not be started, or something of it is still alive (err). From the
 * main thread. */
bool smoke_start(const struct run_request *request, const struct plan *plan, size_t index, double seconds, int signals,
                 struct smoke *out, struct err *err);

#endif
