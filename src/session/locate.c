#include "session/locate.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/strv.h"
#include "tare_build.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The study's name is first: where both are, its settings go on with what they always had. */
static const char *const names[] = {"models_config.json", "registry.json"};
enum { NAMES = sizeof names / sizeof *names };

static const char *const working_folders[] = {"mutation", ".", "config"};

/* The path when something is there; else NULL, and it is noted. */
static char *try_path(const char *path, struct strv *tried)
{
    if (access(path, F_OK) == 0)
        return mem_strdup(path);
    strv_add_once(tried, path);
    return NULL;
}

static char *try_in(const char *folder, const char *path, struct strv *tried)
{
    AUTO_FREE char *joined = strcmp(folder, ".") == 0 ? mem_strdup(path) : mem_printf("%s/%s", folder, path);
    return try_path(joined, tried);
}

static char *try_names_in(const char *folder, struct strv *tried)
{
    char *found = NULL;
    for (size_t i = 0; i < NAMES && !found; i++)
        found = try_in(folder, names[i], tried);
    return found;
}

/* The folder of the settings; NULL: they are not from a file. The caller frees it. */
static char *folder_of(const struct json_doc *settings)
{
    return settings && settings->file && *settings->file ? fs_dirname(settings->file) : NULL;
}

/* What the settings name: beside them, then in the working folder. */
static char *try_named(const char *folder, const char *named, struct strv *tried)
{
    if (named[0] == '/' || named[0] == '~') {
        AUTO_FREE char *path = fs_resolve(NULL, named, getenv("HOME"));
        return try_path(path, tried);
    }
    char *found = folder ? try_in(folder, named, tried) : NULL;
    return found ? found : try_path(named, tried);
}

/* The program may have been moved with its folders since it was installed: first as seen from where it lies. */
static char *try_shared(struct strv *tried)
{
    char self[PATH_MAX];
    char *found = NULL;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) {
        self[length] = '\0';
        AUTO_FREE char *bin = fs_dirname(self);
        AUTO_FREE char *prefix = fs_dirname(bin);
        AUTO_FREE char *folder = fs_resolve(prefix, "share/" TARE_NAME, NULL);
        found = try_in(folder, names[0], tried);
    }
    return found ? found : try_in(TARE_SHARE_DIR, names[0], tried);
}

struct located locate_registry(const char *given, const struct json_doc *settings)
{
    struct located out = {.path = mem_strdup(given), .why = "given by --config"};
    if (given)
        return out;
    AUTO_STRV struct strv tried = {0};
    AUTO_FREE char *folder = folder_of(settings);
    const char *named = settings && settings->root ? json_get_text(settings->root, "registry") : NULL;
    if (named) {
        out.why = "named in the settings";
        out.path = try_named(folder, named, &tried);
    } else {
        out.why = "beside the settings";
        out.path = folder ? try_names_in(folder, &tried) : NULL;
        for (size_t i = 0; i < sizeof working_folders / sizeof *working_folders && !out.path; i++) {
            out.why = "in the working folder";
            out.path = try_names_in(working_folders[i], &tried);
        }
        if (!out.path) {
            out.why = "came with the program";
            out.path = try_shared(&tried);
        }
    }
    AUTO_FREE char *places = strv_join(&tried, ", ");
    if (!out.path)
        out.missing =
            mem_printf("%s (looked for %s); say which by --config REGISTRY.json",
                       named ? "the registry that the settings name is not there" : "there is no registry", places);
    return out;
}

void located_fini(struct located *located)
{
    free(located->path);
    free(located->missing);
    *located = (struct located){0};
}
