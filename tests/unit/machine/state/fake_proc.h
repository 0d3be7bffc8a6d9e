/* A /proc and a /dev made of plain files. Process ids are above what a kernel gives (4194304), so
 * that none is our own. */
#ifndef STATE_FAKE_PROC_H
#define STATE_FAKE_PROC_H

#include "fixture.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "machine/state/census.h"
#include "tare_build.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_PID = 5000000 };

struct fake {
    char proc[96], dev[96];
    struct census_roots roots;
};

/* bytes may hold NULs. */
static inline void fake_file(const char *folder, const char *name, const char *bytes, size_t count)
{
    AUTO_FREE char *path = mem_printf("%s/%s", folder, name);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), count);
}

static inline void fake_init(const struct fixture *fixture, struct fake *out)
{
    snprintf(out->proc, sizeof out->proc, "%s/proc", fixture->top);
    snprintf(out->dev, sizeof out->dev, "%s/dev", fixture->top);
    assert_int_equal(mkdir(out->proc, 0700), 0);
    out->roots = (struct census_roots){out->proc, out->dev};
    fake_file(out->proc, "uptime", "1000.50 3000.00\n", 16);
}

struct fake_process {
    int pid, parent; /* offsets to FIRST_PID; a parent below 0 is pid 1 */
    const char *name;
    unsigned uid;
    const char *command; /* cmdline and environ, with '|' for NUL */
    const char *environment;
    const char *devices[6]; /* in the fake /dev, or absolute */
    char state;             /* 0: S */
    bool other_program;     /* not this very one, though its name begins with this one's */
};

static inline void fake_nul_file(const char *folder, const char *name, const char *text)
{
    AUTO_FREE char *bytes = mem_strdup(text ? text : "");
    size_t count = strlen(bytes);
    for (size_t i = 0; i < count; i++)
        if (bytes[i] == '|')
            bytes[i] = '\0';
    fake_file(folder, name, bytes, count);
}

/* Each was started 400 s after boot. */
static inline void fake_add(const struct fake *fake, const struct fake_process *process)
{
    int parent = process->parent < 0 ? 1 : FIRST_PID + process->parent;
    AUTO_FREE char *folder = mem_printf("%s/%d", fake->proc, FIRST_PID + process->pid);
    AUTO_FREE char *fds = mem_printf("%s/fd", folder);
    /* proc(5): 22 fields; threads is the 20th, start time the 22nd. */
    AUTO_FREE char *stat = mem_printf(
        "%d (%s) %c %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %ld 0 0\n", FIRST_PID + process->pid,
        process->name, process->state ? process->state : 'S', parent, 400 * sysconf(_SC_CLK_TCK));
    AUTO_FREE char *status =
        mem_printf("Name:\t%s\nUid:\t%u\t0\t0\t0\n", process->name, process->uid);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(mkdir(fds, 0700), 0);
    fake_file(folder, "stat", stat, strlen(stat));
    fake_file(folder, "status", status, strlen(status));
    fake_nul_file(folder, "cmdline", process->command);
    fake_nul_file(folder, "environ", process->environment);
    AUTO_FREE char *exe = mem_printf("%s/exe", folder);
    bool ours =
        strncmp(process->name, TARE_NAME, strlen(TARE_NAME)) == 0 && !process->other_program;
    assert_int_equal(symlink(ours ? "/proc/self/exe" : "/bin/sh", exe), 0);
    for (size_t i = 0; i < 6 && process->devices[i]; i++) {
        AUTO_FREE char *link = mem_printf("%s/%zu", fds, i);
        AUTO_FREE char *target = process->devices[i][0] == '/'
                                     ? mem_strdup(process->devices[i])
                                     : mem_printf("%s/%s", fake->dev, process->devices[i]);
        assert_int_equal(symlink(target, link), 0);
    }
}

#endif
