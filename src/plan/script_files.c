#include "plan/script_files.h"
#include "base/fs_path.h"

#include "base/mem.h"
#include "plan/script_imports.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void script_files_fini(struct script_files *files)
{
    EACH (item, files->items, files->count) {
        free(item->path);
        free(item->text);
    }
    free(files->items);
    *files = (struct script_files){0};
}

struct walk {
    const struct strv *roots;
    script_read_fn *read;
    void *context;
    struct script_files *out;
    struct strv owners; /* of each file the root below which it was found */
    struct strv absent; /* paths that are not there, not to be tried again */
    struct strv names;  /* absolute imports that were followed */
};

static bool is_listed_file(const struct walk *walk, const char *path)
{
    EACH (item, walk->out->items, walk->out->count)
        if (strcmp(item->path, path) == 0)
            return true;
    return false;
}

static char *join_module_path(const char *folder, const char *name)
{
    return *folder ? mem_printf("%s/%s", folder, name) : mem_strdup(name);
}

/* Whether the file exists; reads it the first time. */
static bool add_script_file(struct walk *walk, const char *root, const char *path)
{
    AUTO_FREE char *whole = mem_printf("%s/%s", strcmp(root, "/") == 0 ? "" : root, path);
    AUTO_TEXT struct text text = {0};
    if (is_listed_file(walk, whole))
        return true;
    if (strv_has(&walk->absent, whole))
        return false;
    if (walk->out->count >= SCRIPT_FILES_MAX) {
        walk->out->cut = true;
        return false;
    }
    if (!walk->read(walk->context, root, path, &text, &walk->out->cut)) {
        if (walk->absent.count < SCRIPT_FILES_MAX)
            strv_add(&walk->absent, whole);
        return false;
    }
    struct script_files *out = walk->out;
    out->items = mem_room(out->items, out->count, sizeof *out->items);
    size_t length = text.length;
    out->items[out->count++] = (struct script_file){steal_ptr(whole), text_take(&text), length};
    strv_add(&walk->owners, root);
    return true;
}

/* Adds the module of dotted names below folder with its parent packages, which Python executes too.
 * False: no file found. */
static bool add_module_files(struct walk *walk, const char *root, const char *folder,
                             const char *names)
{
    bool found = false;
    AUTO_FREE char *path = mem_strdup(folder);
    for (const char *at = names; *at;) {
        size_t length = strcspn(at, ".");
        if (length == 0)
            break;
        AUTO_FREE char *name = mem_strndup(at, length);
        AUTO_FREE char *below = join_module_path(path, name);
        AUTO_FREE char *package = mem_printf("%s/__init__.py", below);
        AUTO_FREE char *module = mem_printf("%s.py", below);
        bool is_package = add_script_file(walk, root, package);
        found = found || is_package;
        if (!is_package && add_script_file(walk, root, module))
            return true;
        free(path);
        path = steal_ptr(below);
        at += length + (at[length] == '.');
    }
    return found;
}

/* "..pkg.x" as the file at path below root imports it: one dot is the folder of that file. */
static void add_relative(struct walk *walk, const char *root, const char *path, const char *name)
{
    AUTO_FREE char *folder = mem_strdup(path);
    for (; *name == '.'; name++) {
        char *slash = strrchr(folder, '/');
        if (!slash && !*folder)
            return; /* above the root */
        *(slash ? slash : folder) = '\0';
    }
    AUTO_FREE char *package = join_module_path(folder, "__init__.py");
    add_script_file(walk, root, package);
    add_module_files(walk, root, folder, name);
}

static void add_absolute(struct walk *walk, const char *name)
{
    if (strv_has(&walk->names, name))
        return;
    strv_add(&walk->names, name);
    bool is_file = text_ends_with(name, ".py");
    for (size_t i = 0; i < walk->roots->count; i++) {
        const char *root = walk->roots->items[i];
        if (is_file ? add_script_file(walk, root, name) : add_module_files(walk, root, "", name))
            return;
    }
}

static void follow_imports(struct walk *walk, size_t file)
{
    AUTO_STRV struct strv names = {0};
    const struct script_file *item = &walk->out->items[file];
    AUTO_FREE char *root = mem_strdup(walk->owners.items[file]);
    AUTO_FREE char *path = mem_strdup(item->path + (strcmp(root, "/") == 0 ? 1 : strlen(root) + 1));
    AUTO_FREE char *code = script_code(item->text, item->length);
    script_imports_parse(item->text, code, item->length, &names);
    walk->out->cut = walk->out->cut || names.count >= SCRIPT_IMPORTS_MAX;
    EACH (entry, names.items, names.count)
        if (**entry == '.')
            add_relative(walk, root, path, *entry);
        else
            add_absolute(walk, *entry);
}

bool script_files_walk(const struct strv *roots, const char *script, script_read_fn *read,
                       void *context, struct script_files *out)
{
    *out = (struct script_files){0};
    struct walk walk = {.roots = roots, .read = read, .context = context, .out = out};
    bool found = add_script_file(&walk, roots->items[0], script);
    for (size_t i = 0; i < out->count; i++)
        follow_imports(&walk, i);
    strv_fini(&walk.owners);
    strv_fini(&walk.absent);
    strv_fini(&walk.names);
    return found;
}

/* ---- From the disk. */

static bool read_below(void *context, const char *root, const char *path, struct text *out,
                       bool *cut)
{
    struct err err = {0};
    (void)context;
    AUTO_CLOSE int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    AUTO_CLOSE int file = dir < 0 ? -1 : fs_open_beneath(dir, path, O_PATH, 0);
    if (file < 0)
        return false;
    if (fs_read_at(dir, path, SCRIPT_FILE_BYTES, out, &err))
        return true;
    *cut = true;
    return false;
}

static void add_root(struct strv *roots, const char *base, const char *path)
{
    AUTO_FREE char *whole = fs_resolve(base, path, NULL);
    AUTO_FREE char *real = realpath(whole, NULL);
    if (real && roots->count < SCRIPT_ROOTS_MAX)
        strv_add_once(roots, real);
}

bool script_files_read(const char *script, const char *cwd, const char *python_path,
                       struct script_files *out)
{
    AUTO_STRV struct strv roots = {0};
    *out = (struct script_files){0};
    AUTO_FREE char *real = realpath(script, NULL);
    if (!real)
        return false;
    AUTO_FREE char *folder = fs_dirname(real);
    AUTO_FREE char *name = fs_basename(real);
    add_root(&roots, NULL, folder);
    for (const char *at = python_path; at && *at; at += *at == ':') {
        AUTO_FREE char *path = mem_strndup(at, strcspn(at, ":"));
        if (*path)
            add_root(&roots, cwd, path);
        at += strlen(path);
    }
    if (cwd)
        add_root(&roots, NULL, cwd);
    return roots.count > 0 && script_files_walk(&roots, name, read_below, NULL, out);
}
