/* shell_words: a command as a person types it, split into words as a POSIX shell does (XCU 2.2
 * and 2.3), without a shell: quotes and backslashes count, and nothing is expanded. What only a
 * shell can do (pipes, redirections, variables, patterns for file names ...) is refused, not passed
 * on as it stands. */
#ifndef TARE_BASE_SHELL_WORDS_H
#define TARE_BASE_SHELL_WORDS_H

#include "base/err.h"
#include "base/strv.h"
#include "base/text.h"

/* Fills out, which must be empty and is freed by the caller in each case. False: err says what is
 * wrong, at which character (from 1), and how to mend it. A command of blanks alone is a
 * mistake. */
bool shell_words_split(const char *command, struct strv *out, struct err *err);

/* One word as a shell takes it: plain when no shell would read anything into it, else in single
 * quotes. */
void shell_words_quote(const char *word, struct text *out);

/* The same of a path: "~" and "~/" at its front stay outside of the quotes, as a shell expands them
 * nowhere else. */
void shell_words_quote_path(const char *path, struct text *out);

/* A path as a word of a command that is told to a person; fresh. */
char *shell_words_path(const char *path);

/* The first word: NAME=... would set a variable there. */
void shell_words_quote_command(const char *word, struct text *out);

#endif
