/* clean_caller: lets a child with the caller's own rights read what root must not open under sudo.
 */
#ifndef TARE_DOCTOR_CLEAN_CALLER_H
#define TARE_DOCTOR_CLEAN_CALLER_H

#include "doctor/clean.h"

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
