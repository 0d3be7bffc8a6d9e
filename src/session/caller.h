/* caller: who the program works for. Under sudo that is the person who called sudo: their user,
 * groups, home, PATH and environment; nothing of theirs is opened as root. */
#ifndef TARE_SESSION_CALLER_H
#define TARE_SESSION_CALLER_H

#include "base/err.h"
#include "base/strv.h"
#include "machine/contain/contain.h"

#include <stdbool.h>
#include <sys/types.h>

struct caller {
    bool became; /* root was given up for the user below */
    uid_t uid;
    gid_t gid;
    struct strv environment; /* what jobs inherit */
    /* "sudo's own", "the calling shell's", "a safe default"; NULL: not under sudo */
    const char *environment_from;
};

/* Call first, before any file is opened or thread started. With euid 0 and SUDO_UID and SUDO_GID
 * set, and not as_root: the process becomes that user for good (initgroups, setresgid, setresuid),
 * and its environment that user's. Else it stays as it is. False: root could not be given up (err);
 * the program must end. */
bool caller_become(bool as_root, struct caller *out, struct err *err);

/* The same, for a command that starts jobs in what this containment makes: where that is cgroups,
 * root's last work is to hand the user one in which this process can make them (cgroup_delegate).
 * Where that is refused, containment says later which layers held. */
bool caller_become_for_jobs(bool as_root, enum containment_mode containment, struct caller *out,
                            struct err *err);

/* The same, and the user's other processes cannot look into this one: for one that works beside a
 * process that stays root. */
bool caller_become_shut(struct caller *out, struct err *err);
void caller_fini(struct caller *caller);

/* Jobs of this containment that have a mount namespace see empty folders in place of those from
 * which later commands take what they trust: state, calibrations of root, the user's configuration
 * (made where it is not there: else a job could make it). environment: the user's. */
void caller_hide_folders(const struct strv *environment, struct containment *containment);

/* Fills out with NAME=VALUE from bytes of /proc/PID/environ (each ended by a NUL). What has no '='
 * or an empty name is left out. */
void caller_parse_environ(const char *bytes, size_t count, struct strv *out);

/* The environment of a job that was started through sudo: the caller's, then what was added on the
 * command line of sudo ("sudo NAME=VALUE ..."): names of ours that the caller's lacks, without
 * SUDO_*; then who they are. */
void caller_merge(const struct strv *callers, const struct strv *ours, const char *user,
                  const char *home, const char *shell, struct strv *out);

#endif
