#include "base/fs_path.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"

#include <fcntl.h>
#include <libgen.h> /* the basename of POSIX */
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a name can be no name with; NULL: nothing. */
static const char *wrong_with(const char *name)
{
    if (*name == '\0')
        return "is empty";
    if (strchr(name, '/'))
        return "holds a '/'";
    if (*name == '.')
        return "begins with a '.'";
    if (utf8_has_control(name))
        return "holds a control character";
    return strlen(name) > NAME_MAX ? "is longer than 255 bytes" : NULL;
}

bool fs_check_name(const char *name, struct err *err)
{
    enum { SHOWN = 60 };
    const char *wrong = name ? wrong_with(name) : "is missing";
    if (!wrong)
        return true;
    AUTO_FREE char *shown = utf8_quoted(name ? name : "", SHOWN);
    return err_set(err, "'%s' %s, so it is no name of a file or folder", shown, wrong);
}

/* Appends path's steps to the absolute path in out, which is "" for the root. */
static void append_path_steps(struct text *out, const char *path)
{
    while (*path) {
        size_t length = strcspn(path, "/");
        if (length == 2 && path[0] == '.' && path[1] == '.') {
            while (out->length && out->data[--out->length] != '/')
                ;
            if (out->data)
                out->data[out->length] = '\0';
        } else if (length && !(length == 1 && path[0] == '.')) {
            text_add_char(out, '/');
            text_add_bytes(out, path, length);
        }
        path += length;
        path += strspn(path, "/");
    }
}

static void add_working_folder(struct text *out)
{
    AUTO_FREE char *cwd = getcwd(NULL, 0);
    /* A working folder that was deleted has no name; this one stands for it and nothing can be made
     * in it. */
    append_path_steps(out, cwd ? cwd : "/proc/self/cwd");
}

char *fs_resolve(const char *base, const char *path, const char *home)
{
    AUTO_TEXT struct text out = {0};
    AUTO_FREE char *expanded = NULL;
    if (path && home && strncmp(path, "~/", 2) == 0)
        expanded = mem_printf("%s/%s", home, path + 2);
    if (expanded)
        path = expanded;
    if (!path || *path != '/') {
        if (!base || *base != '/')
            add_working_folder(&out);
        if (base)
            append_path_steps(&out, base);
    }
    if (path)
        append_path_steps(&out, path);
    return out.length ? text_take(&out) : mem_strdup("/");
}

char *fs_dirname(const char *path)
{
    AUTO_FREE char *copy = mem_strdup(path);
    const char *folder = dirname(copy);
    return mem_strdup(strcmp(folder, "//") == 0 ? "/" : folder);
}

char *fs_basename(const char *path)
{
    AUTO_FREE char *copy = mem_strdup(path);
    return mem_strdup(basename(copy));
}

bool fs_is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

bool fs_is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool is_executable(const char *path)
{
    return fs_is_file(path) && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
}

char *fs_find_executable(const char *name, const char *cwd, const char *path)
{
    if (!*name)
        return NULL;
    if (strchr(name, '/')) {
        AUTO_FREE char *found = fs_resolve(cwd, name, NULL);
        return is_executable(found) ? steal_ptr(found) : NULL;
    }
    while (path) {
        size_t length = strcspn(path, ":");
        AUTO_FREE char *folder = mem_strndup(path, length); /* an empty one is the working folder */
        AUTO_FREE char *joined = mem_printf("%s/%s", length ? folder : ".", name);
        AUTO_FREE char *found = fs_resolve(cwd, joined, NULL);
        if (is_executable(found))
            return steal_ptr(found);
        path = path[length] ? path + length + 1 : NULL;
    }
    return NULL;
}
