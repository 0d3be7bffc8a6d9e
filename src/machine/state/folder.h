/* folder: opens and checks the folders of machine-wide state, and lists the runs in them. */
#ifndef TARE_MACHINE_STATE_FOLDER_H
#define TARE_MACHINE_STATE_FOLDER_H

#include "machine/state/state_private.h"

/* The user's state folder and the files in it. */

/* The folder "runs" in the state folder at path, both made where there are none: -1 and err. */
int folder_open(const char *path, struct err *err);

/* The same for a folder beside other users' (in /tmp), made only when make: -1 when it is not
 * there. Its parent is not made, and must be one in which nobody can put something else in its
 * place. */
int folder_open_shared(const char *path, bool make, struct err *err);

/* The names of the runs' files. */
bool folder_list(int runs, struct strv *out, struct err *err);

/* own: record_header_own. */
void entry_open(int runs, const char *name, const struct record_header *own, struct entry *out);
void entry_fini(struct entry *entry);

bool entries_each(const struct state *state, entry_fn *each, void *context, struct err *err);

/* An entry_fn. Adds what a live run is and names to a struct state_live. */
void entry_add_live(void *live, int runs, const struct entry *entry);

#endif
