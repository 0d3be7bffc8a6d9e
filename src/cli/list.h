/* list: what a registry offers, shown by "list" and by "run --list", and what of it can be trained
 * on this machine. */
#ifndef TARE_CLI_LIST_H
#define TARE_CLI_LIST_H

#include "plan/config/registry.h"
#include "plan/config/settings.h"
#include "session/run_input.h"

#include <stdbool.h>

/* What is listed. */
struct list_options {
    struct located located;
    char *only; /* a repository's name, or NULL */
    struct settings settings;
    bool has_settings;
};

/* asked: a settings file (its registry is listed), a registry, or a repository's name; NULL: the
 * registry that is found. config: --config, or NULL. Options that have a registry already keep it.
 * Says which registry it is. False: a mistake, which was told. */
bool list_read(const char *asked, const char *config, struct list_options *how,
               struct registry *registry);
void list_options_fini(struct list_options *how);

/* Prints the registry. Gives the exit code. */
int list_registry(const char *asked, const char *config, bool json);

/* The repository of this name; NULL: there is none, which is told. */
const struct repo *list_find_repo(const struct registry *registry, const char *path,
                                  const char *name);

#endif
