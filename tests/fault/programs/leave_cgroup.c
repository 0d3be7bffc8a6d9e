/* One process moves out of the job's cgroup, another makes a cgroup below and is frozen there. */
#include "misbehave.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool own_cgroup(char *out, unsigned size)
{
    FILE *file = fopen("/proc/self/cgroup", "r");
    char line[4096];
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        found = strncmp(line, "0::", 3) == 0;
        if (found)
            snprintf(out, size, "%.*s", (int)strcspn(line + 3, "\n"), line + 3);
    }
    if (file)
        fclose(file);
    return found;
}

static bool freeze_below(const char *point, const char *own)
{
    char path[8192], inner[7000];
    snprintf(inner, sizeof inner, "%s%s/deeper", point, own);
    if (mkdir(inner, 0755) != 0)
        return false;
    snprintf(path, sizeof path, "%s/cgroup.procs", inner);
    if (!write_file(path, "0"))
        return false;
    snprintf(path, sizeof path, "%s/cgroup.freeze", inner);
    return write_file(path, "1");
}

int main(int argc, char **argv)
{
    (void)argc;
    char point[1024], own[4096], path[8192];
    hold(argv[1]);
    if (!cgroup_mount(false, point, sizeof point) || !own_cgroup(own, sizeof own))
        cannot("find a cgroup v2");
    if (strcmp(own, "/") == 0)
        cannot("leave the root cgroup");
    snprintf(path, sizeof path, "%s/cgroup.procs", point);
    if (must_fork() == 0) {
        signal(SIGTERM, SIG_IGN);
        freeze_below(point, own);
        linger();
    }
    if (must_fork() == 0) {
        signal(SIGTERM, SIG_IGN);
        setsid();
        if (!write_file(path, "0"))
            _exit(77);
        ready(argv[1]);
        linger();
    }
    if (access(path, W_OK) != 0)
        cannot("move to the root cgroup");
    linger();
}
