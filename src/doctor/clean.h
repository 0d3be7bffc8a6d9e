/* clean: what the parts of the command clean share. */
#ifndef TARE_DOCTOR_CLEAN_H
#define TARE_DOCTOR_CLEAN_H

#include "base/text.h"
#include "machine/state/leftovers.h"

#include <stdbool.h>
#include <stddef.h>

/* Where processes and devices are looked for. */
extern const struct census_roots clean_roots;

struct clean {
    struct clean_caller *caller; /* of sudo; NULL: none */
    struct state *state;         /* NULL: there is none */
    struct census_roots roots;
    bool all_users; /* root ends what other users' dead runs left, too */
};

/* What there is at one moment. */
struct clean_view {
    struct leftovers leftovers;
    bool has_driver; /* of GPUs, of a vendor that is known */
    bool has_memory;
    struct gpu_memory_users memory;
    struct err memory_err; /* of has_driver without has_memory: why */
    char *governor;        /* that the CPU's is still a dead run's, in words; NULL: it is not */
};

/* Under sudo what the caller's own dead runs left is in it as well. */
bool clean_look(const struct clean *clean, struct clean_view *out, struct err *err);
void clean_view_fini(struct clean_view *view);

/* A table for each dead run, and one for those who have a GPU open, as wide as width columns (0: as
 * they are); a sentence where there is nothing. */
void clean_table(const struct clean_view *view, size_t width, struct text *out);

/* The same for programs. */
void clean_json(const struct clean_view *view, struct text *out);

/* The caller frees. */
char *clean_user_name(uid_t uid);

/* "process 123 (python train.py) of user ada, 2 h 03 min old, with /dev/nvidia0 open": fresh. */
char *clean_describe(const struct leftover *leftover);

/* Ends what is tare's own, and says what it ended. False: it could not look (err). */
bool clean_end_own(const struct clean *clean, struct err *err);

/* One process that a person named: shown, asked about unless yes is true, then TERM, and KILL when
 * that does not help. start_time: it must have this one, 0: any. Gives the exit code: CLI_OK when
 * it is gone. */
int clean_end_one(const struct clean *clean, pid_t pid, uint64_t start_time, bool yes);

/* Root under sudo: who called. False: there is nobody else. */
bool clean_caller_known(uid_t *uid);

/* The part of the command that is the caller: a process that begins before root has read anything,
 * has nothing of root's open and becomes the caller for good. It opens their state folder; what it
 * finds is shown, what it ends it ends with that user's rights alone. NULL: there is no caller, and
 * nothing is done with it. */
struct clean_caller *clean_caller_start(const struct census_roots *roots);
void clean_caller_claims(struct clean_caller *caller, struct clean_view *view);
void clean_caller_recover(struct clean_caller *caller);
void clean_caller_end(struct clean_caller *caller);

#endif
