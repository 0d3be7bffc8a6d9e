#include "cli/locate.h"

#include "base/fs.h"
#include "base/mem.h"
#include "tare_build.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME "models_config.json"

static const char *const working_places[] = {"mutation/" FILE_NAME, FILE_NAME, "config/" FILE_NAME};

static bool there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* Beside the settings, when it is there. */
static char *beside(const struct json_doc *settings, const char *path)
{
    if (!settings || !settings->file || !*settings->file)
        return NULL;
    AUTO_FREE char *folder = fs_dirname(settings->file);
    char *found = strcmp(folder, ".") == 0 ? mem_strdup(path) : fs_resolve(folder, path, NULL);
    if (!there(found))
        free(steal_ptr(found));
    return found;
}

/* The program may have been moved with its folders since it was installed: first as seen from where it lies. */
static char *shared(void)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) {
        self[length] = '\0';
        AUTO_FREE char *folder = fs_dirname(self);
        AUTO_FREE char *near = fs_resolve(folder, "../share/" TARE_NAME "/" FILE_NAME, NULL);
        if (there(near))
            return steal_ptr(near);
    }
    return there(TARE_SHARE_DIR "/" FILE_NAME) ? mem_strdup(TARE_SHARE_DIR "/" FILE_NAME) : NULL;
}

struct located locate_registry(const char *given, const struct json_doc *settings)
{
    if (given)
        return (struct located){mem_strdup(given), "given by --config"};
    const char *named = settings && settings->root ? json_get_text(settings->root, "registry") : NULL;
    if (named) {
        AUTO_FREE char *home = mem_strdup(getenv("HOME"));
        char *path = named[0] == '/' || named[0] == '~' ? fs_resolve(NULL, named, home) : beside(settings, named);
        return (struct located){path ? path : mem_strdup(named), "named in the settings"};
    }
    char *path = beside(settings, FILE_NAME);
    if (path)
        return (struct located){path, "beside the settings"};
    for (size_t i = 0; i < sizeof working_places / sizeof *working_places; i++)
        if (there(working_places[i]))
            return (struct located){mem_strdup(working_places[i]), "in the working folder"};
    return (struct located){shared(), "came with the program"};
}

char *locate_nowhere(void)
{
    return mem_printf("there is no registry (looked for %s beside the settings, ./%s, ./%s, ./%s, %s/%s); say which by "
                      "--config REGISTRY.json",
                      FILE_NAME, working_places[0], working_places[1], working_places[2], TARE_SHARE_DIR, FILE_NAME);
}
