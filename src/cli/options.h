/* options: parses the options and arguments of a command by its table. */
#ifndef TARE_CLI_OPTIONS_H
#define TARE_CLI_OPTIONS_H

#include "cli/texts.h"

/* The rows that are shown, one after the other, --help last; *at begins at 0. NULL: there are no
 * more. */
const struct cli_option *option_next(const struct cli_command *command, size_t *at);

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
