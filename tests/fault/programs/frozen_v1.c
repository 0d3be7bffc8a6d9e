/* Children frozen by the cgroup v1 freezer do not die of KILL until they are thawed. */
#include "misbehave.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_frozen(const char *state)
{
    char text[32] = "";
    FILE *file = fopen(state, "r");
    bool got = file && fgets(text, sizeof text, file);
    if (file)
        fclose(file);
    return got && strcmp(text, "FROZEN\n") == 0;
}

int main(int argc, char **argv)
{
    (void)argc;
    char point[1024], group[1200], path[1300], number[16];
    hold(argv[1]);
    if (!cgroup_mount(true, point, sizeof point))
        cannot("find a cgroup v1 freezer");
    const char *name = strrchr(argv[1], '/');
    snprintf(group, sizeof group, "%s/fault-%s", point, name ? name + 1 : argv[1]);
    if (mkdir(group, 0755) != 0 && errno != EEXIST)
        cannot("make a freezer");
    snprintf(path, sizeof path, "%s/cgroup.procs", group);
    for (int i = 0; i < 2; i++) {
        pid_t child = must_fork();
        if (child == 0) {
            setsid();
            signal(SIGTERM, SIG_IGN);
            linger();
        }
        snprintf(number, sizeof number, "%d", (int)child);
        if (!write_file(path, number))
            cannot("move into the freezer");
    }
    snprintf(path, sizeof path, "%s/freezer.state", group);
    if (!write_file(path, "FROZEN"))
        cannot("freeze");
    while (!lifetime_over() && !is_frozen(path))
        pause_ms(5);
    ready(argv[1]);
    linger();
}
