/* summary.csv grows by a row at a time: what a row costs, and what is left when somebody is killed
 * or meddles with the file. */
#include "fixture.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static struct store *create_many(const struct run *run, size_t count)
{
    struct err err = {0};
    struct plan plan = {.name = mem_strdup("many"), .count = count};
    plan.experiments = mem_array(count, sizeof *plan.experiments);
    for (size_t i = 0; i < count; i++) {
        plan.experiments[i].id = mem_printf("demo_net_%04zu", i + 1);
        plan.experiments[i].number = i + 1;
        plan.experiments[i].foreground.repo = mem_strdup("demo");
        plan.experiments[i].foreground.model = mem_strdup("net");
        plan.experiments[i].foreground.cwd = mem_strdup("/srv/demo");
        strv_add(&plan.experiments[i].foreground.argv, "/bin/true");
    }
    struct store_head head = {&plan, "{}", 2, "{}", 2, false};
    struct store *store = store_create(run->dir, run->path, &head, &err);
    plan_fini(&plan);
    if (!store)
        fail_msg("%s", err.text);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    return store;
}

static void play(struct store *store, int64_t experiment)
{
    add(store, EVENT_EXPERIMENT_STARTED, experiment, 0, NULL);
    add(store, EVENT_GUARD, experiment, 0, "{'phase': 'preflight', 'devices': []}");
    play_attempt(store, experiment, 1, true);
    add(store, EVENT_EXPERIMENT_ENDED, experiment, 0,
        "{'outcome': 'succeeded', 'retries': 0, 'duration_s': 1.0}");
    store_write_results(store, (size_t)experiment, NULL, NULL);
    assert_true(store_flush(store, NULL));
}

/* Bytes that this process has given to write() and taken by read(), of all its threads; and its CPU
 * time. */
struct cost {
    double written, read, cpu_s;
};

static struct cost cost_now(void)
{
    struct cost cost = {0};
    struct timespec cpu;
    AUTO_FILE FILE *io = fopen("/proc/self/io", "r");
    assert_non_null(io);
    assert_int_equal(fscanf(io, "rchar: %lf wchar: %lf", &cost.read, &cost.written), 2);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    cost.cpu_s = (double)cpu.tv_sec + (double)cpu.tv_nsec * 1e-9;
    return cost;
}

/* As play, with a commit for each event: how many share one otherwise depends on when the store's
 * thread gets a processor. */
static void play_slowly(struct store *store, int64_t experiment)
{
    static const struct {
        enum event_type type;
        int attempt;
        const char *data;
    } events[] = {
        {EVENT_EXPERIMENT_STARTED, 0, NULL},
        {EVENT_GUARD, 0, "{'phase': 'preflight', 'devices': []}"},
        {EVENT_ATTEMPT_PREPARED, 1, "{'folder': 'f'}"},
        {EVENT_JOB_BORN, 1,
         "{'role': 'foreground', 'pid': 4711, 'start_time': 99, 'boot_id': 'b-1', 'cgroup': "
         "'/cg/x', 'tag': 't-1', "
         "'layers': []}"},
        {EVENT_ATTEMPT_STARTED, 1, NULL},
        {EVENT_ATTEMPT_STOPPING, 1, "{'reason': 'exited'}"},
        {EVENT_JOB_EXITED, 1,
         "{'exit_code': 0, 'cpu_s': 0.25, 'peak_memory_bytes': 4096, 'processes': 2}"},
        {EVENT_JOB_PROVEN, 1, "{'leftovers': [], 'survivors': [], 'seconds': 0.01}"},
        {EVENT_ATTEMPT_ENDED, 1,
         "{'outcome': 'succeeded', 'duration_s': 1.0, 'exit_code': 0, 'reason': 'exited', "
         "'metrics': {'accuracy': "
         "97.5, 'loss': null}, 'log': {'bytes': 120, 'lines': 4}}"},
        {EVENT_EXPERIMENT_ENDED, 0, "{'outcome': 'succeeded', 'retries': 0, 'duration_s': 1.0}"},
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        add(store, events[i].type, experiment, events[i].attempt, events[i].data);
        assert_true(store_flush(store, NULL));
    }
    store_write_results(store, (size_t)experiment, NULL, NULL);
    assert_true(store_flush(store, NULL));
}

/* CPU time as if all had gone as its fastest twentieth did: what else the machine does makes some
 * slower. */
static struct cost cost_of(struct store *store, int64_t first, int64_t count)
{
    enum { PARTS = 20 };
    struct cost before = cost_now(), then = before, after = before;
    double least_s = INFINITY;
    for (int64_t i = 0; i < count; i++) {
        play_slowly(store, first + i);
        if ((i + 1) % (count / PARTS) != 0)
            continue;
        after = cost_now();
        least_s = fmin(least_s, after.cpu_s - then.cpu_s);
        then = after;
    }
    return (struct cost){after.written - before.written, after.read - before.read, PARTS * least_s};
}

static void an_experiment_costs_the_same_however_many_were_before_it(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = create_many(&run, 700);
    struct cost first = cost_of(store, 1, 100);
    cost_of(store, 101, 500);
    struct cost last = cost_of(store, 601, 100);
    /* Two summaries of 600 rows of about 90 bytes would be 108,000 bytes for each of them, where it
     * takes some 126,000. */
    if (last.written > 1.2 * first.written || last.read > 1.5 * first.read + 1e6)
        fail_msg("100 experiments write %.0f bytes, then %.0f; read %.0f, then %.0f", first.written,
                 last.written, first.read, last.read);
    /* CPU time, which a busy machine lengthens by sharing a processor's caches and units; what
     * reads all that was before took ten times as long. */
    if (last.cpu_s > 4 * first.cpu_s)
        fail_msg("100 experiments take %.3f s of CPU, then %.3f s", first.cpu_s, last.cpu_s);
    fixture_close(store);
    char *text = run_read(&run, "summary.csv");
    size_t lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 701);
    free(text);
    run_remove(&run);
}

static ino_t inode_of(const struct run *run, const char *name)
{
    struct stat status;
    assert_int_equal(fstatat(run->dir, name, &status, 0), 0);
    return status.st_ino;
}

static void a_row_is_appended_to_the_file_that_is_there(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = create_many(&run, 3);
    play(store, 1);
    AUTO_FREE char *before = run_read(&run, "summary.csv");
    ino_t inode = inode_of(&run, "summary.csv"), safe = inode_of(&run, "summary_safe.csv");
    play(store, 2);
    AUTO_FREE char *after = run_read(&run, "summary.csv");
    assert_memory_equal(after, before, strlen(before));
    assert_int_equal(strncmp(after + strlen(before), "demo_net_0002,", 14), 0);
    assert_true(inode_of(&run, "summary.csv") == inode &&
                inode_of(&run, "summary_safe.csv") == safe);
    fixture_close(store);
    run_remove(&run);
}

/* Plays two of three experiments, and dies without a word. */
static void play_and_die(const struct run *run)
{
    pid_t child = fork();
    int status = -1;
    if (child == 0) {
        struct store *store = create_many(run, 3);
        play(store, 1);
        play(store, 2);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void what_a_killed_runner_left_is_whole_again_when_the_run_is_opened(void **state)
{
    (void)state;
    static const char *const names[] = {"summary.csv", "summary_safe.csv"};
    for (int cut = 0; cut < 3; cut++) {
        struct run run;
        char path[512];
        run_make(&run);
        play_and_die(&run);
        char *whole[2] = {run_read(&run, names[0]), run_read(&run, names[1])};
        assert_non_null(strstr(whole[1], "\ndemo_net_0002,"));
        for (size_t i = 0; i < 2; i++) {
            run_path(&run, names[i], path);
            off_t length = (off_t)strlen(whole[i]),
                  last = strstr(whole[i], "demo_net_0002") - whole[i];
            /* In the middle of the last row; a row too few; zeros for the end of it, as a power cut
             * may leave them. */
            assert_int_equal(truncate(path, cut == 1 ? last : length - 9), 0);
            if (cut == 2)
                assert_int_equal(truncate(path, length), 0);
        }
        fixture_close(fixture_open(&run));
        for (size_t i = 0; i < 2; i++) {
            char *now = run_read(&run, names[i]);
            assert_string_equal(now, whole[i]);
            free(now);
            free(whole[i]);
        }
        run_remove(&run);
    }
}

static void a_file_that_somebody_changed_is_made_anew_with_the_next_row(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        struct run run;
        char path[512];
        run_make(&run);
        struct store *store = create_many(&run, 3);
        play(store, 1);
        run_path(&run, "summary.csv", path);
        if (how == 0)
            assert_int_equal(unlink(path), 0);
        else if (how == 1)
            assert_int_equal(truncate(path, 10), 0);
        else
            assert_true(unlink(path) == 0 && symlink("/dev/null", path) == 0);
        play(store, 2);
        AUTO_FREE char *text = run_read(&run, "summary.csv");
        assert_int_equal(strncmp(text, "experiment_id,", 14), 0);
        assert_non_null(strstr(text, "\ndemo_net_0001,"));
        assert_non_null(strstr(text, "\ndemo_net_0002,"));
        struct err err = {0};
        assert_false(store_close(store, &err));
        assert_non_null(
            strstr(err.text, "another program changed records of this run: summary.csv"));
        run_remove(&run);
    }
}

static void evidence_after_the_end_takes_the_row_out_of_the_safe_ones(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = create_many(&run, 3);
    play(store, 1);
    play(store, 2);
    add(store, EVENT_EVIDENCE, 1, 1, "{'kind': 'foreign_process', 'text': 'pid 7 python'}");
    play(store, 3);
    fixture_close(store);
    AUTO_FREE char *all = run_read(&run, "summary.csv"), *safe = run_read(&run, "summary_safe.csv");
    assert_non_null(strstr(all, "\ndemo_net_0001,"));
    assert_null(strstr(safe, "demo_net_0001"));
    AUTO_FREE char *affected = run_read(&run, "summary_affected.csv");
    assert_non_null(strstr(affected, "\ndemo_net_0001,"));
    assert_null(strstr(affected, "demo_net_0002"));
    assert_non_null(strstr(safe, "\ndemo_net_0002,"));
    assert_true(strstr(all, "demo_net_0001") < strstr(all, "demo_net_0002") &&
                strstr(all, "demo_net_0002") < strstr(all, "demo_net_0003"));
    run_remove(&run);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_experiment_costs_the_same_however_many_were_before_it),
        cmocka_unit_test(a_row_is_appended_to_the_file_that_is_there),
        cmocka_unit_test(what_a_killed_runner_left_is_whole_again_when_the_run_is_opened),
        cmocka_unit_test(a_file_that_somebody_changed_is_made_anew_with_the_next_row),
        cmocka_unit_test(evidence_after_the_end_takes_the_row_out_of_the_safe_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
