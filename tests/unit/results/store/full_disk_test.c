/* A full disk, as RLIMIT_FSIZE makes it: the run stops with a clear error, and what was
 * acknowledged stays. */
#include "fixture.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static void limit_files(rlim_t bytes)
{
    struct rlimit limit = {bytes, bytes};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void fill_text(char *out, size_t size)
{
    memset(out, 'x', size);
    memcpy(out, "{'kind': 'k', 'text': '", 23);
    memcpy(out + size - 3, "'}", 3);
}

static struct err first_failure;

static void check_done(void *context, bool ok, const struct err *err)
{
    int64_t *acked = context;
    if (ok && !first_failure.text[0])
        ++*acked;
    else if (ok)
        _exit(10); /* something was written after the journal had failed */
    else if (!first_failure.text[0])
        first_failure = *err;
    else if (strcmp(first_failure.text, err->text) != 0)
        _exit(11); /* another error than the first */
}

/* Adds events one by one until the disk is full, then three more. The exit status is 0 when all
 * went as it should; what was acknowledged goes into the pipe. */
static void fill_disk(const struct run *run, int pipe, size_t data_size)
{
    char data[9000];
    int64_t acked = 0;
    struct err err = {0};
    fill_text(data, data_size);
    struct store *store = store_open(run->dir, run->path, &err);
    if (!store)
        _exit(err.text[0] && write(pipe, &acked, sizeof acked) == sizeof acked ? 0 : 12);
    add_as(store, store_next_session(store), EVENT_SESSION_STARTED, 0, 0, 0, NULL, check_done,
           &acked);
    int64_t session = store_next_session(store) - 1;
    for (int i = 0; i < 3000 && store_flush(store, &err); i++)
        add_as(store, session, EVENT_EVIDENCE, 0, 0, i, data, check_done, &acked);
    if (!err.text[0])
        _exit(13); /* the disk never was full */
    /* the last event was committed, only its line in events.jsonl was not written */
    if (!first_failure.text[0])
        first_failure = err;
    for (int i = 0; i < 3; i++)
        add_as(store, session, EVENT_EVIDENCE, 0, 0, i, NULL, check_done, &acked);
    if (store_flush(store, &err) || strcmp(err.text, first_failure.text) != 0)
        _exit(14);
    if (store_close(store, &err) || strcmp(err.text, first_failure.text) != 0)
        _exit(15);
    _exit(write(pipe, &acked, sizeof acked) == sizeof acked ? 0 : 16);
}

static int64_t fill_in_child(const struct run *run, rlim_t bytes, size_t data_size)
{
    int ends[2], status = -1;
    int64_t acked = -1;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        limit_files(bytes);
        fill_disk(run, ends[1], data_size);
    }
    close(ends[1]);
    ssize_t got = read(ends[0], &acked, sizeof acked);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("with %llu bytes the child ended with status %x", (unsigned long long)bytes,
                 (unsigned)status);
    assert_int_equal(got, sizeof acked);
    return acked;
}

/* All that was acknowledged is there, in both files, and the run can go on. */
static void assert_usable(const struct run *run, int64_t acked)
{
    struct store *store = fixture_open(run);
    int64_t session = store_next_session(store);
    add_as(store, session, EVENT_SESSION_STARTED, 0, 0, 0, NULL, NULL, NULL);
    fixture_close(store);
    char *count = ask(run, "SELECT count(*) FROM events");
    char *text = run_read(run, "events.jsonl");
    int64_t stored = strtoll(count, NULL, 10), lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    assert_true(stored >= acked + 1);
    assert_int_equal(lines, stored);
    assert_answer(run, "SELECT max(seq) = count(*) FROM events", "1");
    assert_answer(run, "PRAGMA integrity_check", "ok");
    free(count);
    free(text);
}

static void a_full_disk_loses_nothing_acknowledged_at_any_size(void **state)
{
    (void)state;
    int64_t most = 0;
    for (rlim_t bytes = 0; bytes < 400000; bytes += 9973) { /* a prime: not in step with pages */
        struct run run;
        run_make(&run);
        fixture_close(fixture_create(&run));
        int64_t acked = fill_in_child(&run, bytes, 500);
        most = acked > most ? acked : most;
        assert_usable(&run, acked);
        run_remove(&run);
    }
    assert_true(most > 10); /* the larger sizes did hold something */
}

static void a_disk_that_fills_while_the_log_is_moved_into_the_database_loses_nothing(void **state)
{
    (void)state;
    /* The -wal is moved after 1000 pages of 4 KiB and then used again: these sizes are behind
     * that. */
    for (rlim_t bytes = 4500000; bytes < 6000000; bytes += 499979) {
        struct run run;
        run_make(&run);
        fixture_close(fixture_create(&run));
        int64_t acked = fill_in_child(&run, bytes, 8200);
        assert_true(acked > 100);
        assert_usable(&run, acked);
        run_remove(&run);
    }
}

static void an_event_whose_line_does_not_fit_is_durable_and_ends_the_journal(void **state)
{
    (void)state;
    struct run run;
    char data[4000];
    struct stat st;
    run_make(&run);
    struct store *store = fixture_create(&run);
    fill_text(data, sizeof data);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    for (int i = 0; i < 100; i++)
        add(store, EVENT_EVIDENCE, 0, 0, data);
    fixture_close(store);
    /* Over 400 kB of lines now, and a -wal that begins anew: the limit meets the lines first. */
    char path[512];
    run_path(&run, "events.jsonl", path);
    assert_int_equal(stat(path, &st), 0);
    int64_t acked = fill_in_child(&run, (rlim_t)st.st_size + 50, 500);
    assert_int_equal(acked, 1);
    assert_usable(&run, 101 + acked - 1);
    /* the second one's event was acknowledged */
    assert_answer(&run, "SELECT count(*) FROM sessions", "3");
    run_remove(&run);
}

static void a_run_that_cannot_be_made_says_why(void **state)
{
    (void)state;
    /* the tables alone take ten pages of 4 KiB */
    for (rlim_t bytes = 0; bytes < 40000; bytes += 3001) {
        struct run run;
        run_make(&run);
        pid_t child = fork();
        if (child == 0) {
            struct plan plan;
            struct err err = {0};
            plan_fill(&plan);
            struct store_head head = {&plan, "{}", 2, "{}", 2, false};
            limit_files(bytes);
            struct store *store = store_create(run.dir, run.path, &head, &err);
            _exit(!store && strstr(err.text, run.path) && strstr(err.text, "File too large") ? 0
                                                                                             : 1);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        run_remove(&run);
    }
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_loses_nothing_acknowledged_at_any_size),
        cmocka_unit_test(a_disk_that_fills_while_the_log_is_moved_into_the_database_loses_nothing),
        cmocka_unit_test(an_event_whose_line_does_not_fit_is_durable_and_ends_the_journal),
        cmocka_unit_test(a_run_that_cannot_be_made_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
