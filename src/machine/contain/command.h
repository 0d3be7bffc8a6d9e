/* command: the process that becomes the command. */
#ifndef TARE_MACHINE_CONTAIN_COMMAND_H
#define TARE_MACHINE_CONTAIN_COMMAND_H

#include "machine/contain/init.h"

/* The command's process (command.c): waits for a byte on gate, then becomes the command; writes
 * errno to failure when that does not work. */
_Noreturn void init_command(const struct init_plan *plan, int gate, int failure);

#endif
