/* texts: what the tables of commands and options say to people: help, manual pages, shell
 * completion; and how a command line is read by them. */
#ifndef TARE_CLI_TEXTS_H
#define TARE_CLI_TEXTS_H

#include "base/text.h"
#include "session/command.h"

extern const char reference_names[]; /* as an error says them */

/* Both of each row that is shown. */
typedef void option_add_fn(struct text *out, const char *head, const char *body);

#endif
