/* texts: what the tables of commands and options say to people: help, manual pages, shell
 * completion; and how a command line is read by them. */
#ifndef TARE_CLI_TEXTS_H
#define TARE_CLI_TEXTS_H

#include "base/text.h"
#include "session/command.h"

/* The list of commands, and the help of one. */
void help_program(struct text *out);
void help_command(const struct cli_command *command, struct text *out);

/* Pages in man(7) roff: the program's (command NULL), or one command's. */
void manual_page(const struct cli_command *command, struct text *out);

/* A page of docs/reference in Markdown: "options", "settings-keys", "registry-keys",
 * "evidence-kinds". False: there is no such page. */
bool reference_page(const char *name, struct text *out);
extern const char reference_names[]; /* as an error says them */

/* What the shell is to source, or to find in its folder of completions. */
void completion_bash(struct text *out);
void completion_zsh(struct text *out);
void completion_fish(struct text *out);

/* The rows that are shown, one after the other, --help last; *at begins at 0. NULL: there are no
 * more. */
const struct cli_option *option_next(const struct cli_command *command, size_t *at);

/* "-ec, --experiment-config FILE" */
void option_head(const struct cli_option *option, struct text *out);

/* The help line with what the row says besides: choices, bounds, unit, default. */
void option_body(const struct cli_option *option, struct text *out);

/* Both of each row that is shown. */
typedef void option_add_fn(struct text *out, const char *head, const char *body);
void option_each(const struct cli_command *command, option_add_fn *add, struct text *out);

/* Those of a row, which has some. */
void option_choices(const struct cli_option *option, const char *between, struct text *out);

/* A command line read by the rows of its command, with the rules of Python's argparse, which the
 * study's flags were made for: "-ec FILE", "-ec=FILE", "-n5", "-lS", "--runs 5", "--runs=5", any
 * unambiguous beginning of an option, a negative number as a value, "--" before operands. */

/* args: what follows the command's name; borrowed, must outlive out. help: -h or --help came before
 * any mistake (nothing else counts then). False: err says what is wrong. out must be freed by
 * options_fini in each case. */
bool options_parse(const struct cli_command *command, char *const *args, size_t count,
                   struct cli_call *out, bool *help, struct err *err);
void options_fini(struct cli_call *call);

#endif
