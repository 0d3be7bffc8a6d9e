#include "session/run_snapshot.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/strv.h"
#include "run/attempt.h"
#include "session/run_folder.h"

#include <fcntl.h>
#include <string.h>

/* Adds EXPERIMENT/memory_snapshot.pickle of each experiment that has one, by name. */
static void find_snapshots(const char *run_dir, struct strv *out)
{
    AUTO_CLOSE int folder = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_DIR DIR *dir = folder < 0 ? NULL : fs_list(folder, ".");
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        AUTO_FREE char *name = mem_printf("%s/" SNAPSHOT_NAME, entry->d_name);
        AUTO_CLOSE int fd =
            *entry->d_name == '.' ? -1 : fs_open_beneath(folder, name, O_RDONLY | O_NONBLOCK, 0);
        if (fd >= 0)
            strv_add_owned(out, mem_printf("%s/%s", run_dir, name));
    }
    strv_sort(out);
}

char *run_snapshot_named(const char *given, struct err *err)
{
    AUTO_FREE char *run_dir = run_folder_named(given, err);
    AUTO_STRV struct strv found = {0};
    if (!run_dir || strcmp(given, "latest") != 0)
        return steal_ptr(run_dir);
    find_snapshots(run_dir, &found);
    AUTO_FREE char *names = strv_join(&found, ", ");
    if (found.count == 0)
        err_set(err,
                "latest: no experiment of %s has a " SNAPSHOT_NAME
                "; \"memory_snapshot\": true in the registry lets trainings write one",
                run_dir);
    else if (found.count > 1)
        err_set(err, "latest: %s has %zu snapshots; name one of %s", run_dir, found.count, names);
    return found.count == 1 ? mem_strdup(found.items[0]) : NULL;
}
