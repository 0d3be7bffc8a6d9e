/* governor: the CPU frequency governor, set for the time of a run and given back afterwards, even
 * by another process after a crash (Documentation/admin-guide/pm/cpufreq.rst of the kernel). In
 * three steps, so that what was can be written down before it is changed: plan, (journal), apply;
 * in the end restore. */
#ifndef TARE_MACHINE_GOVERNOR_GOVERNOR_H
#define TARE_MACHINE_GOVERNOR_GOVERNOR_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { GOVERNOR_NAME_MAX = 16, GOVERNOR_POLICIES_MAX = 4096 };

/* CPUs that change their frequency together share a policy. */
struct governor_policy {
    unsigned number;                /* /sys/devices/system/cpu/cpufreq/policyN */
    char former[GOVERNOR_NAME_MAX]; /* what it had */
    /* its file opened for writing by governor_plan; -1: none is held */
    int fd;
};

struct governor_change {
    char wanted[GOVERNOR_NAME_MAX];
    /* those that have another governor than the wanted one; by number */
    struct governor_policy *policies;
    size_t count;
};

/* What every policy has now, when it is one name; "mixed" else. False: this machine has no
 * frequency governor (err says why). */
bool governor_read(const char *sysroot, char out[GOVERNOR_NAME_MAX], struct err *err);

/* Whether this process has the right to set one; says nothing of which. */
bool governor_may_set(const char *sysroot);

/* What would be changed; changes nothing. sysroot as in machine/sensors/rapl.h, "" for this
 * machine. hold: the files are opened now and stay open, so that apply and restore work after
 * root's rights were given up (one descriptor a policy). False, with a reason a person can act on:
 * no governors here, not one that the kernel offers, no permission. */
bool governor_plan(const char *sysroot, const char *wanted, bool hold, struct governor_change *out,
                   struct err *err);
void governor_change_fini(struct governor_change *change);

/* Sets it everywhere, or nowhere: what was set before a failure is set back. */
bool governor_apply(const char *sysroot, const struct governor_change *change, struct err *err);

struct governor_restored {
    size_t restored; /* policies that have their former governor again */
    /* somebody has set another one meanwhile: left as it is; or the policy is gone */
    size_t left;
    size_t failed; /* could not be read or written */
};

/* Gives back what still is as we set it. May be called again and by anybody. False: some failed,
 * err says why. */
bool governor_restore(const char *sysroot, const struct governor_change *change,
                      struct governor_restored *out, struct err *err);

/* How many policies still are as we set them. */
size_t governor_still_set(const char *sysroot, const struct governor_change *change);

/* {"wanted": "performance", "former": {"0": "powersave", ...}}: for the journal. Reading it trusts
 * nothing: names of governors and numbers of policies only. The descriptors are not in it. */
json_t *governor_change_to_json(const struct governor_change *change);
bool governor_change_from_json(const json_t *json, struct governor_change *out);

/* A governor that is set for a while, by one or several runs of one user at once: written down
 * before it is changed, in a folder that nobody else may write, and given back by the last of them;
 * after a crash by whoever comes next. Who relies on it holds a kernel lock on the file, so what no
 * living process relies on is known for sure. (governor_hold.c) */

struct governor_hold {
    int folder;          /* borrowed */
    int file;            /* -1: nothing is held */
    const char *sysroot; /* borrowed */
    char wanted[GOVERNOR_NAME_MAX];
};

/* Gives back first what a dead run left set. False: it could not be set (governor.h), or a living
 * run has set another one, or nothing can be written down; then it is as it was. folder, a
 * descriptor, and sysroot must live as long. */
bool governor_hold_take(int folder, const char *sysroot, const char *wanted,
                        struct governor_hold *out, struct err *err);

/* Gives it back unless others rely on it. False: it could not be given back, and stays written
 * down. */
bool governor_hold_end(struct governor_hold *hold, struct err *err);

struct governor_leftover {
    struct governor_change change;
    struct governor_restored restored; /* by governor_recover */
};

/* What a dead run of this boot set and nobody gave back. look: changes nothing. recover: gives it
 * back, so that the file is empty. False, with count 0 and err untouched: there is none. False and
 * err: it could not be given back. */
bool governor_leftover_look(int folder, const char *sysroot, struct governor_leftover *out);
bool governor_leftover_recover(int folder, const char *sysroot, struct governor_leftover *out,
                               struct err *err);
void governor_leftover_fini(struct governor_leftover *leftover);

#endif
