/* events.jsonl: one line per committed event, repaired from run.db on opening. */
#include "fixture.h"
#include "results/store/jsonl.h"

#include "base/fs.h"

#include <fcntl.h>
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

/* Four events, closed; gives the file's bytes. */
static char *make_journal(struct run *run)
{
    run_make(run);
    struct store *store = fixture_create(run);
    add(store, EVENT_SESSION_STARTED, 0, 0, "{'host': 'h'}");
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, "{'id': 'demo_net_001'}");
    add(store, EVENT_ATTEMPT_PREPARED, 1, 1, NULL);
    add(store, EVENT_EVIDENCE, 1, 1, "{'kind': 'k', 'text': 'line\\nend \\u00e4'}");
    fixture_close(store);
    return run_read(run, "events.jsonl");
}

static void replace(const struct run *run, const char *bytes, size_t count)
{
    struct err err = {0};
    if (!fs_write_atomic(run->dir, "events.jsonl", bytes, count, &err))
        fail_msg("%s", err.text);
}

/* Opening makes the file what it was. */
static void assert_repaired(struct run *run, const char *whole)
{
    fixture_close(fixture_open(run));
    char *now = run_read(run, "events.jsonl");
    assert_string_equal(now, whole);
    free(now);
}

static void every_committed_event_is_a_line_with_its_number(void **state)
{
    (void)state;
    struct run run;
    char *text = make_journal(&run);
    char *at = text;
    for (int seq = 1; seq <= 4; seq++) {
        char *end = strchr(at, '\n');
        assert_non_null(end);
        json_t *line = json_loadb(at, (size_t)(end - at), 0, NULL);
        assert_int_equal(json_integer_value(json_object_get(line, "seq")), seq);
        assert_string_equal(json_string_value(json_object_get(line, "time")),
                            "2025-11-15T15:54:19.379192+00:00");
        assert_int_equal(json_integer_value(json_object_get(line, "session")), 1);
        if (seq == 4) {
            assert_string_equal(json_string_value(json_object_get(line, "type")), "evidence");
            assert_string_equal(
                json_string_value(json_object_get(json_object_get(line, "data"), "text")),
                "line\nend \xc3\xa4");
        }
        json_decref(line);
        at = end + 1;
    }
    assert_int_equal(*at, '\0');
    free(text);
    run_remove(&run);
}

static void a_file_cut_at_any_byte_is_made_whole_again(void **state)
{
    (void)state;
    struct run run;
    char *whole = make_journal(&run);
    size_t length = strlen(whole);
    for (size_t cut = 0; cut <= length; cut += cut < 40 || cut + 40 > length ? 7 : 61) {
        replace(&run, whole, cut);
        assert_repaired(&run, whole);
    }
    free(whole);
    run_remove(&run);
}

static void a_missing_file_is_written_anew(void **state)
{
    (void)state;
    struct run run;
    char *whole = make_journal(&run);
    assert_int_equal(unlinkat(run.dir, "events.jsonl", 0), 0);
    assert_repaired(&run, whole);
    free(whole);
    run_remove(&run);
}

static void lines_that_were_never_committed_or_are_damaged_are_cut(void **state)
{
    (void)state;
    struct run run;
    char *whole = make_journal(&run);
    size_t length = strlen(whole);
    struct text text = {0};
    text_add(&text, whole);
    text_add(&text, "{\"seq\":5,\"type\":\"evidence\"}\n");
    replace(&run, text.data, text.length);
    assert_repaired(&run, whole);
    text_clear(&text);
    text_add(&text, whole);
    text_add(&text, strchr(whole, '\n') + 1); /* lines 2 to 4 twice */
    replace(&run, text.data, text.length);
    assert_repaired(&run, whole);
    text_clear(&text);
    text_add(&text, whole);
    memset(text.data + length / 2, 0, 20); /* as a file system may leave it after a power cut */
    replace(&run, text.data, text.length);
    assert_repaired(&run, whole);
    text_fini(&text);
    free(whole);
    run_remove(&run);
}

static void a_line_that_does_not_fit_on_the_disk_leaves_no_half_behind(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    int fd = jsonl_open(run.dir, run.path, NULL);
    assert_true(fd >= 0);
    struct text lines = {0};
    text_add(&lines, "{\"seq\":1}\n");
    assert_true(jsonl_append(fd, &lines, NULL));
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {15, 15}; /* ten bytes are there, five of the next ten fit */
        struct err err = {0};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        bool refused =
            !jsonl_append(fd, &lines, &err) && strstr(err.text, "append to events.jsonl");
        _exit(refused ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 10);
    text_fini(&lines);
    close(fd);
    run_remove(&run);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_committed_event_is_a_line_with_its_number),
        cmocka_unit_test(a_file_cut_at_any_byte_is_made_whole_again),
        cmocka_unit_test(a_missing_file_is_written_anew),
        cmocka_unit_test(lines_that_were_never_committed_or_are_damaged_are_cut),
        cmocka_unit_test(a_line_that_does_not_fit_on_the_disk_leaves_no_half_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
