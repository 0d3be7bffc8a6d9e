/* Reading a run: finished, live or crashed, without changing a byte of it. */
#include "fixture.h"
#include "results/store/results.h"

#include "base/fs.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static void play_two(struct store *store)
{
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    play_attempt(store, 1, 1, true);
    add(store, EVENT_EXPERIMENT_ENDED, 1, 0,
        "{'outcome': 'succeeded', 'retries': 0, 'duration_s': 1.0, 'metrics': {'accuracy': 97.5, "
        "'loss': null}}");
    add(store, EVENT_EXPERIMENT_STARTED, 2, 0, NULL);
    play_attempt(store, 2, 1, false);
    play_attempt(store, 2, 2, false);
    add(store, EVENT_JOB_PROVEN, 2, 2, "{'leftovers': [], 'survivors': [{'pid': 1}, {'pid': 2}]}");
    add(store, EVENT_EXPERIMENT_ENDED, 2, 0,
        "{'outcome': 'failed', 'retries': 1, 'duration_s': 2.5, 'error': 'exit code 1', 'metrics': "
        "{}}");
}

static void assert_two(const struct results *results)
{
    assert_int_equal(results->count, 3);
    assert_int_equal(results->plan.count, 3);
    assert_int_equal(results->plan.seed, 42);
    const struct result *one = &results->items[0];
    assert_int_equal(one->number, 1);
    assert_string_equal(one->id, "demo_net_001");
    assert_int_equal(one->state, STATE_DONE);
    assert_int_equal(one->outcome, OUTCOME_SUCCEEDED);
    assert_int_equal(one->retries, 0);
    assert_true(one->duration_s == 1.0);
    assert_true(one->ended_realtime_ns == START_NS);
    assert_null(one->error);
    assert_int_equal(one->metric_count, 2);
    assert_string_equal(one->metrics[0].name, "loss"); /* in the registry's order */
    assert_false(one->metrics[0].valid);
    assert_string_equal(one->metrics[1].name, "accuracy");
    assert_true(one->metrics[1].valid);
    assert_true(one->metrics[1].value == 97.5);
    assert_true(one->layers.known);
    assert_int_equal(one->leftover_count, 1);
    assert_int_equal(one->survivor_count, 0);
    const struct result *two = &results->items[1];
    assert_int_equal(two->outcome, OUTCOME_FAILED);
    assert_int_equal(two->retries, 1);
    assert_string_equal(two->error, "exit code 1");
    assert_int_equal(two->leftover_count, 1); /* the first attempt's; the second proof found none */
    assert_int_equal(two->survivor_count, 2);
    const struct result *three = &results->items[2];
    assert_int_equal(three->state, STATE_PLANNED);
    assert_int_equal(three->outcome, OUTCOME_NONE);
    assert_int_equal(three->ended_realtime_ns, 0);
    assert_false(three->layers.known);
}

/* Names, sizes and bytes of every file of the folder, in no order that matters: summed up. */
static uint64_t fingerprint(const struct run *run)
{
    uint64_t sum = 0;
    DIR *dir = opendir(run->path);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct text text = {0};
        if (entry->d_type != DT_REG)
            continue;
        assert_true(fs_read_at(run->dir, entry->d_name, 1 << 26, &text, NULL));
        uint64_t hash = 14695981039346656037u; /* FNV-1a */
        for (const char *c = entry->d_name; *c; c++)
            hash = (hash ^ (unsigned char)*c) * 1099511628211u;
        for (size_t i = 0; i < text.length; i++)
            hash = (hash ^ (unsigned char)text.data[i]) * 1099511628211u;
        sum += hash;
        text_fini(&text);
    }
    closedir(dir);
    return sum;
}

static void a_finished_run_reads_the_same_before_and_after_closing(void **state)
{
    (void)state;
    struct run run;
    struct results results;
    struct err err = {0};
    run_make(&run);
    struct store *store = fixture_create(&run);
    play_two(store);
    /* what was added counts, flushed or not */
    assert_true(results_from_store(store, &results, &err));
    assert_two(&results);
    results_fini(&results);
    assert_true(results_read(run.path, &results, &err)); /* live, while the runner has it open */
    assert_two(&results);
    results_fini(&results);
    fixture_close(store);
    uint64_t before = fingerprint(&run);
    assert_true(results_read(run.path, &results, &err));
    assert_two(&results);
    results_fini(&results);
    assert_true(before == fingerprint(&run));
    assert_false(run_has(&run, "run.db-wal"));
    assert_false(run_has(&run, "run.db-shm"));
    run_remove(&run);
}

static void a_crashed_run_is_read_whole_and_left_byte_for_byte_as_it_was(void **state)
{
    (void)state;
    struct run run;
    struct results results;
    struct err err = {0};
    run_make(&run);
    pid_t child = fork();
    if (child == 0) {
        struct store *store = fixture_create(&run);
        play_two(store);
        if (!store_flush(store, NULL))
            _exit(1);
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_true(run_has(&run, "run.db-wal"));
    uint64_t before = fingerprint(&run);
    if (!results_read(run.path, &results, &err))
        fail_msg("%s", err.text);
    assert_two(&results);
    results_fini(&results);
    assert_true(before == fingerprint(&run));
    assert_true(run_has(&run, "run.db-wal"));
    /* And the run itself goes on. */
    struct store *store = fixture_open(&run);
    assert_int_equal(store_experiment(store, 2)->outcome, OUTCOME_FAILED);
    fixture_close(store);
    run_remove(&run);
}

/* Checkpoints happen every 1000 pages: with 2,000 events of 4 kB many fall into the reading. */
static void a_run_that_is_being_written_reads_as_of_one_moment(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    fixture_close(store);
    pid_t child = fork();
    if (child == 0) {
        char data[4200];
        memset(data, 'x', sizeof data);
        memcpy(data, "{'kind': 'k', 'text': '", 23);
        memcpy(data + sizeof data - 3, "'}", 3);
        store = fixture_open(&run);
        add_as(store, 2, EVENT_SESSION_STARTED, 0, 0, 0, NULL, NULL, NULL);
        for (int i = 0; i < 2000; i++) {
            add_as(store, 2, EVENT_EVIDENCE, 0, 0, 0, data, NULL, NULL);
            if (i % 4 == 0 && !store_flush(store, NULL))
                _exit(1);
            if (i == 100 && write(ready[1], "", 1) != 1)
                _exit(1);
        }
        _exit(store_close(store, NULL) ? 0 : 1);
    }
    char byte;
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    int status = -1, reads = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        struct results results;
        struct err err = {0};
        if (!results_read(run.path, &results, &err))
            fail_msg("%s", err.text);
        assert_int_equal(results.count, 3);
        results_fini(&results);
        reads++;
    }
    close(ready[0]);
    assert_int_equal(status, 0);
    assert_true(reads > 0);
    run_remove(&run);
}

static void what_is_no_run_is_refused_by_name(void **state)
{
    (void)state;
    struct run run;
    struct results results;
    struct err err = {0};
    run_make(&run);
    assert_false(results_read(run.path, &results, &err));
    assert_non_null(strstr(err.text, run.path));
    assert_non_null(strstr(err.text, "run.db"));
    assert_false(results_read("/nonexistent/run", &results, &err));
    assert_non_null(strstr(err.text, "/nonexistent/run"));
    assert_true(fs_write_atomic(run.dir, "run.db", "this is no database, however long it may go on",
                                46, NULL));
    assert_false(results_read(run.path, &results, &err));
    assert_non_null(strstr(err.text, "not a database"));
    run_remove(&run);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finished_run_reads_the_same_before_and_after_closing),
        cmocka_unit_test(a_crashed_run_is_read_whole_and_left_byte_for_byte_as_it_was),
        cmocka_unit_test(a_run_that_is_being_written_reads_as_of_one_moment),
        cmocka_unit_test(what_is_no_run_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
