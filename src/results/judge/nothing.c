/* What a place that holds no results is instead, so that the error says which one was meant. */
#include "results/judge/read.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Two are as good as a thousand: the error shows a pattern. */
enum { ENOUGH = 2, MOST_ENTRIES = 10000 };

static bool holds(int dir, const char *name)
{
    return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool holds_results(int dir)
{
    return holds(dir, "run.db") || holds(dir, "summary.csv") || holds(dir, CODECARBON_FILE);
}

static bool path_holds_results(const char *path)
{
    AUTO_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir >= 0 && holds_results(dir);
}

/* How many folders of it hold results, up to ENOUGH; the first one's name. */
static size_t count_results(int dir, char **first)
{
    AUTO_DIR DIR *stream = fs_list(dir, ".");
    size_t found = 0, seen = 0;
    for (struct dirent *entry; stream && found < ENOUGH && seen++ < MOST_ENTRIES && (entry = readdir(stream));) {
        AUTO_CLOSE int inner =
            entry->d_name[0] == '.' ? -1 : openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner < 0 || !holds_results(inner))
            continue;
        if (found++ == 0)
            *first = mem_strdup(entry->d_name);
    }
    return found;
}

bool read_no_folder(const char *path, struct err *err)
{
    AUTO_FREE char *folder = fs_dirname(path);
    if (path_holds_results(folder))
        return err_set(err, "%s is a file; the results are its folder: %s", path, folder);
    return err_set(err, "%s is a file, and no results folder", path);
}

bool read_no_results(const char *path, int dir, struct err *err)
{
    AUTO_FREE char *first = NULL;
    size_t inside = count_results(dir, &first);
    const char *slash = path[0] && path[strlen(path) - 1] == '/' ? "" : "/";
    if (inside == 1)
        return err_set(err, "%s holds no results itself, but %s%s%s does", path, path, slash, first);
    if (inside)
        return err_set(err, "%s holds no results itself, but its folders do: say which, or %s%s*", path, path, slash);
    if (holds(dir, "experiment.json"))
        return err_set(err, "%s is one experiment; the results are the folder that it is in", path);
    return err_set(err, "%s holds no results: there is neither run.db nor summary.csv nor an experiment's folder nor "
                   CODECARBON_FILE, path);
}
