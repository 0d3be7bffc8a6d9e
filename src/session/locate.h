/* locate: which registry a command reads. */
#ifndef TARE_SESSION_LOCATE_H
#define TARE_SESSION_LOCATE_H

#include "base/json.h"

struct located {
    char *path;      /* NULL: none was found */
    const char *why; /* "given by --config", "beside the settings", ... */
    char *missing;   /* none was found: the error, with every place that was tried; else NULL */
};

/* given (--config, may be NULL), else key "registry" of the settings (relative to their folder, then to the working
 * folder), else models_config.json or registry.json beside the settings, in ./mutation, in the working folder, in ./config,
 * else the one that came with the program; docs/settings.md has the same list. settings: may be NULL, and its file too. */
struct located locate_registry(const char *given, const struct json_doc *settings);
void located_fini(struct located *located);

#endif
