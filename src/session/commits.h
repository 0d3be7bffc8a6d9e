/* commits: commits of a git repository, each in a worktree of its own as long as a bench compares them. The worktrees are in a hidden
 * folder beside the results; the repository is otherwise left as it is. */
#ifndef TARE_SESSION_COMMITS_H
#define TARE_SESSION_COMMITS_H

#include "base/err.h"
#include "base/strv.h"
#include "run/git.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

struct commit {
    char *given;   /* as a person named it: "v1.0" */
    char *hash;    /* all of it */
    char *name;    /* its first digits: what it is called */
    char *subject; /* the first line of its message, fit to be shown */
    char *folder;  /* in its worktree: where the repository's folder that was asked for is */
};

struct commits {
    struct commit *items;
    size_t count;
    struct containment containment;
    struct git git;
    char *repo;    /* absolute: the folder that was asked for */
    char *prefix;  /* of it below the top of the repository: "" or "src/" */
    char *root;    /* absolute: the folder of the worktrees; NULL: there is none */
    struct state *state;
    int record;    /* of the state folder, locked as long as this process lives; -1: none */
    char *record_name;
    sigset_t before;
    bool blocked;  /* INT, TERM and HUP */
};

struct commits_options {
    const char *spec;           /* "A..B" or "A,B,C" */
    const char *repo;           /* NULL: the working folder */
    const char *output;         /* the folder of results */
    const struct strv *setup;   /* commands that are run once in each worktree */
    const char *containment;    /* as its option has it */
    const struct strv *environment;
    bool quiet;
};

/* Finds the commits, checks them out, runs the setup. Gives 0 or the exit code; everything has been said. Until commits_end, which must
 * follow in each case, INT, TERM and HUP are blocked: a run takes them from there, and no worktree is left. */
int commits_begin(const struct commits_options *options, struct commits *out);
void commits_end(struct commits *commits); /* again: nothing */

/* True: the plan's jobs run in such worktrees, which are gone: err says so. For whoever would go on with a bench. */
struct plan;
bool commits_are_gone(const struct plan *plan, struct err *err);

/* The folder, its record in the state folder, and what dead runs left of both. (worktrees.c) */

/* False: err. Then commits_end takes away what there is. */
bool worktrees_begin(struct commits *commits, const char *output, struct err *err);
bool worktrees_add(struct commits *commits, struct commit *commit, struct err *err);
void worktrees_end(struct commits *commits);

/* "the worktrees ... of ...", a line for each dead run of this user, from the state folder; empty: there is none. */
void worktrees_left(int state_folder, struct strv *out);

/* Takes them away, and says so. False: something of them could not be removed, which has been said. */
bool worktrees_recover(int state_folder);

#endif
