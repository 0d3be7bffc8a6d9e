/* folder: the user's state folder and the files in it. Private to state/. */
#ifndef TARE_MACHINE_STATE_FOLDER_H
#define TARE_MACHINE_STATE_FOLDER_H

#include "base/err.h"
#include "base/strv.h"
#include "machine/state/record.h"

#include <stdbool.h>

/* The folder "runs" in the state folder at path, both made where there are none: -1 and err. */
int folder_open(const char *path, struct err *err);

/* The same for a folder beside other users' (in /tmp), made only when make: -1 when it is not there. Its parent is not made, and
 * must be one in which nobody can put something else in its place. */
int folder_open_shared(const char *path, bool make, struct err *err);

/* The names of the runs' files. */
bool folder_list(int runs, struct strv *out, struct err *err);

enum entry_life {
    ENTRY_NONE,      /* it went away meanwhile */
    ENTRY_LIVE,      /* its runner holds the lock */
    ENTRY_DEAD,      /* of this boot and pid namespace: its jobs are found here; we hold the lock now */
    ENTRY_OVER,      /* nothing can be left: of an earlier boot of this machine, or empty; we hold the lock */
    ENTRY_KEPT       /* of another machine or pid namespace, or not to be trusted: reason */
};

struct entry {
    enum entry_life life;
    const char *name; /* borrowed */
    int file;         /* -1: not open. Closing it lets go of the lock */
    struct record record;
    char *reason;
};

/* own: record_header_own. */
void entry_open(int runs, const char *name, const struct record_header *own, struct entry *out);
void entry_fini(struct entry *entry);

#endif
