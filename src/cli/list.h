/* list: what a registry offers, shown by "list" and by "run --list". */
#ifndef TARE_CLI_LIST_H
#define TARE_CLI_LIST_H

#include <stdbool.h>

/* Reads the registry and prints it; only: one repository's name, or NULL. Gives the exit code. */
int list_registry(const char *path, const char *only, bool json);

#endif
