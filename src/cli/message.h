/* message: what the program says to a person on stderr. */
#ifndef TARE_CLI_MESSAGE_H
#define TARE_CLI_MESSAGE_H

#include "base/text.h"
#include "config/problem.h"

#include <stdbool.h>

/* Whether to write in colour there: a terminal that is not dumb, and no NO_COLOR (https://no-color.org). */
bool message_colour(int fd);

/* All of it to standard output. False: it could not be written, which has been said. A reader that has seen enough and
 * is gone is no mistake. */
bool message_print(const struct text *text);

/* Every problem, one line each. */
void message_problems(const struct problems *problems);

/* "3 errors, 1 warning; nothing was run" */
void message_problem_count(const struct problems *problems);

#endif
