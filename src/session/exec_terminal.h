/* exec_terminal: what reaches a command from outside: the signals that are passed on to it, and the terminal. */
#ifndef TARE_SESSION_EXEC_TERMINAL_H
#define TARE_SESSION_EXEC_TERMINAL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Of these signals those that whoever started us does not want ignored (nohup). */
void exec_signals_heeded(const int *signals, size_t count, sigset_t *out);

/* Blocks those that are passed on, as far as they are heeded; gives a signalfd for them, -1: there is none. */
int exec_signals_open(void);

/* Whether there is a terminal whose group the command shall be. */
bool exec_terminal_is_ours(void);

/* The terminal's process group now; -1: there is no terminal. */
pid_t exec_terminal_group(void);

/* An interactive job may have made a process group of its own the terminal's; that group is gone now. */
void exec_terminal_take_back(pid_t group);

#endif
