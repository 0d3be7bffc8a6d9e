#include "machine/sensors/host_others.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void assert_near(struct reading reading, double value)
{
    assert_true(reading.valid);
    assert_true(fabs(reading.value - value) < 1e-9);
}

/* /proc/PID/stat of a played machine: so many ticks of its own. */
static void play_process(const char *root, int pid, int parent, unsigned ticks)
{
    AUTO_FREE char *folder = mem_printf("%s/proc/%d", root, pid),
                   *path = mem_printf("%s/stat", folder);
    AUTO_FREE char *proc = mem_printf("%s/proc", root);
    (void)mkdir(proc, 0700);
    (void)mkdir(folder, 0700);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file, "%d (some (odd) name) S %d %d %d 0 -1 0 0 0 0 0 %u 0 0 0 20 0 1 0 77 0 0\n", pid,
            parent, pid, pid, ticks);
    fclose(file);
}

/* Else all that others ever used would be taken for what they used meanwhile. */
static void when_the_beginning_could_not_be_read_nothing_is_known_of_others(void **state)
{
    (void)state;
    char root[] = "/tmp/others.XXXXXX";
    assert_non_null(mkdtemp(root));
    struct host_others *others = host_others_new(root);
    host_others_begin(others);
    play_process(root, 900003, 1, 50);
    assert_false(host_others_s(others).valid);
    host_others_free(others);
    AUTO_FREE char *command = mem_printf("rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

static void of_other_processes_only_what_is_not_our_own_counts(void **state)
{
    (void)state;
    char root[] = "/tmp/others.XXXXXX";
    assert_non_null(mkdtemp(root));
    int self = (int)getpid();
    double tick_s = 1 / (double)sysconf(_SC_CLK_TCK);
    play_process(root, self, 1, 100);
    play_process(root, 900001, self, 10);   /* a job */
    play_process(root, 900002, 900001, 10); /* and its worker */
    play_process(root, 900003, 1, 50);      /* somebody else's */
    struct host_others *others = host_others_new(root);
    host_others_begin(others);
    assert_true(host_others_s(others).valid && host_others_s(others).value == 0);
    struct host_other nothing;
    assert_false(host_others_busiest(others, &nothing));
    play_process(root, self, 1, 200);
    play_process(root, 900001, self, 60);
    play_process(root, 900002, 900001, 70);
    assert_true(host_others_s(others).value == 0);
    play_process(root, 900003, 1, 53);
    play_process(root, 900004, 900003, 4); /* born meanwhile */
    assert_near(host_others_s(others), 7 * tick_s);
    struct host_other busiest;
    assert_true(host_others_busiest(others, &busiest));
    assert_string_equal(busiest.command, "some (odd) name");
    assert_int_equal(busiest.processes, 2);
    assert_int_equal(busiest.pid, 900004);
    assert_true(fabs(busiest.cpu_s - 7 * tick_s) < 1e-9 && *busiest.user);
    host_others_free(others);
    AUTO_FREE char *command = mem_printf("rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

/* One that is no descendant: its parent is gone before it begins. */
static void the_time_of_a_stranger_is_seen_to_the_millisecond(void **state)
{
    (void)state;
    struct stat status;
    if (stat("/proc/self/ns/pid", &status) != 0 || status.st_ino != 0xEFFFFFFC) {
        print_message("# not in the first pid namespace\n");
        skip();
    }
    struct host_others *others = host_others_new("");
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    host_others_begin(others);
    pid_t child = fork();
    if (child == 0) {
        if (fork() > 0)
            _exit(0);
        struct timespec used = {0};
        while (used.tv_sec == 0 && used.tv_nsec < 30000000)
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        (void)!write(ready[1], "x", 1);
        sleep(2); /* it lives while it is looked at */
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    struct reading seen = host_others_s(others);
    assert_true(seen.valid && seen.value >= 0.030);
    host_others_free(others);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(when_the_beginning_could_not_be_read_nothing_is_known_of_others),
        cmocka_unit_test(of_other_processes_only_what_is_not_our_own_counts),
        cmocka_unit_test(the_time_of_a_stranger_is_seen_to_the_millisecond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
