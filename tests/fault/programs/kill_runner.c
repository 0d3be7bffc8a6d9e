/* Kills the runner, its guardian or both (argv[2]), where it can see them: it knows the runner's
 * pid from the file LOCK.runner. */
#include "misbehave.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pid_t runner_pid(const char *lock)
{
    char path[4096], text[32] = "";
    snprintf(path, sizeof path, "%s.runner", lock);
    while (!lifetime_over()) {
        FILE *file = fopen(path, "r");
        bool got = file && fgets(text, sizeof text, file) && strchr(text, '\n');
        if (file)
            fclose(file);
        if (got)
            return (pid_t)atoi(text);
        pause_ms(10);
    }
    return -1;
}

/* Whether /proc/PID/stat names it as the child of runner that holds itself the guardian. */
static bool is_guardian(const char *pid, pid_t runner)
{
    char path[300], text[1024];
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *file = fopen(path, "r");
    bool got = file && fgets(text, sizeof text, file);
    if (file)
        fclose(file);
    char *close_bracket = got ? strrchr(text, ')') : NULL;
    return close_bracket && strstr(text, "-guardian)") && atoi(close_bracket + 4) == runner;
}

static void kill_guardian(pid_t runner)
{
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc));)
        if (isdigit((unsigned char)entry->d_name[0]) && is_guardian(entry->d_name, runner))
            kill((pid_t)atoi(entry->d_name), SIGKILL);
    if (proc)
        closedir(proc);
}

int main(int argc, char **argv)
{
    hold(argv[1]);
    signal(SIGTERM, SIG_IGN);
    pid_t runner = runner_pid(argv[1]);
    const char *whom = argc > 2 ? argv[2] : "runner";
    if (must_fork() != 0)
        linger();
    setsid();
    ready(argv[1]);
    if (runner > 1 && strcmp(whom, "runner") != 0)
        kill_guardian(runner);
    if (runner > 1 && strcmp(whom, "guardian") != 0)
        kill(runner, SIGKILL);
    linger();
}
