/* help: prints --help and the generated pages of docs/reference from the tables of commands. */
#ifndef TARE_CLI_HELP_H
#define TARE_CLI_HELP_H

#include "cli/texts.h"

/* The list of commands, and the help of one. */
void help_program(struct text *out);
void help_command(const struct cli_command *command, struct text *out);

/* A page of docs/reference in Markdown: "options", "settings-keys", "registry-keys",
 * "evidence-kinds". False: there is no such page. */
bool reference_page(const char *name, struct text *out);

/* "-ec, --experiment-config FILE" */
void option_head(const struct cli_option *option, struct text *out);

/* The help line with what the row says besides: choices, bounds, unit, default. */
void option_body(const struct cli_option *option, struct text *out);

void option_each(const struct cli_command *command, option_add_fn *add, struct text *out);

/* Those of a row, which has some. */
void option_choices(const struct cli_option *option, const char *between, struct text *out);

#endif
