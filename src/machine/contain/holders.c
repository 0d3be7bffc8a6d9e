#include "machine/contain/holders.h"

#include "base/fs.h"
#include "base/procfs.h"
#include "machine/contain/sys.h"

#include <fcntl.h>
#include <string.h>

enum { LINK_MAX_BYTES = 64, FDINFO_MAX = 4096 };

/* "flags:\t0100001": octal; its last digit is the access mode of open(2), of which 0 is reading
 * alone. */
static bool writes(int process, const char *name)
{
    char path[300], text[FDINFO_MAX];
    snprintf(path, sizeof path, "fdinfo/%s", name);
    ssize_t length = proc_read_at(process, path, text, sizeof text);
    const char *flags = length > 0 ? strstr(text, "flags:\t") : NULL;
    if (!flags)
        return false;
    flags += strlen("flags:\t");
    size_t digits = strspn(flags, "01234567");
    return digits > 0 && (flags[digits - 1] - '0') % 4 != O_RDONLY;
}

static bool holds(int process, DIR *fds, const char *pipe)
{
    for (struct dirent *entry; (entry = readdir(fds));) {
        char link[LINK_MAX_BYTES];
        ssize_t length = readlinkat(dirfd(fds), entry->d_name, link, sizeof link - 1);
        if (length <= 0)
            continue;
        link[length] = '\0';
        if (strcmp(link, pipe) == 0 && writes(process, entry->d_name))
            return true;
    }
    return false;
}

/* 1: it does, 0: no, -1: it may not be looked into. */
static int process_holds(int proc, pid_t pid, const char *pipe)
{
    char name[16];
    snprintf(name, sizeof name, "%d", (int)pid);
    AUTO_CLOSE int process = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_DIR DIR *fds = process >= 0 ? fs_list(process, "fd") : NULL;
    return fds ? holds(process, fds, pipe) : process >= 0 ? -1 : 0;
}

size_t holders_of_pipe(const char *proc, uint64_t inode, struct job_member *members, size_t max,
                       size_t *hidden)
{
    char pipe[LINK_MAX_BYTES];
    size_t count = 0;
    *hidden = 0;
    snprintf(pipe, sizeof pipe, "pipe:[%llu]", (unsigned long long)inode);
    AUTO_DIR DIR *listing = fs_list(AT_FDCWD, proc);
    for (pid_t pid; listing && (pid = proc_next_pid(listing));) {
        struct proc_stat stat;
        if (!proc_stat_read(dirfd(listing), pid, &stat) || !proc_stat_alive(&stat))
            continue;
        int found = process_holds(dirfd(listing), pid, pipe);
        *hidden += found < 0;
        if (found <= 0)
            continue;
        if (count < max) {
            members[count] = (struct job_member){
                .pid = stat.pid, .start_time = stat.start_time, .state = stat.state};
            snprintf(members[count].command, sizeof members[count].command, "%s", stat.comm);
        }
        count++;
    }
    return count;
}
