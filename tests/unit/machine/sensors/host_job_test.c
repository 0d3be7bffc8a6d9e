/* What a job uses: from files like a cgroup's, and of real processes. */
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

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

static void assert_value(struct reading reading, double value)
{
    assert_true(reading.valid);
    assert_true(reading.value == value);
}

/* The init is 100, its job 101 and, in a cgroup below, 102. */
static char *leaf_make(const struct sysroot *root)
{
    sysroot_file(root, "/leaf/cpu.stat", "usage_usec 12250000\nuser_usec 1\nsystem_usec 1\n");
    sysroot_file(root, "/leaf/cgroup.procs", "100\n101\n");
    sysroot_file(root, "/leaf/below/cgroup.procs", "102\n");
    sysroot_file(root, "/proc/100/statm", "300 10 5 1 0 5 0\n");
    sysroot_file(root, "/proc/101/statm", "30000 2000 5 1 0 5 0\n");
    sysroot_file(root, "/proc/102/statm", "30000 500 5 1 0 5 0\n");
    return mem_printf("%s/leaf", root->top);
}

static void io_file(const struct sysroot *root, int pid, unsigned long long read_bytes,
                    unsigned long long written_bytes)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/io", pid);
    AUTO_FREE char *text = mem_printf("rchar: 1\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: "
                                      "%llu\nwrite_bytes: %llu\ncancelled_write_bytes: 0\n",
                                      read_bytes, written_bytes);
    sysroot_file(root, path, text);
}

static void a_cgroup_with_controllers_tells_it_all(void **state)
{
    const struct sysroot *root = *state;
    AUTO_FREE char *leaf = leaf_make(root);
    struct host_job_figures figures;
    sysroot_file(root, "/leaf/memory.current", "50000000\n");
    sysroot_file(root, "/leaf/memory.peak", "90000000\n");
    sysroot_file(root, "/leaf/io.stat",
                 "259:0 rbytes=1000 wbytes=200 rios=1 wios=1 dbytes=0 dios=0\n"
                 "253:0 rbytes=1000 wbytes=200 rios=1 wios=1 dbytes=0 dios=0\n"
                 "8:0 rbytes=30 wbytes=4 rios=1 wios=1 dbytes=0 dios=0\n");
    /* made of 259:0: the same bytes */
    sysroot_file(root, "/sys/dev/block/253:0/slaves/nvme0n1", "");
    struct host_job *job =
        host_job_new(root->top, &(struct job_identity){.pid = 100, .cgroup = leaf});
    host_job_sample(job, &figures);
    assert_value(figures.cpu_s, 12.25);
    assert_value(figures.memory_bytes, 50000000);
    assert_value(figures.memory_peak_bytes, 90000000);
    assert_true(figures.memory_charged);
    assert_value(figures.read_bytes, 1030);
    assert_value(figures.written_bytes, 204);
    assert_value(figures.processes, 2);
    host_job_free(job);
}

static void without_controllers_its_processes_are_added_up(void **state)
{
    const struct sysroot *root = *state;
    AUTO_FREE char *leaf = leaf_make(root);
    struct host_job_figures figures;
    double page = (double)sysconf(_SC_PAGESIZE);
    io_file(root, 100, 4096, 0);
    io_file(root, 101, 8192, 512);
    io_file(root, 102, 1, 2);
    struct host_job *job =
        host_job_new(root->top, &(struct job_identity){.pid = 100, .cgroup = leaf});
    host_job_sample(job, &figures);
    assert_value(figures.memory_bytes, 2510 * page);
    assert_value(figures.memory_peak_bytes, 2510 * page);
    assert_false(figures.memory_charged);
    assert_value(figures.read_bytes, 12289);
    assert_value(figures.written_bytes, 514);

    /* One ends, and what it read has not yet come to its parent: nothing that was used is taken
     * back. */
    sysroot_file(root, "/leaf/below/cgroup.procs", "");
    sysroot_file(root, "/leaf/cgroup.procs", "100\n");
    host_job_sample(job, &figures);
    assert_value(figures.memory_bytes, 10 * page);
    assert_value(figures.memory_peak_bytes, 2510 * page);
    assert_value(figures.read_bytes, 12289);
    assert_value(figures.processes, 0);
    host_job_free(job);
}

static void a_sum_of_which_a_part_may_not_be_read_is_absent(void **state)
{
    const struct sysroot *root = *state;
    AUTO_FREE char *leaf = leaf_make(root);
    struct host_job_figures figures;
    io_file(root, 100, 4096, 0);
    sysroot_file(root, "/proc/101/io", "garbage\n");
    struct host_job *job =
        host_job_new(root->top, &(struct job_identity){.pid = 100, .cgroup = leaf});
    host_job_sample(job, &figures);
    assert_false(figures.read_bytes.valid || figures.written_bytes.valid);
    assert_true(figures.memory_bytes.valid);
    host_job_free(job);
}

static void of_a_job_that_is_gone_the_sums_stay(void **state)
{
    const struct sysroot *root = *state;
    AUTO_FREE char *leaf = leaf_make(root);
    AUTO_FREE char *cpu = mem_printf("%s/cpu.stat", leaf);
    struct host_job_figures figures;
    struct host_job *job =
        host_job_new(root->top, &(struct job_identity){.pid = 100, .cgroup = leaf});
    host_job_sample(job, &figures);
    assert_int_equal(unlink(cpu), 0);
    host_job_sample(job, &figures);
    assert_value(figures.cpu_s, 12.25);
    assert_false(figures.memory_bytes.valid || figures.processes.valid);
    assert_true(figures.memory_peak_bytes.valid);
    host_job_free(job);
}

static void its_cgroup_says_how_long_it_waited_since_the_first_sample(void **state)
{
    const struct sysroot *root = *state;
    AUTO_FREE char *leaf = leaf_make(root);
    struct host_job_figures figures;
    struct host_job *job =
        host_job_new(root->top, &(struct job_identity){.pid = 100, .cgroup = leaf});
    sysroot_file(root, "/leaf/cpu.pressure",
                 "some avg10=0.00 avg60=0.00 avg300=0.00 total=4000000\n");
    sysroot_file(root, "/leaf/io.pressure",
                 "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
                 "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
    host_job_sample(job, &figures);
    assert_value(figures.waited_s[HOST_CPU], 0);
    sysroot_file(root, "/leaf/cpu.pressure",
                 "some avg10=0.00 avg60=0.00 avg300=0.00 total=4750000\n");
    sysroot_file(root, "/leaf/io.pressure",
                 "some avg10=0.00 avg60=0.00 avg300=0.00 total=500000\n"
                 "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
    host_job_sample(job, &figures);
    assert_value(figures.waited_s[HOST_CPU], 0.75);
    assert_value(figures.waited_s[HOST_IO], 0.5);
    assert_false(figures.waited_s[HOST_MEMORY].valid); /* no such file */
    host_job_free(job);
    /* Without a cgroup of its own it is unknown. */
    job = host_job_new(root->top, &(struct job_identity){.pid = 100});
    host_job_sample(job, &figures);
    assert_false(figures.waited_s[HOST_CPU].valid || figures.waited_s[HOST_IO].valid);
    host_job_free(job);
}

/* ---- a real tree: an init, and three workers in sessions of their own, each with 32 MiB that it
 * has touched */
enum { WORKERS = 3, WORKER_BYTES = 32 << 20 };

static void worker(int ready)
{
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char *memory =
        mmap(NULL, WORKER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        _exit(1);
    memset(memory, 1, WORKER_BYTES);
    struct timespec used;
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    while (used.tv_sec == 0 && used.tv_nsec < 100000000);
    if (write(ready, "r", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static pid_t tree_start(int *ready)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    pid_t init = fork();
    assert_true(init >= 0);
    if (init == 0) {
        setsid();
        for (int i = 0; i < WORKERS; i++)
            if (fork() == 0)
                worker(fds[1]);
        close(fds[1]);
        for (;;)
            pause();
    }
    close(fds[1]);
    *ready = fds[0];
    return init;
}

static void real_processes_are_found_and_added_up(void **state)
{
    (void)state;
    struct job_identity identity = {0};
    struct host_job_figures figures;
    int ready;
    char one;
    identity.pid = tree_start(&ready);
    assert_true(process_start_time(identity.pid, &identity.start_time));
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(read(ready, &one, 1), 1);
    struct host_job *job = host_job_new("", &identity);
    host_job_sample(job, &figures);
    assert_value(figures.processes, WORKERS);
    /* Each used at least 0.1 s; clock ticks round down, for user and system time apart. */
    double tick = 1 / (double)sysconf(_SC_CLK_TCK);
    assert_true(figures.cpu_s.valid && figures.cpu_s.value >= WORKERS * (0.1 - 2 * tick));
    assert_true(figures.memory_bytes.valid &&
                figures.memory_bytes.value >= WORKERS * (double)WORKER_BYTES);
    assert_false(figures.memory_charged);
    double cpu_s = figures.cpu_s.value;

    /* the init's own session; the workers have left it */
    assert_int_equal(kill(-identity.pid, SIGKILL), 0);
    assert_int_equal(waitpid(identity.pid, NULL, 0), identity.pid);
    host_job_sample(job, &figures);
    assert_true(figures.cpu_s.value == cpu_s);
    assert_false(figures.processes.valid);
    host_job_free(job);
    close(ready);
}

static double thread_cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void ticks_cost_less_than_a_millisecond_on_the_average(void **state)
{
    (void)state;
    enum { TICKS = 300 };
    struct job_identity identity = {0};
    struct host_job_figures figures = {0};
    int ready;
    size_t sampled = 0;
    identity.pid = tree_start(&ready);
    assert_true(process_start_time(identity.pid, &identity.start_time));
    struct host_job *job = host_job_new("", &identity);
    double begin_s = thread_cpu_s(), dearest_s = 0;
    for (int i = 0; i < TICKS; i++) {
        double before_s = thread_cpu_s();
        sampled += host_job_tick(job, &figures);
        double cost_s = thread_cpu_s() - before_s;
        dearest_s = cost_s > dearest_s ? cost_s : dearest_s;
    }
    assert_true(sampled > 0 && figures.cpu_s.valid);
    /* The last sample may not be paid for yet. */
    assert_true(thread_cpu_s() - begin_s < TICKS * 0.001 + dearest_s);
    kill(-identity.pid, SIGKILL);
    assert_int_equal(waitpid(identity.pid, NULL, 0), identity.pid);
    host_job_free(job);
    close(ready);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_cgroup_with_controllers_tells_it_all, sysroot_setup,
                                        sysroot_teardown),
        cmocka_unit_test_setup_teardown(without_controllers_its_processes_are_added_up,
                                        sysroot_setup, sysroot_teardown),
        cmocka_unit_test_setup_teardown(a_sum_of_which_a_part_may_not_be_read_is_absent,
                                        sysroot_setup, sysroot_teardown),
        cmocka_unit_test_setup_teardown(of_a_job_that_is_gone_the_sums_stay, sysroot_setup,
                                        sysroot_teardown),
        cmocka_unit_test_setup_teardown(its_cgroup_says_how_long_it_waited_since_the_first_sample,
                                        sysroot_setup, sysroot_teardown),
        cmocka_unit_test(real_processes_are_found_and_added_up),
        cmocka_unit_test(ticks_cost_less_than_a_millisecond_on_the_average),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
