/* clean: what the parts of the command clean share. */
#ifndef TARE_CLI_CLEAN_H
#define TARE_CLI_CLEAN_H

#include "base/text.h"
#include "state/leftovers.h"

#include <stdbool.h>
#include <stddef.h>

/* Where processes and devices are looked for. */
extern const struct census_roots clean_roots;

/* Two tables, or a sentence where there is nothing. */
void clean_table(const struct leftovers *leftovers, struct text *out);

/* The same for programs. */
void clean_json(const struct leftovers *leftovers, struct text *out);

/* "process 123 (python train.py) of user ada, 2 h 03 min old, with /dev/nvidia0 open": fresh. */
char *clean_describe(const struct leftover *leftover);

/* Ends what is tare's own, and says what it ended. False: it could not look (err). */
bool clean_end_own(struct state *state, struct err *err);

/* One process that a person named: shown, asked about unless yes is true, then TERM, and KILL when that does not help.
 * start_time: it must have this one, 0: any. Gives the exit code: CLI_OK when it is gone. */
int clean_end_one(struct state *state, pid_t pid, uint64_t start_time, bool yes);

#endif
