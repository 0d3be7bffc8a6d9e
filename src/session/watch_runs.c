/* Which runs are watched. */
#include "session/watch.h"

#include "base/fs.h"
#include "base/mem.h"
#include "results/store/store.h"
#include "session/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { RUNS_MAX = 1000 };

/* What a run has from its beginning on. */
static bool is_run(int dir)
{
    struct stat st;
    return fstatat(dir, "events.jsonl", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

static int later_first(const void *a, const void *b)
{
    return strverscmp(*(char *const *)b, *(char *const *)a);
}

/* The runs in a folder, by their names, which end with when they began. */
static void add_runs_in(const char *path, int dir, struct strv *out)
{
    AUTO_STRV struct strv found = {0};
    AUTO_DIR DIR *list = fs_list(dir, ".");
    for (struct dirent *entry; list && (entry = readdir(list));) {
        AUTO_CLOSE int folder = entry->d_name[0] == '.' ? -1 : openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder >= 0 && is_run(folder))
            strv_add(&found, entry->d_name);
    }
    if (found.count)
        qsort(found.items, found.count, sizeof *found.items, later_first);
    for (size_t i = 0; i < found.count && out->count < RUNS_MAX; i++)
        strv_add_owned(out, mem_printf("%s/%s", path, found.items[i]));
}

static bool add_operand(const char *operand, struct strv *out, struct err *err)
{
    AUTO_FREE char *named = run_folder_named(operand, err);
    AUTO_FREE char *path = NULL;
    AUTO_CLOSE int dir = named ? run_folder_open(named, &path, err) : -1;
    size_t before = out->count;
    if (dir < 0)
        return false;
    if (is_run(dir))
        strv_add_once(out, path);
    else
        add_runs_in(path, dir, out);
    return out->count > before || err_set(err, "%s: no run, and there is none in it", path);
}

bool watch_runs_find(const struct strv *operands, struct strv *out, struct err *err)
{
    if (operands->count == 0)
        return add_operand(RUN_FOLDER_RESULTS, out, err);
    for (size_t i = 0; i < operands->count; i++)
        if (!add_operand(operands->items[i], out, err) && !strv_has(out, operands->items[i]))
            return false;
    return true;
}

const char *watch_run_state(const char *dir)
{
    switch (lock_look(dir)) {
    case LOCK_HELD:
        return "under way";
    case LOCK_FREE:
        return "not running";
    default:
        return "not known";
    }
}

size_t watch_runs_first(const struct strv *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        if (lock_look(runs->items[i]) == LOCK_HELD)
            return i;
    return 0;
}
