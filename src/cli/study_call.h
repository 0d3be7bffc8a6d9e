/* study_call: command lines of the study's own script, mutation.py, as calls of this program. */
#ifndef TARE_CLI_STUDY_CALL_H
#define TARE_CLI_STUDY_CALL_H

#include <stdbool.h>
#include <stddef.h>

/* The words call mutation.py, by whatever path, with the programs that start it before it (sudo,
 * python3): the same call of this program, quoted for a shell; fresh. NULL: they do not.
 * needs_flags: a call without one of the options that the study's script needs (-ec, -r, -mt, -l)
 * may be another script of that name, and gives NULL. */
char *study_call_translate(char *const *words, size_t count, bool needs_flags);

#endif
