#include "session/run_folder.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "plan/config/registry.h"
#include "results/judge/judge.h"
#include "session/message.h"
#include "tare_build.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SUFFIX_MAX = 1000 };

static char *without_end_slashes(const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    return mem_strndup(path, length);
}

static int make_in(int parent, const char *kind, const char *stamp, char **name, struct err *err)
{
    for (int suffix = 1; suffix <= SUFFIX_MAX; suffix++) {
        AUTO_FREE char *tried = suffix == 1 ? mem_printf("%s_%s", kind, stamp)
                                            : mem_printf("%s_%s_%d", kind, stamp, suffix);
        if (mkdirat(parent, tried, 0775) != 0) {
            if (errno == EEXIST)
                continue;
            err_sys(err, "make folder %s", tried);
            return -1;
        }
        int fd = openat(parent, tried, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            err_sys(err, "open folder %s", tried);
        *name = steal_ptr(tried);
        return fd;
    }
    err_set(err, "there are %d folders %s_%s already", SUFFIX_MAX, kind, stamp);
    return -1;
}

int run_folder_new(const char *output, const char *kind, int64_t realtime_ns, char **path,
                   struct err *err)
{
    char stamp[20];
    AUTO_FREE char *name = NULL;
    AUTO_FREE char *folder = without_end_slashes(output);
    AUTO_CLOSE int parent = fs_make_path(output, 0777, err);
    *path = NULL;
    if (parent < 0)
        return -1;
    clock_format_stamp(realtime_ns, stamp);
    int fd = make_in(parent, kind, stamp, &name, err);
    if (fd < 0) {
        err_wrap(err, "%s", output);
        return -1;
    }
    *path = mem_printf("%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);
    return fd;
}

/* Whether it is a folder whose name run_folder_new may have given. */
static bool is_run_folder(int parent, const char *name, const char *prefix)
{
    static const char form[] = "dddddddd_dddddd";
    struct stat st;
    size_t length = strlen(prefix), at = 0;
    if (strncmp(name, prefix, length) != 0)
        return false;
    for (const char *stamp = name + length; form[at]; at++)
        if (form[at] == 'd' ? !isdigit((unsigned char)stamp[at]) : stamp[at] != form[at])
            return false;
    const char *suffix = name + length + at;
    bool has_suffix =
        suffix[0] == '_' && suffix[1] && strspn(suffix + 1, "0123456789") == strlen(suffix + 1);
    return (!*suffix || has_suffix) && fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(st.st_mode);
}

/* Later ones of one second have a longer name. */
static bool is_newer(const char *name, const char *than)
{
    size_t a = strlen(name), b = strlen(than);
    return a != b && strncmp(name, than, a < b ? a : b) == 0 ? a > b : strcmp(name, than) > 0;
}

char *run_folder_newest(const char *output, const char *kind)
{
    AUTO_FREE char *prefix = mem_printf("%s_", kind);
    AUTO_FREE char *newest = NULL;
    AUTO_FREE char *folder = without_end_slashes(output);
    AUTO_DIR DIR *dir = opendir(output);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (!is_run_folder(dirfd(dir), entry->d_name, prefix) ||
            (newest && !is_newer(entry->d_name, newest)))
            continue;
        free(newest);
        newest = mem_strdup(entry->d_name);
    }
    return newest ? mem_printf("%s/%s", strcmp(folder, "/") == 0 ? "" : folder, newest) : NULL;
}

char *run_folder_named(const char *given, struct err *err)
{
    if (strcmp(given, "latest") != 0)
        return mem_strdup(given);
    char *newest = run_folder_newest(RUN_FOLDER_RESULTS, "run");
    AUTO_FREE char *cwd = newest ? NULL : get_current_dir_name();
    if (!newest)
        err_set(err,
                "latest: there is no run in %s/%s; say which folder it is (one called latest is "
                "./latest)",
                cwd ? cwd : ".", RUN_FOLDER_RESULTS);
    return newest;
}

int run_folder_open_named(const char *given, char **path, struct err *err)
{
    AUTO_FREE char *named = run_folder_named(given, err);
    return named ? run_folder_open(named, path, err) : -1;
}

int run_folder_open(const char *run_dir, char **path, struct err *err)
{
    *path = without_end_slashes(run_dir);
    int fd = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        err_sys(err, "open %s", run_dir);
    return fd;
}

char *reading_leave_out(struct dataset *dataset, struct strv *ids)
{
    dataset_leave_out_contradictions(dataset, ids);
    if (ids->count == 0)
        return NULL;
    AUTO_FREE char *list = strv_join(ids, ", ");
    char *said = mem_printf("left out, as their rows and their folders disagree ('" TARE_NAME
                            " audit' shows where): %s",
                            list);
    cli_warning("%s", said);
    return said;
}

int reading_rows(char *const *paths, size_t count, struct dataset *out)
{
    int code = reading_folders(paths, count, NULL, out);
    AUTO_STRV struct strv ids = {0};
    if (code == CLI_OK)
        free(reading_leave_out(out, &ids));
    return code;
}

static bool apply_registry_defaults(const char *file, struct dataset *dataset)
{
    AUTO(problems_fini) struct problems problems = {0};
    AUTO(registry_fini) struct registry registry = {0};
    if (!registry_read(file, &registry, &problems)) {
        message_problems(&problems);
        return false;
    }
    if (dataset->count > 0 && dataset_take_defaults(dataset, &registry) == 0)
        cli_warning(
            "%s describes none of the repositories of these experiments: its defaults are not used",
            file);
    return true;
}

int reading_folders(char *const *paths, size_t count, const char *registry, struct dataset *out)
{
    struct err err = {0};
    *out = (struct dataset){.columns = out->columns};
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        AUTO_FREE char *path = run_folder_named(paths[i], &err);
        ok = path && dataset_read(out, path, &err);
    }
    if (!ok)
        cli_error("%s", err.text);
    if (!ok || (registry && !apply_registry_defaults(registry, out))) {
        dataset_fini(out);
        return CLI_BROKEN;
    }
    EACH (folder, out->folders, out->folder_count)
        if (folder->note)
            cli_warning("%s", folder->note);
    audit_judge(out);
    return CLI_OK;
}
