/* mounts: what a job's mount namespace hides and protects, and the rights that its root does
 * without so that this lasts. An ordinary user's command has none of them: executed as no root of
 * its namespace, it keeps no capability; and what it mounts in a namespace below, it mounts over
 * locked mounts (mount_namespaces(7)). */
#ifndef TARE_MACHINE_CONTAIN_MOUNTS_H
#define TARE_MACHINE_CONTAIN_MOUNTS_H

#include "machine/contain/init.h"

/* In the job's own pid and mount namespace (mounts.c): its /proc, without the one that was there;
 * the folder of records, read-only; and fewer capabilities for whatever is executed, so that
 * neither can be undone. records_error: errno where the folder can be written all the same.
 * INIT_STEP_NONE: done; else what failed, and errno. */
int mounts_settle(const struct init_plan *plan, int32_t *records_error);

/* Those fewer capabilities, for whatever this process executes. False: errno. */
bool init_rights_drop(void);

/* Takes the same capabilities from the init itself, once it needs them no more: then root's command
 * may open its files (what is shared), and trace it, to no gain. */
void init_rights_lower(void);

#endif
