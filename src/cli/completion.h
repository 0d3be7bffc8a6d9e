/* completion: generates shell completion for bash, zsh and fish from the tables of commands. */
#ifndef TARE_CLI_COMPLETION_H
#define TARE_CLI_COMPLETION_H

#include "cli/texts.h"

/* What the shell is to source, or to find in its folder of completions. */
void completion_bash(struct text *out);
void completion_zsh(struct text *out);
void completion_fish(struct text *out);

#endif
