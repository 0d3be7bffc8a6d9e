#include "machine/contain/cgroup_tree.h"
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
#include <sys/stat.h>
#include <unistd.h>

static const char unified[] = "22 27 0:21 / /proc rw - proc proc rw\n"
                              "37 31 0:34 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n"
                              "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";

static char *own(const char *mounts, const char *cgroup, bool at_root)
{
    return cgroup_own_path(mounts, strlen(mounts), cgroup, strlen(cgroup), at_root);
}

static void the_own_cgroup_lies_under_the_mount(void **state)
{
    (void)state;
    AUTO_FREE char *deep = own(unified, "5:devices:/d\n0::/user.slice/a.scope\n", false);
    AUTO_FREE char *root = own(unified, "0::/\n", false);
    AUTO_FREE char *at_root = own(unified, "0::/user.slice\n", true);
    assert_string_equal(deep, "/sys/fs/cgroup/user.slice/a.scope");
    assert_string_equal(root, "/sys/fs/cgroup");
    assert_string_equal(at_root, "/sys/fs/cgroup");
}

static void a_hybrid_mount_counts_too(void **state)
{
    (void)state;
    AUTO_FREE char *path = own("31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
                               "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
                               "6:freezer:/f\n0::/a\n", false);
    assert_string_equal(path, "/sys/fs/cgroup/unified/a");
}

static void a_part_that_is_mounted_is_cut_from_the_path(void **state)
{
    (void)state;
    const char *mounts = "41 31 0:38 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    AUTO_FREE char *below = own(mounts, "0::/docker/abc/x\n", false);
    AUTO_FREE char *same = own(mounts, "0::/docker/abc\n", false);
    assert_string_equal(below, "/sys/fs/cgroup/x");
    assert_string_equal(same, "/sys/fs/cgroup");
    assert_null(own(mounts, "0::/docker/abcd\n", false));
    assert_null(own(mounts, "0::/other\n", false));
}

static void without_cgroup_v2_or_outside_the_namespace_there_is_none(void **state)
{
    (void)state;
    assert_null(own("37 31 0:34 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n", "0::/\n",
                    false));
    assert_null(
        own("37 31 0:34 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n", "0::/\n", true));
    assert_null(own(unified, "0::/../other\n", false));
    assert_null(own(unified, "5:devices:/d\n", false));
    assert_null(own("", "", true));
}

static void a_leaf_is_named_by_its_tag(void **state)
{
    (void)state;
    AUTO_FREE char *leaf = cgroup_leaf_path("/sys/fs/cgroup/a", "00ff");
    assert_string_equal(leaf, "/sys/fs/cgroup/a/" TARE_NAME "-job-00ff");
}

/* A journal may name any folder; only a cgroup made for this very job is touched. */
static void another_folder_is_no_leaf(void **state)
{
    (void)state;
    char folder[] = "/tmp/leaf.XXXXXX";
    assert_non_null(mkdtemp(folder));
    AUTO_FREE char *leaf = cgroup_leaf_path(folder, "00ff");
    assert_int_equal(mkdir(leaf, 0700), 0);
    assert_false(cgroup_is_leaf_of(leaf, "00ff"));
    assert_false(cgroup_is_leaf_of("/sys/fs/cgroup", "00ff"));
    assert_false(cgroup_is_leaf_of("", ""));
    assert_int_equal(rmdir(leaf), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void put(int folder, const char *name, const char *text)
{
    assert_true(fs_write_atomic(folder, name, text, strlen(text), NULL));
}

/* A cgroup that is played by files. */
static void limits_are_written_to_the_cgroup_and_held_as_far_as_it_has_the_controller(void **state)
{
    (void)state;
    const struct job_limits none = {0}, limits = {.memory_bytes = 2147483648};
    char leaf[] = "/tmp/cgroup-test.XXXXXX";
    assert_non_null(mkdtemp(leaf));
    AUTO_CLOSE int fd = open(leaf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_TEXT struct text memory = {0}, swap = {0};
    cgroup_limit_memory(leaf, limits.memory_bytes);
    assert_int_equal(faccessat(fd, "memory.max", F_OK, 0), -1);
    assert_false(cgroup_has_memory_limit(leaf));
    put(fd, "memory.max", "max\n");
    put(fd, "memory.swap.max", "max\n");
    cgroup_limit_memory(leaf, none.memory_bytes);
    assert_false(cgroup_has_memory_limit(leaf));
    put(fd, "memory.max", "");
    put(fd, "memory.swap.max", "");
    cgroup_limit_memory(leaf, limits.memory_bytes);
    assert_true(cgroup_has_memory_limit(leaf));
    assert_true(fs_read_kernel(fd, "memory.max", 100, &memory, NULL));
    assert_string_equal(text_get(&memory), "2147483648");
    assert_true(fs_read_kernel(fd, "memory.swap.max", 100, &swap, NULL));
    assert_string_equal(text_get(&swap), "0");
    unlinkat(fd, "memory.max", 0);
    unlinkat(fd, "memory.swap.max", 0);
    assert_int_equal(rmdir(leaf), 0);
}

/* A cgroup that is played by files: what the kernel then holds counts, not what was asked for. */
static void processors_are_limited_only_when_the_cgroup_really_holds_them(void **state)
{
    (void)state;
    char dir[] = "/tmp/cgroup-test.XXXXXX";
    assert_non_null(mkdtemp(dir));
    AUTO_FREE char *leaf = mem_printf("%s/leaf", dir);
    assert_int_equal(mkdir(leaf, 0755), 0);
    AUTO_CLOSE int above = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_CLOSE int fd = open(leaf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_TEXT struct text got = {0};
    struct cpus cpus = {0};
    for (size_t cpu = 2; cpu < 5; cpu++)
        cpus_add(&cpus, cpu);
    put(above, "cgroup.subtree_control", "");
    assert_false(cgroup_limit_cpus(leaf, &cpus));
    assert_true(fs_read_kernel(above, "cgroup.subtree_control", 100, &got, NULL));
    assert_string_equal(text_get(&got), "+cpuset");
    put(fd, "cpuset.cpus", "");
    put(fd, "cpuset.cpus.effective", "0-7\n");
    assert_false(cgroup_limit_cpus(leaf, &cpus));
    text_clear(&got);
    assert_true(fs_read_kernel(fd, "cpuset.cpus", 100, &got, NULL));
    assert_string_equal(text_get(&got), "2-4");
    put(fd, "cpuset.cpus.effective", "2-4\n");
    assert_true(cgroup_limit_cpus(leaf, &cpus));
    unlinkat(fd, "cpuset.cpus", 0);
    unlinkat(fd, "cpuset.cpus.effective", 0);
    unlinkat(above, "cgroup.subtree_control", 0);
    assert_int_equal(rmdir(leaf), 0);
    assert_int_equal(rmdir(dir), 0);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_own_cgroup_lies_under_the_mount),
        cmocka_unit_test(a_hybrid_mount_counts_too),
        cmocka_unit_test(a_part_that_is_mounted_is_cut_from_the_path),
        cmocka_unit_test(without_cgroup_v2_or_outside_the_namespace_there_is_none),
        cmocka_unit_test(a_leaf_is_named_by_its_tag),
        cmocka_unit_test(another_folder_is_no_leaf),
        cmocka_unit_test(limits_are_written_to_the_cgroup_and_held_as_far_as_it_has_the_controller),
        cmocka_unit_test(processors_are_limited_only_when_the_cgroup_really_holds_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
