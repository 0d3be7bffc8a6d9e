/* script_epochs: how a training prints the beginning or end of an epoch, as far as the text of its
 * script and modules shows it: by a framework, or by a string such as "Epoch {epoch}/{epochs}".
 * Nothing is run. */
#ifndef TARE_PLAN_SCRIPT_EPOCHS_H
#define TARE_PLAN_SCRIPT_EPOCHS_H

#include "plan/script_files.h"

struct script_epochs {
    const char *printer; /* "Keras", "the script"; NULL: unknown */
    /* patterns of lines whose first group is the epoch; one of them is NULL */
    const char *start, *end;
};

void script_epochs_find(const struct script_files *files, struct script_epochs *out);

#endif
