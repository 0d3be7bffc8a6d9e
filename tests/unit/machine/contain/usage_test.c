#include "machine/contain/cgroup_tree.h"
#include "machine/contain/usage.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/mem.h"
#include "tare_build.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The formats are those of the kernel's admin-guide/cgroup-v2.rst and of proc(5). */
static void processes_that_the_kernel_ended_for_memory_are_counted(void **state)
{
    (void)state;
    static const char events[] = "low 0\nhigh 0\nmax 12\noom 4\noom_kill 3\noom_group_kill 1\n";
    static const char vmstat[] = "nr_free_pages 5\nnr_oom_kill 9\noom_kill 17\nthp_fault 1\n";
    char dir[] = "/tmp/cgroup-test.XXXXXX";
    uint64_t kills = 0;
    assert_non_null(mkdtemp(dir));
    AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_FREE char *path = mem_printf("%s/vmstat", dir);
    assert_false(cgroup_oom_kills(dir, &kills));
    assert_false(machine_oom_kills(path, &kills));
    assert_true(fs_write_atomic(fd, "memory.events", events, sizeof events - 1, NULL));
    assert_true(fs_write_atomic(fd, "vmstat", vmstat, sizeof vmstat - 1, NULL));
    assert_true(cgroup_oom_kills(dir, &kills));
    assert_int_equal(kills, 3);
    assert_true(machine_oom_kills(path, &kills));
    assert_int_equal(kills, 17);
    unlinkat(fd, "memory.events", 0);
    unlinkat(fd, "vmstat", 0);
    assert_int_equal(rmdir(dir), 0);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_that_the_kernel_ended_for_memory_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
