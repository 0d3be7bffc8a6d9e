/* locate: which registry a command reads. */
#ifndef TARE_CLI_LOCATE_H
#define TARE_CLI_LOCATE_H

#include "base/json.h"

struct located {
    char *path;      /* owned; NULL: none was found */
    const char *why; /* "given by --config", "beside the settings", ... */
};

/* given (--config, may be NULL), else key "registry" of the settings (relative to their folder, then to the working
 * folder), else models_config.json beside the settings, else ./mutation/models_config.json, ./models_config.json,
 * ./config/models_config.json, else the one that came with the program. settings: may be NULL, and its file too. */
struct located locate_registry(const char *given, const struct json_doc *settings);

/* The error when none was found: what was looked for, and the mend. The caller frees it. */
char *locate_nowhere(void);

#endif
