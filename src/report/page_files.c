#include "report/page_private.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strv.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 60 };

json_t *page_files_of_run(int dir)
{
    static const char *const known[] = {"summary.csv",   "summary_safe.csv", "audit.json",   "audit_safe.csv",
                                        "settings.json", "registry.json",    "machine.json", "events.jsonl"};
    json_t *out = json_array();
    struct stat st;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (fstatat(dir, known[i], &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            json_array_append_new(out, json_string(known[i]));
    return out;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* before: "" or "energy/"; deep: what stands in energy/ and attempt_<k>/ too. Links are left out: they lead to what is
 * none of the run's. */
static void add_folder(int folder, const char *before, bool deep, struct strv *out)
{
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    for (struct dirent *entry; list && out->count < FILES_MAX && (entry = readdir(list));) {
        struct stat st;
        const char *name = entry->d_name;
        if (*name == '.' || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (deep && S_ISDIR(st.st_mode) && (strcmp(name, "energy") == 0 || strncmp(name, "attempt_", 8) == 0)) {
            AUTO_CLOSE int inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            AUTO_FREE char *below = mem_printf("%s/", name);
            if (inner >= 0)
                add_folder(inner, below, false, out);
        } else if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) {
            strv_add_owned(out, mem_printf("%s%s%s", before, name, S_ISDIR(st.st_mode) ? "/" : ""));
        }
    }
    if (list)
        closedir(list);
    else if (copy >= 0)
        close(copy);
}

json_t *page_files_of_experiment(int folder)
{
    AUTO_STRV struct strv names = {0};
    json_t *out = json_array();
    add_folder(folder, "", true, &names);
    if (names.count)
        qsort(names.items, names.count, sizeof *names.items, compare_names);
    for (size_t i = 0; i < names.count; i++) {
        json_t *name = json_string(names.items[i]); /* NULL: no UTF-8 */
        if (name)
            json_array_append_new(out, name);
    }
    return out;
}
