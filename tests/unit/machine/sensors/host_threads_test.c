#include "machine/contain/job.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "machine/sensors/host_job.h"
#include "machine/sensors/host_threads.h"

#include "tests/unit/machine/sysroot.h"

static void schedstat_file(const struct sysroot *root, int pid, int tid, const char *text)
{
    char path[80];
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", pid, tid);
    sysroot_file(root, path, text);
}

static void sample_threads(const struct sysroot *root, struct host_threads *threads)
{
    host_threads_begin(threads);
    host_threads_add(threads, root->top, 101, true);
    host_threads_add(threads, root->top, 105, false);
    host_threads_end(threads);
}

static void run_queue_delays_of_all_threads_are_added_up_those_that_ended_too(void **state)
{
    const struct sysroot *root = *state;
    AUTO(host_threads_fini) struct host_threads threads = {0};
    schedstat_file(root, 101, 101, "5000 100 7\n");
    schedstat_file(root, 101, 102, "3000 20 7\n");
    schedstat_file(root, 105, 105, "800 9 1\n");
    schedstat_file(root, 105, 106, "no number\n");
    sample_threads(root, &threads);
    struct host_thread sum = host_threads_sum(&threads);
    assert_int_equal(sum.run_ns, 8800);
    assert_int_equal(sum.waited_ns, 129);
    /* 102 goes on; 105 was given to another thread, which has run less. */
    schedstat_file(root, 101, 102, "4000 25 9\n");
    schedstat_file(root, 105, 105, "300 4 1\n");
    sample_threads(root, &threads);
    sum = host_threads_sum(&threads);
    assert_int_equal(sum.run_ns, 5000 + 4000 + 800 + 300);
    assert_int_equal(sum.waited_ns, 100 + 25 + 9 + 4);
    threads.first.waited_ns = 1100; /* its last figures */
    assert_int_equal(host_threads_sum(&threads).waited_ns, 1138);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            run_queue_delays_of_all_threads_are_added_up_those_that_ended_too, sysroot_setup,
            sysroot_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
