/* The lines of a run's file: written as the documents say, read as far as they can be read. */
#include "fixture.h"
#include "machine/contain/job.h"
#include "machine/state/record.h"

#include <string.h>

#define BOOT "3370f1cf-948c-43c2-9201-ac6624814a7d"
#define HEADER                                                \
    "{\"kind\":\"run\",\"run_dir\":\"/home/ada/results/"      \
    "run_1\",\"host\":\"lovelace\",\"boot_id\":\"" BOOT "\"," \
    "\"pid\":4711,\"start_time\":815,\"pid_namespace\":4026531836,\"version\":\"1.2.3\"}\n"
#define BORN(pid, tag)                                                         \
    "{\"job\":\"born\",\"pid\":" pid ",\"start_time\":816,\"boot_id\":\"" BOOT \
    "\",\"cgroup\":null,\"tag\":\"" tag "\"}\n"
#define GONE(tag) "{\"job\":\"gone\",\"tag\":\"" tag "\"}\n"

static struct record parse(const char *text)
{
    struct record record;
    record_parse(text, strlen(text), &record);
    return record;
}

static void header_and_job_are_read_back_from_their_lines(void **state)
{
    (void)state;
    struct record record = parse(HEADER BORN("4712", "abc"));
    assert_true(record.has_header);
    assert_int_equal(record.header.kind, STATE_RUN);
    assert_string_equal(record.header.run_dir, "/home/ada/results/run_1");
    assert_string_equal(record.header.host, "lovelace");
    assert_string_equal(record.header.boot_id, BOOT);
    assert_int_equal(record.header.pid, 4711);
    assert_int_equal(record.header.start_time, 815);
    assert_int_equal(record.header.pid_namespace, 4026531836);
    assert_int_equal(record.count, 1);
    assert_int_equal(record.jobs[0].pid, 4712);
    assert_int_equal(record.jobs[0].start_time, 816);
    assert_string_equal(record.jobs[0].boot_id, BOOT);
    assert_string_equal(record.jobs[0].tag, "abc");
    assert_null(record.jobs[0].cgroup);
    assert_int_equal(record.damaged, 0);
    record_fini(&record);
}

static void a_job_that_is_gone_is_not_there_any_more(void **state)
{
    (void)state;
    struct record record =
        parse(HEADER BORN("1", "a") BORN("2", "b") BORN("3", "c") GONE("a") GONE("never born"));
    assert_int_equal(record.count, 2);
    int sum = record.jobs[0].pid + record.jobs[1].pid;
    assert_int_equal(sum, 5);
    record_fini(&record);
}

static void a_torn_last_line_is_no_line(void **state)
{
    (void)state;
    struct record record = parse(HEADER BORN("1", "a") "{\"job\":\"gone\",\"tag\":\"a\"}");
    assert_int_equal(record.count, 1);
    assert_int_equal(record.damaged, 0);
    record_fini(&record);
}

static void damaged_lines_are_passed_over_and_counted(void **state)
{
    (void)state;
    struct record record =
        parse(HEADER "{\"job\":\"bo\n" BORN("1", "a") "[]\n"
                                                      "{\"job\":\"eaten\"}\n" HEADER);
    assert_int_equal(record.count, 1);
    assert_int_equal(record.damaged, 4); /* the last: a second header */
    record_fini(&record);
}

static void jobs_with_impossible_facts_are_not_taken(void **state)
{
    (void)state;
    static const char *const lines[] = {
        BORN("0", "a"),
        BORN("-1", "a"),
        BORN("2147483648", "a"),
        BORN("1.5", "a"),
        BORN("1", ""),
        "{\"job\":\"born\",\"pid\":1,\"start_time\":-1,\"boot_id\":\"" BOOT "\",\"tag\":\"a\"}\n",
        "{\"job\":\"born\",\"pid\":1,\"start_time\":1,\"boot_id\":\"\",\"tag\":\"a\"}\n",
        "{\"job\":\"born\",\"pid\":1,\"start_time\":1,\"boot_id\":\"" BOOT BOOT
        "\",\"tag\":\"a\"}\n",
        "{\"job\":\"born\",\"pid\":1,\"start_time\":1,\"boot_id\":\"" BOOT "\"}\n",
        "{\"job\":\"born\",\"pid\":1,\"start_time\":1,\"boot_id\":\"" BOOT
        "\",\"cgroup\":\"a/b\",\"tag\":\"a\"}\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct record record = parse(lines[i]);
        assert_int_equal(record.count, 0);
        assert_int_equal(record.damaged, 1);
        assert_false(record.has_header);
        record_fini(&record);
    }
}

static void an_empty_file_holds_nothing(void **state)
{
    (void)state;
    struct record record = parse("");
    assert_false(record.has_header);
    assert_int_equal(record.count, 0);
    assert_int_equal(record.damaged, 0);
    record_fini(&record);
}

static void what_is_shown_of_a_header_cannot_steer_a_terminal(void **state)
{
    (void)state;
    struct record record;
    const char *line = "{\"kind\":\"run\",\"run_dir\":\"/data/"
                       "\\u001b[2Jrun\\n\",\"host\":\"h\\u0007\",\"boot_id\":\"b\","
                       "\"pid\":1,\"start_time\":2,\"pid_namespace\":3,\"version\":\"1\"}\n";
    record_parse(line, strlen(line), &record);
    assert_true(record.has_header);
    assert_string_equal(record.header.run_dir, "/data/?[2Jrun?");
    assert_string_equal(record.header.host, "h?");
    record_fini(&record);
}

static void lines_are_written_as_documented(void **state)
{
    (void)state;
    AUTO_TEXT struct text text = {0};
    struct job_identity identity = {.pid = 17,
                                    .start_time = 18,
                                    .boot_id = "boot",
                                    .cgroup = (char *)"/sys/fs/cgroup/x",
                                    .tag = (char *)"f00"};
    record_add_born(&text, &identity);
    record_add_gone(&text, &identity);
    assert_string_equal(text.data,
                        "{\"job\":\"born\",\"pid\":17,\"start_time\":18,\"boot_id\":\"boot\","
                        "\"cgroup\":\"/sys/fs/cgroup/x\",\"tag\":\"f00\"}\n"
                        "{\"job\":\"gone\",\"tag\":\"f00\"}\n");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_and_job_are_read_back_from_their_lines),
        cmocka_unit_test(a_job_that_is_gone_is_not_there_any_more),
        cmocka_unit_test(a_torn_last_line_is_no_line),
        cmocka_unit_test(damaged_lines_are_passed_over_and_counted),
        cmocka_unit_test(jobs_with_impossible_facts_are_not_taken),
        cmocka_unit_test(an_empty_file_holds_nothing),
        cmocka_unit_test(what_is_shown_of_a_header_cannot_steer_a_terminal),
        cmocka_unit_test(lines_are_written_as_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
