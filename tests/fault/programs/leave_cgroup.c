/* One process moves out of the job's cgroup, another makes a cgroup below and is frozen there. */
#include "misbehave.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

/* The process in the inner cgroup cannot say that it is frozen any more; the kernel does. */
static void wait_until_frozen(const char *point, const char *own, pid_t pid)
{
    char path[8192], text[256];
    int status;
    snprintf(path, sizeof path, "%s%s/deeper/cgroup.events", point, own);
    while (!lifetime_over()) {
        FILE *file = fopen(path, "r");
        size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
        text[length] = '\0';
        if (file)
            fclose(file);
        if (strstr(text, "frozen 1"))
            return;
        if (waitpid(pid, &status, WNOHANG) == pid)
            cannot("freeze a cgroup below");
        pause_ms(5);
    }
}

/* Where a process may go from its own cgroup: to the root; else, where its user owns it, to the one
 * above. */
static bool way_out(const char *point, const char *own, char *out, size_t size)
{
    snprintf(out, size, "%s/cgroup.procs", point);
    if (access(out, W_OK) == 0)
        return true;
    snprintf(out, size, "%s%.*s/cgroup.procs", point, (int)(strrchr(own, '/') - own), own);
    return access(out, W_OK) == 0;
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
    if (!way_out(point, own, path, sizeof path))
        cannot("move to another cgroup");
    pid_t frozen = must_fork();
    if (frozen == 0) {
        signal(SIGTERM, SIG_IGN);
        if (!freeze_below(point, own))
            _exit(77);
        linger();
    }
    wait_until_frozen(point, own, frozen);
    pid_t leaver = must_fork();
    if (leaver == 0) {
        signal(SIGTERM, SIG_IGN);
        setsid();
        if (!write_file(path, "0"))
            _exit(77);
        ready(argv[1]);
        linger();
    }
    int status = 0;
    if (waitpid(leaver, &status, 0) == leaver && WIFEXITED(status) && WEXITSTATUS(status) == 77)
        cannot("move to another cgroup");
    linger();
}
