#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define AFTER_NAME                                                                            \
    " S 1000 1234 1200 34816 1234 4194304 500 6 7 8 11 12 13 14 20 0 3 0 987654 9000000 100 " \
    "18446744073709551615\n"

static bool parse(const char *text, struct proc_stat *out)
{
    return proc_stat_parse(text, strlen(text), out);
}

static void a_stat_line_gives_its_fields(void **state)
{
    (void)state;
    struct proc_stat stat;
    assert_true(parse("1234 (sleep)" AFTER_NAME, &stat));
    assert_int_equal(stat.pid, 1234);
    assert_string_equal(stat.comm, "sleep");
    assert_int_equal(stat.state, 'S');
    assert_int_equal(stat.ppid, 1000);
    assert_int_equal(stat.pgrp, 1234);
    assert_int_equal(stat.session, 1200);
    assert_int_equal(stat.cpu_ticks, 11 + 12 + 13 + 14);
    assert_int_equal(stat.threads, 3);
    assert_int_equal(stat.start_time, 987654);
}

static void a_hostile_name_does_not_shift_the_fields(void **state)
{
    (void)state;
    struct proc_stat stat;
    assert_true(parse("1234 (a) R 1 1 (\n1)" AFTER_NAME, &stat));
    assert_string_equal(stat.comm, "a) R 1 1 (?1");
    assert_int_equal(stat.state, 'S');
    assert_int_equal(stat.ppid, 1000);
    assert_int_equal(stat.start_time, 987654);
    assert_true(parse("7 ()" AFTER_NAME, &stat));
    assert_string_equal(stat.comm, "");
}

static void what_is_cut_or_no_number_is_refused(void **state)
{
    (void)state;
    struct proc_stat stat;
    assert_false(parse("", &stat));
    assert_false(parse("1234", &stat));
    assert_false(parse("1234 (sleep) S 1000", &stat));
    assert_false(parse("x (sleep)" AFTER_NAME, &stat));
    assert_false(parse("1234 (sleep) S x 1 1 0 0 0 0 0 0 0 1 1 1 1 20 0 1 0 5", &stat));
    assert_false(parse("1234 (sleep) S 99999999999 1 1 0 0 0 0 0 0 0 1 1 1 1 20 0 1 0 5", &stat));
    assert_false(parse(") (", &stat));
}

static void only_a_zombie_without_other_threads_is_dead(void **state)
{
    (void)state;
    assert_true(proc_stat_alive(&(struct proc_stat){.state = 'R', .threads = 1}));
    assert_true(proc_stat_alive(&(struct proc_stat){.state = 'D', .threads = 1}));
    assert_true(proc_stat_alive(&(struct proc_stat){.state = 'T', .threads = 1}));
    assert_false(proc_stat_alive(&(struct proc_stat){.state = 'Z', .threads = 0}));
    assert_false(proc_stat_alive(&(struct proc_stat){.state = 'Z', .threads = 1}));
    assert_true(proc_stat_alive(&(struct proc_stat){.state = 'Z', .threads = 2}));
    assert_false(proc_stat_alive(&(struct proc_stat){.state = 'X', .threads = 0}));
}

static void assert_value(const char *bytes, size_t count, const char *expected)
{
    char path[32];
    AUTO_FREE char *value = NULL;
    AUTO_CLOSE int fd = memfd_create("environ", MFD_CLOEXEC);
    assert_int_equal(write(fd, bytes, count), count);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_true(proc_environ_value(AT_FDCWD, path, "TARE_JOB", &value));
    if (expected)
        assert_string_equal(value, expected);
    else
        assert_null(value);
}

#define ENVIRON(literal, expected) assert_value(literal, sizeof(literal) - 1, expected)

static void a_variable_is_found_by_its_whole_name(void **state)
{
    (void)state;
    ENVIRON("A=1\0TARE_JOB=f00\0B=2\0", "f00");
    ENVIRON("TARE_JOB=no end", "no end");
    ENVIRON("TARE_JOB=\0", "");
    ENVIRON("TARE_JOB=first\0TARE_JOB=second\0", "first");
    ENVIRON("TARE_JOBS=x\0MY_TARE_JOB=y\0TARE_JOB\0", NULL);
    ENVIRON("A=TARE_JOB=x\0", NULL);
    ENVIRON("TARE_\0JOB=x\0", NULL);
    ENVIRON("", NULL);
}

static void a_variable_is_found_wherever_an_environment_is_cut_into_pieces(void **state)
{
    (void)state;
    static char block[20000];
    for (size_t before = 4070; before < 4110; before++) {
        memset(block, 'x', sizeof block);
        block[before - 1] = '\0';
        memcpy(block + before, "TARE_JOB=0123456789abcdef", sizeof "TARE_JOB=0123456789abcdef");
        assert_value(block, sizeof block, "0123456789abcdef");
    }
}

static void an_environment_that_may_not_be_read_is_not_an_empty_one(void **state)
{
    (void)state;
    char *value;
    assert_false(proc_environ_value(AT_FDCWD, "/proc/self/no-environ", "TARE_JOB", &value));
    assert_null(value);
}

static void the_cgroup_of_each_hierarchy_is_found(void **state)
{
    (void)state;
    static const char text[] =
        "12:cpu,cpuacct:/a\n9:name=systemd:/s\n6:freezer:/f/g h\n0::/own: it\n";
    char path[64];
    assert_true(proc_cgroup_path(text, sizeof text - 1, NULL, path, sizeof path));
    assert_string_equal(path, "/own: it");
    assert_true(proc_cgroup_path(text, sizeof text - 1, "freezer", path, sizeof path));
    assert_string_equal(path, "/f/g h");
    assert_true(proc_cgroup_path(text, sizeof text - 1, "cpuacct", path, sizeof path));
    assert_string_equal(path, "/a");
    assert_false(proc_cgroup_path(text, sizeof text - 1, "memory", path, sizeof path));
    assert_false(proc_cgroup_path(text, sizeof text - 1, NULL, path, 5));
    assert_false(proc_cgroup_path("10::/x\n", 7, NULL, path, sizeof path));
}

static void a_number_stands_behind_its_whole_key(void **state)
{
    (void)state;
    static const char text[] =
        "usage_usec_x 1\nusage_usec 42\npopulated 0\nVmHWM:\t    1234 kB\nnone x";
    uint64_t number = 0;
    assert_true(proc_keyed_number(text, sizeof text - 1, "usage_usec", &number));
    assert_int_equal(number, 42);
    assert_true(proc_keyed_number(text, sizeof text - 1, "VmHWM:", &number));
    assert_int_equal(number, 1234);
    assert_false(proc_keyed_number(text, sizeof text - 1, "none", &number));
    assert_false(proc_keyed_number(text, sizeof text - 1, "usec", &number));
    uint64_t run_ns = 0, waited_ns = 0;
    assert_true(proc_schedstat_parse("539588169 4765190 113\n", 22, &run_ns, &waited_ns));
    assert_int_equal(run_ns, 539588169);
    assert_int_equal(waited_ns, 4765190);
    assert_false(proc_schedstat_parse("5 6\n", 4, &run_ns, &waited_ns));
    assert_false(proc_schedstat_parse("5 -6 7\n", 7, &run_ns, &waited_ns));
    assert_false(proc_schedstat_parse("", 0, &run_ns, &waited_ns));
}

static void the_pids_of_nested_namespaces_are_counted(void **state)
{
    (void)state;
    static const char text[] = "Name:\tx\nNSpid:\t4711\t12\t1\nNSpgid:\t1\n";
    size_t depth = 0;
    pid_t innermost = 0;
    assert_true(proc_status_nspid(text, sizeof text - 1, &depth, &innermost));
    assert_int_equal(depth, 3);
    assert_int_equal(innermost, 1);
    assert_false(proc_status_nspid("Name:\tx\n", 8, &depth, &innermost));
}

static void numbers_are_digits_within_their_bound(void **state)
{
    (void)state;
    uint64_t number = 0;
    assert_true(proc_number_parse("18446744073709551615", 20, UINT64_MAX, &number));
    assert_true(number == UINT64_MAX);
    assert_false(proc_number_parse("18446744073709551616", 20, UINT64_MAX, &number));
    assert_true(proc_number_parse("100", 3, 100, &number));
    assert_false(proc_number_parse("101", 3, 100, &number));
    assert_false(proc_number_parse("", 0, 100, &number));
    assert_false(proc_number_parse("-1", 2, 100, &number));
    assert_false(proc_number_parse("1 ", 2, 100, &number));
}

static void this_process_reads_as_itself(void **state)
{
    (void)state;
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct proc_stat stat;
    char small[4];
    assert_true(proc >= 0);
    assert_true(proc_stat_read(proc, getpid(), &stat));
    assert_int_equal(stat.pid, getpid());
    assert_int_equal(stat.ppid, getppid());
    assert_int_equal(stat.session, getsid(0));
    assert_int_equal(proc_read_at(proc, "self/stat", small, sizeof small), 3);
    assert_int_equal(proc_read_at(proc, "self/no-such-file", small, sizeof small), -1);
    assert_int_equal(errno, ENOENT);
    close(proc);
}

static void a_listing_gives_the_processes_and_nothing_else(void **state)
{
    (void)state;
    static const char *const names[] = {"1",   "42",   "2147483647", "0", "2147483648",
                                        "12a", "self", "-3",         ".7"};
    char folder[] = "/tmp/tare_procfs_XXXXXX";
    assert_non_null(mkdtemp(folder));
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(mkdirat(dirfd(listing), names[i], 0700), 0);
    size_t count = 0;
    int64_t sum = 0;
    for (pid_t pid; (pid = proc_next_pid(listing)); count++)
        sum += pid;
    assert_int_equal(errno, 0);
    assert_int_equal(count, 3);
    assert_int_equal(sum, INT64_C(2147483647) + 43);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlinkat(dirfd(listing), names[i], AT_REMOVEDIR);
    closedir(listing);
    rmdir(folder);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stat_line_gives_its_fields),
        cmocka_unit_test(a_hostile_name_does_not_shift_the_fields),
        cmocka_unit_test(what_is_cut_or_no_number_is_refused),
        cmocka_unit_test(only_a_zombie_without_other_threads_is_dead),
        cmocka_unit_test(a_variable_is_found_by_its_whole_name),
        cmocka_unit_test(a_variable_is_found_wherever_an_environment_is_cut_into_pieces),
        cmocka_unit_test(an_environment_that_may_not_be_read_is_not_an_empty_one),
        cmocka_unit_test(the_cgroup_of_each_hierarchy_is_found),
        cmocka_unit_test(a_number_stands_behind_its_whole_key),
        cmocka_unit_test(the_pids_of_nested_namespaces_are_counted),
        cmocka_unit_test(numbers_are_digits_within_their_bound),
        cmocka_unit_test(a_listing_gives_the_processes_and_nothing_else),
        cmocka_unit_test(this_process_reads_as_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
