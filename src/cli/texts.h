/* texts: what the tables of commands and options say to people: help, manual pages, shell completion. */
#ifndef TARE_CLI_TEXTS_H
#define TARE_CLI_TEXTS_H

#include "base/text.h"
#include "session/command.h"

/* The list of commands, and the help of one. */
void help_program(struct text *out);
void help_command(const struct cli_command *command, struct text *out);

/* Pages in man(7) roff: the program's (command NULL), or one command's. */
void manual_page(const struct cli_command *command, struct text *out);

/* What the shell is to source, or to find in its folder of completions. */
void completion_bash(struct text *out);
void completion_zsh(struct text *out);
void completion_fish(struct text *out);

/* "-ec, --experiment-config FILE" */
void option_head(const struct cli_option *option, struct text *out);

/* The help line with what the row says besides: choices, bounds, unit, default. */
void option_body(const struct cli_option *option, struct text *out);

#endif
