/* run_snapshot: the memory snapshot that a person names. */
#ifndef TARE_SESSION_RUN_SNAPSHOT_H
#define TARE_SESSION_RUN_SNAPSHOT_H

#include "base/err.h"

/* A memory snapshot: "latest" is the only one of the newest run, anything else the path that it is.
 * Fresh; NULL and err where it has not exactly one. */
char *run_snapshot_named(const char *given, struct err *err);

#endif
