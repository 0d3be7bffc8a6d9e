/* message: what the program says, on standard output and standard error. Nothing else in cli/
 * writes there (tests/architecture.sh): what comes from outside reaches no terminal as it is, and
 * no output that fails is overlooked. */
#ifndef TARE_SESSION_MESSAGE_H
#define TARE_SESSION_MESSAGE_H

#include "base/text.h"
#include "plan/config/problem.h"

#include <stdbool.h>

/* Whether to write in colour there: a terminal that is not dumb, and no NO_COLOR
 * (https://no-color.org). */
bool message_colour(int fd);

/* Text for people, to standard output: controls that steer a terminal become '?', but for line
 * ends, tabs and, where there is colour, our own colours. A pipe gets the same: what is read in a
 * pager or a file is shown on a terminal later. False: it could not be written, which has been
 * said, once. A reader that has seen enough and is gone is no mistake. */
bool message_print(const struct text *text);
bool message_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For programs (JSON, CSV, a script): byte by byte. */
bool message_print_exact(const struct text *text);

/* Text for people to standard error, where standard output is somebody else's. */
void message_print_aside(const struct text *text);

/* A question there, and the answer from standard input, without its line end. False: there is
 * none. */
bool message_ask(const char *question, char *answer, int size);

/* Something that writes to the descriptor of standard output by itself could not: says so. */
void message_output_failed(int code);

/* The program's exit code for what a command gave: 3 where standard output could not be written. */
int message_exit_code(int code);

/* To standard error: where more is said, of a command or (NULL) of the program. */
struct cli_command;
void message_see_help(const struct cli_command *command);

/* Every problem, one line each. */
void message_problems(const struct problems *problems);

/* "3 errors, 1 warning; nothing was run" */
void message_problem_count(const struct problems *problems);

#endif
