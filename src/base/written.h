/* written: which files in somebody else's folder are ours to replace. A folder that is read (a study's results,
 * wherever a table goes) may hold a file of the same name that a person made, or changed since. A hidden file beside
 * what was written, .tare-written.json, keeps for each name the size and a hash of what was written last: a file
 * that still is that may be replaced, any other may not. CSV has no place for such a mark. */
#ifndef TARE_BASE_WRITTEN_H
#define TARE_BASE_WRITTEN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define WRITTEN_RECORD ".tare-written.json"

/* Whether folder/name may be written: nothing is there, or what was written there last. Else err says what to do
 * (--force). */
bool written_may_replace(const char *folder, const char *name, struct err *err);

/* Records that folder/name, as it is now, is ours. */
bool written_record(const char *folder, const char *name, struct err *err);

/* Asks (not when forced), writes with fs_write_atomic, so that no link is followed in such a folder, records. */
bool written_write(const char *folder, const char *name, const char *bytes, size_t count, bool force, struct err *err);

#endif
