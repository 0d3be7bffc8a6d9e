/* What a process that is nobody's job uses, with its descendants: of real processes that do what
 * they are told. */
#include "machine/contain/job.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/clock.h"
#include "base/procfs.h"
#include "machine/sensors/host_job.h"
#include "machine/sensors/host_parse.h"

#include "tests/unit/machine/sysroot.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

/* A root, its child, and that one's child. */
enum { ROOT, CHILD, GRANDCHILD, PUPPETS };

static const double BURN_S = 0.2;

struct family {
    pid_t pids[PUPPETS];
    int ends[PUPPETS];   /* the test's, to tell each what to do */
    int theirs[PUPPETS]; /* the puppets' */
    uint64_t start_time; /* of the root */
};

static void burn(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    double until_s = (double)used.tv_sec + (double)used.tv_nsec / 1e9 + BURN_S;
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    while ((double)used.tv_sec + (double)used.tv_nsec / 1e9 < until_s);
}

static uint64_t written_by_itself(void)
{
    char bytes[1024];
    uint64_t read_bytes = 0, written_bytes = 0;
    AUTO_CLOSE int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
    ssize_t length = read(fd, bytes, sizeof bytes);
    if (length <= 0 || !host_io_parse(bytes, (size_t)length, &read_bytes, &written_bytes))
        _exit(4);
    return written_bytes;
}

/* A MiB into a file that has no name; how much of it the kernel says went to storage. */
static uint64_t write_file(void)
{
    char bytes[4096] = {1};
    char path[] = "/tmp/meter-XXXXXX";
    uint64_t before = written_by_itself();
    AUTO_CLOSE int fd = mkstemp(path);
    unlink(path);
    for (int i = 0; i < 256; i++)
        if (write(fd, bytes, sizeof bytes) != (ssize_t)sizeof bytes)
            _exit(4);
    fsync(fd);
    return written_by_itself() - before;
}

static void born(struct family *family, int which);

/* b: burns; f: bears the next one; w: waits for a child's end; i: writes; x: ends. Answers each but
 * the last. */
static _Noreturn void puppet(struct family *family, int which)
{
    char order;
    /* Its own copies of the test's ends are closed: so it ends by itself when the test dies. */
    for (int i = 0; i < PUPPETS; i++)
        close(family->ends[i]);
    while (read(family->theirs[which], &order, 1) == 1) {
        uint64_t answer = 0;
        if (order == 'b')
            burn();
        else if (order == 'f')
            born(family, which + 1);
        else if (order == 'w' && waitpid(-1, NULL, 0) < 0)
            _exit(3);
        else if (order == 'i')
            answer = write_file();
        else if (order == 'x')
            _exit(0);
        if (order == 'f')
            answer = (uint64_t)family->pids[which + 1];
        if (write(family->theirs[which], &answer, sizeof answer) != (ssize_t)sizeof answer)
            _exit(2);
    }
    _exit(1);
}

static void born(struct family *family, int which)
{
    family->pids[which] = fork();
    if (family->pids[which] == 0)
        puppet(family, which);
}

/* Until it waits for its next order: while it is on a CPU, the kernel has not told all of its CPU
 * time yet. */
static void await_sleep(pid_t pid)
{
    AUTO_CLOSE int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct proc_stat stat;
    for (int64_t until_ns = clock_monotonic_ns() + 60 * NS_PER_S; clock_monotonic_ns() < until_ns;
         poll(NULL, 0, 1))
        if (proc_stat_read(proc, pid, &stat) && stat.state == 'S')
            return;
    fail_msg("process %d does not come to rest", (int)pid);
}

static uint64_t told(struct family *family, int which, char order)
{
    uint64_t answer = 0;
    assert_int_equal(write(family->ends[which], &order, 1), 1);
    if (order == 'x')
        return 0;
    assert_int_equal(read(family->ends[which], &answer, sizeof answer), sizeof answer);
    if (order == 'f') {
        assert_in_range(which + 1, 1, PUPPETS - 1);
        family->pids[which + 1] = (pid_t)answer;
    }
    await_sleep(family->pids[which]);
    return answer;
}

static void family_begin(struct family *family)
{
    for (int i = 0; i < PUPPETS; i++) {
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        family->ends[i] = pair[0];
        family->theirs[i] = pair[1];
    }
    born(family, ROOT);
    assert_true(family->pids[ROOT] > 0);
    assert_true(process_start_time(family->pids[ROOT], &family->start_time));
}

static void family_end(struct family *family)
{
    kill(family->pids[ROOT], SIGKILL);
    assert_int_equal(waitpid(family->pids[ROOT], NULL, 0), family->pids[ROOT]);
    for (int i = 0; i < PUPPETS; i++) {
        close(family->ends[i]);
        close(family->theirs[i]);
    }
}

static double two_ticks(void)
{
    return 2 / (double)sysconf(_SC_CLK_TCK);
}

/* CPU time comes in clock ticks, rounded down for user and system apart. */
static void assert_burnt(const struct host_job_figures *figures, int times)
{
    assert_true(figures->cpu_s.valid);
    assert_true(figures->cpu_s.value >= times * (BURN_S - two_ticks()));
}

static void what_was_used_before_does_not_count_and_what_children_use_does(void **state)
{
    (void)state;
    struct family family;
    struct host_job_figures figures;
    family_begin(&family);
    told(&family, ROOT, 'b');
    told(&family, ROOT, 'f');
    told(&family, CHILD, 'b');
    struct host_job *job = host_job_new_tree("", family.pids[ROOT], family.start_time);
    host_job_sample(job, &figures);
    assert_true(figures.cpu_s.valid);
    assert_true(figures.cpu_s.value == 0);
    assert_true(figures.processes.value == 2); /* the root is one of them */
    told(&family, CHILD, 'b');
    host_job_sample(job, &figures);
    assert_burnt(&figures, 1);
    told(&family, CHILD, 'f');
    told(&family, GRANDCHILD, 'b');
    told(&family, GRANDCHILD, 'x');
    told(&family, CHILD, 'w');
    host_job_sample(job, &figures); /* born, gone and waited for between two samples */
    assert_burnt(&figures, 2);
    assert_true(figures.processes.value == 2);
    told(&family, CHILD, 'x');
    told(&family, ROOT, 'w');
    double before_s = figures.cpu_s.value;
    host_job_sample(job, &figures);
    assert_true(figures.cpu_s.value >= before_s - two_ticks());
    assert_true(figures.processes.value == 1);
    assert_true(figures.processes_peak.value == 2);
    told(&family, ROOT, 'b');
    host_job_sample(job, &figures);
    assert_burnt(&figures, 3);
    host_job_free(job);
    family_end(&family);
}

static void one_that_lost_its_parent_is_followed_and_its_time_stays_when_it_ends(void **state)
{
    (void)state;
    struct family family;
    struct host_job_figures figures;
    family_begin(&family);
    told(&family, ROOT, 'f');
    pid_t grandchild = (pid_t)told(&family, CHILD, 'f');
    struct host_job *job = host_job_new_tree("", family.pids[ROOT], family.start_time);
    host_job_sample(job, &figures);
    assert_true(figures.processes.value == 3);
    told(&family, CHILD, 'x');
    told(&family, ROOT, 'w');
    /* The test has adopted it (main). */
    told(&family, GRANDCHILD, 'b');
    host_job_sample(job, &figures);
    assert_true(figures.processes.value == 2);
    assert_burnt(&figures, 1);
    told(&family, GRANDCHILD, 'x');
    assert_int_equal(waitpid(grandchild, NULL, 0), grandchild);
    host_job_sample(job, &figures);
    assert_true(figures.processes.value == 1);
    assert_burnt(&figures, 1);
    told(&family, ROOT, 'b');
    host_job_sample(job, &figures);
    assert_burnt(&figures, 2);
    host_job_free(job);
    family_end(&family);
}

static void what_was_written_is_what_the_writer_itself_is_told(void **state)
{
    (void)state;
    struct family family;
    struct host_job_figures figures;
    family_begin(&family);
    told(&family, ROOT, 'f');
    told(&family, ROOT, 'i');
    struct host_job *job = host_job_new_tree("", family.pids[ROOT], family.start_time);
    host_job_sample(job, &figures);
    if (!figures.written_bytes.valid) {
        host_job_free(job);
        family_end(&family);
        skip(); /* a machine that shows nobody's I/O */
    }
    assert_true(figures.written_bytes.value == 0);
    double written = (double)told(&family, CHILD, 'i');
    host_job_sample(job, &figures);
    assert_true(figures.written_bytes.value == written);
    told(&family, CHILD, 'x');
    told(&family, ROOT, 'w');
    host_job_sample(job, &figures);
    assert_true(figures.written_bytes.value == written);
    host_job_free(job);
    family_end(&family);
}

static void what_may_not_be_seen_is_absent_and_counted(void **state)
{
    const struct sysroot *root = *state;
    struct family family;
    struct host_job_figures figures;
    char path[64];
    family_begin(&family);
    snprintf(path, sizeof path, "/proc/%d/statm", (int)family.pids[ROOT]);
    sysroot_file(root, path, "3000 100 5 1 0 5 0\n");
    snprintf(path, sizeof path, "/proc/%d/io", (int)family.pids[ROOT]);
    sysroot_file(root, path, "not for you\n");
    struct host_job *job = host_job_new_tree(root->top, family.pids[ROOT], family.start_time);
    host_job_sample(job, &figures);
    assert_true(figures.memory_bytes.valid);
    assert_true(figures.memory_bytes.value == 100 * (double)sysconf(_SC_PAGESIZE));
    assert_true(figures.memory_peak_bytes.value == figures.memory_bytes.value);
    assert_false(figures.memory_charged);
    assert_false(figures.read_bytes.valid || figures.written_bytes.valid);
    assert_int_equal(figures.io_refused, 1);
    host_job_free(job);

    /* Another process with this number is none of it. */
    job = host_job_new_tree("", family.pids[ROOT], family.start_time + 1);
    host_job_sample(job, &figures);
    assert_false(figures.processes.valid || figures.cpu_s.valid || figures.memory_bytes.valid);
    host_job_free(job);
    family_end(&family);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_used_before_does_not_count_and_what_children_use_does),
        cmocka_unit_test(one_that_lost_its_parent_is_followed_and_its_time_stays_when_it_ends),
        cmocka_unit_test(what_was_written_is_what_the_writer_itself_is_told),
        cmocka_unit_test_setup_teardown(what_may_not_be_seen_is_absent_and_counted, sysroot_setup,
                                        sysroot_teardown),
    };
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
