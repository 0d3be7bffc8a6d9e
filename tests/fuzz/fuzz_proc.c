/* Any bytes read as files of /proc and of a cgroup: the first byte says which. */
#include "base/procfs.h"
#include "fuzz.h"
#include "machine/contain/cgroup.h"
#include "machine/contain/mountinfo.h"
#include "machine/contain/thaw.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void stat_line(const char *bytes, size_t count)
{
    struct proc_stat stat;
    if (!proc_stat_parse(bytes, count, &stat))
        return;
    check(stat.pid >= 0 && stat.ppid >= 0 && stat.session >= 0);
    check(strlen(stat.comm) < sizeof stat.comm);
    check(fuzz_is_legible(stat.comm));
    proc_stat_alive(&stat);
}

static void mounts(const char *bytes, size_t count)
{
    const char *at = bytes, *end = bytes + count;
    struct mount *mount = malloc(sizeof *mount);
    size_t seen = 0;
    while (mount && mountinfo_next(&at, end, mount)) {
        seen++;
        check(at <= end && strlen(mount->root) < sizeof mount->root &&
              strlen(mount->point) < sizeof mount->point);
        mount_option_has(mount->options, "freezer");
    }
    check(seen <= count && (!mount || at == end));
    free(mount);
}

/* Two files in one input, parted by a NUL. */
static void own_cgroup(const char *bytes, size_t count)
{
    size_t first = strnlen(bytes, count), second = first < count ? first + 1 : first;
    for (int at_root = 0; at_root <= 1; at_root++) {
        char *path = cgroup_own_path(bytes, first, bytes + second, count - second, at_root);
        check(!path || strlen(path) < 8192);
        free(path);
    }
}

static void cgroup_path(const char *bytes, size_t count)
{
    char path[256];
    static const char *const controllers[] = {NULL, "freezer", "name=systemd"};
    for (size_t i = 0; i < 3; i++) {
        if (!proc_cgroup_path(bytes, count, controllers[i], path, sizeof path))
            continue;
        check(path[0] == '/' && strlen(path) < sizeof path);
        size_t length = strlen(path);
        while (length > 0 && thaw_folder_is_foreign(path, length, "/own")) {
            size_t above = thaw_folder_above(path, length);
            check(above < length);
            length = above;
        }
    }
}

static void numbers(const char *bytes, size_t count)
{
    uint64_t number = 0;
    size_t depth = 0;
    pid_t innermost = 0;
    proc_keyed_number(bytes, count, "populated", &number);
    proc_schedstat_parse(bytes, count, &number, &number);
    if (proc_number_parse(bytes, count, 1000, &number))
        check(number <= 1000);
    if (proc_status_nspid(bytes, count, &depth, &innermost))
        check(depth > 0 && depth <= count && innermost >= 0);
}

static void environment(const char *bytes, size_t count)
{
    char path[32], *value = NULL;
    int fd = memfd_create("environ", MFD_CLOEXEC);
    check(fd >= 0 && write(fd, bytes, count) == (ssize_t)count);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    check(proc_environ_value(AT_FDCWD, path, "TARE_JOB", &value));
    check(!value || strlen(value) < count);
    free(value);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static fuzz_parser *const parsers[] = {stat_line,   mounts,  own_cgroup,
                                           cgroup_path, numbers, environment};
    return fuzz_one_of(data, size, parsers, sizeof parsers / sizeof *parsers);
}
