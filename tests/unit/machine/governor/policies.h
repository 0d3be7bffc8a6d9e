/* policies: a machine with frequency policies, and a run that is killed. */
#ifndef TARE_TESTS_POLICIES_H
#define TARE_TESTS_POLICIES_H

#include "machine/contain/job.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine/governor/governor_keeper.h"

#include "tests/unit/machine/sysroot.h"

#include <signal.h>
#include <sys/wait.h>

#define POLICIES "/sys/devices/system/cpu/cpufreq"
#define RECORD   "/state/governor.json"

static inline void policy(const struct sysroot *root, unsigned number, const char *governor)
{
    char path[128];
    AUTO_FREE char *line = mem_printf("%s\n", governor);
    snprintf(path, sizeof path, POLICIES "/policy%u/scaling_governor", number);
    sysroot_file(root, path, line);
    snprintf(path, sizeof path, POLICIES "/policy%u/scaling_available_governors", number);
    sysroot_file(root, path, "ondemand powersave performance schedutil\n");
}

static inline bool has(const struct sysroot *root, const char *governor)
{
    char text[64];
    sysroot_read(root, POLICIES "/policy0/scaling_governor", text, sizeof text);
    text[strcspn(text, "\n")] = '\0';
    return strcmp(text, governor) == 0;
}

/* A machine with one policy, and a state folder: its descriptor. */
static inline int machine(const struct sysroot *root)
{
    AUTO_FREE char *path = mem_printf("%s/state", root->top);
    policy(root, 0, "powersave");
    assert_int_equal(mkdir(path, 0700), 0);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(folder >= 0);
    return folder;
}

static inline void kill_run(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

#endif
