/* Records a hash of each file that we write: a file that the user changed is not replaced. */
#ifndef TARE_BASE_WRITTEN_H
#define TARE_BASE_WRITTEN_H

#include "base/fs.h"

/* Whether folder/name may be written: nothing is there, or what was written there last. Else err
 * says what to do
 * (--force). */
bool written_may_replace(const char *folder, const char *name, struct err *err);

/* Records that folder/name, as it is now, is ours. */
bool written_record(const char *folder, const char *name, struct err *err);

/* Asks (not when forced), writes with fs_write_atomic, so that no link is followed in such a
 * folder, records. */
bool written_write(const char *folder, const char *name, const char *bytes, size_t count,
                   bool force, struct err *err);

#endif
