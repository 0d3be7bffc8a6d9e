/* list: what a registry offers, shown by "list" and by "run --list", and what of it can be trained on this machine. */
#ifndef TARE_CLI_LIST_H
#define TARE_CLI_LIST_H

#include "config/registry.h"

#include <stdbool.h>

/* Reads the registry and prints it; only: one repository's name, or NULL. Gives the exit code. */
int list_registry(const char *path, const char *only, bool json);

/* The repository of this name; NULL: there is none, which is told. */
const struct repo *list_find_repo(const struct registry *registry, const char *path, const char *name);

/* "list --check": what is asked for is a settings file, a registry or a repository's name; NULL: the registry that is
 * found. config: --config, or NULL. Gives the exit code: 0 all there, 1 something is missing. */
int list_check(const char *asked, const char *config, bool json);

#endif
