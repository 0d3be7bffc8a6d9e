/* manual: generates the manual pages in roff from the tables of commands. */
#ifndef TARE_CLI_MANUAL_H
#define TARE_CLI_MANUAL_H

#include "cli/texts.h"

/* Pages in man(7) roff: the program's (command NULL), or one command's. */
void manual_page(const struct cli_command *command, struct text *out);

#endif
