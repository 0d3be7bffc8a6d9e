#include "slurm/tasks.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/mem.h"

#include "tests/unit/folder.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[64];
static int dir;

static int set_up(void **state)
{
    (void)state;
    strcpy(top, "/tmp/tare-tasks.XXXXXX");
    assert_non_null(mkdtemp(top));
    dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir < 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(dir);
    return folder_remove(top);
}

static void put(const char *name, const char *text)
{
    AUTO_CLOSE int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && fs_write_all(fd, text, strlen(text), NULL));
}

static void make_folders(const char *const *names)
{
    for (; *names; names++)
        assert_int_equal(mkdirat(dir, *names, 0700), 0);
}

static void a_run_of_tasks_has_a_plan_and_a_folder(void **state)
{
    (void)state;
    assert_false(tasks_are_in(dir));
    put("plan.json", "{}");
    assert_false(tasks_are_in(dir));
    assert_int_equal(symlinkat("/", dir, "tasks"), 0);
    assert_false(tasks_are_in(dir));
    assert_int_equal(unlinkat(dir, "tasks", 0), 0);
    assert_int_equal(mkdirat(dir, "tasks", 0700), 0);
    assert_true(tasks_are_in(dir));
    assert_int_equal(renameat(dir, "plan.json", dir, "other"), 0);
    assert_int_equal(symlinkat("other", dir, "plan.json"), 0);
    assert_false(tasks_are_in(dir));
}

static void the_last_start_with_records_counts(void **state)
{
    (void)state;
    static const char *const folders[] = {"tasks",
                                          "tasks/0007",
                                          "tasks/0007/2",
                                          "tasks/0007/10",
                                          "tasks/0007/9",
                                          "tasks/0007/11x",
                                          "tasks/0007/100001",
                                          "tasks/0007/-3",
                                          NULL};
    struct tasks_last last;
    struct err err = {0};
    assert_int_equal(tasks_open_last(dir, 7, &last, &err), -1);
    assert_string_equal(err.text, "");
    make_folders(folders);
    assert_int_equal(tasks_open_last(dir, 7, &last, &err), -1);
    assert_string_equal(err.text, "");
    assert_int_equal(last.start, 10); /* by number; 100001 is beyond the bound */
    put("tasks/0007/2/events.jsonl", "");
    put("tasks/0007/9/events.jsonl", "");
    AUTO_CLOSE int ninth = tasks_open_last(dir, 7, &last, &err);
    assert_true(ninth >= 0 && faccessat(ninth, "events.jsonl", F_OK, 0) == 0);
    assert_int_equal(last.start, 10);
    assert_int_equal(last.readable, 9);
    assert_int_equal(symlinkat("../9/events.jsonl", dir, "tasks/0007/10/events.jsonl"), 0);
    AUTO_CLOSE int linked = tasks_open_last(dir, 7, &last, &err); /* no link is followed */
    assert_true(linked >= 0);
    assert_int_equal(last.readable, 9);
    AUTO_CLOSE int second = tasks_open_start(dir, 7, 2);
    assert_true(second >= 0);
    assert_int_equal(tasks_open_start(dir, 7, 3), -1);
    assert_int_equal(tasks_open_start(dir, 8, 2), -1);
}

/* A start that leads out of the run says nothing, and neither do those before it. */
static void a_start_that_is_a_link_is_an_error(void **state)
{
    (void)state;
    static const char *const folders[] = {"tasks", "tasks/0001", "tasks/0001/1", NULL};
    struct tasks_last last;
    struct err err = {0};
    make_folders(folders);
    put("tasks/0001/1/events.jsonl", "");
    assert_int_equal(symlinkat("/tmp", dir, "tasks/0001/2"), 0);
    assert_int_equal(tasks_open_last(dir, 1, &last, &err), -1);
    assert_non_null(strstr(err.text, "start 2"));
}

static void what_was_submitted_is_read_back(void **state)
{
    (void)state;
    struct submission before = {.name = mem_strdup("tare-run_1"),
                                .kill_wait_s = 30.5,
                                .array_size = 1001},
                      after;
    strv_add(&before.options, "--partition=a b");
    *submission_add(&before) = (struct submission_array){.job_id = mem_strdup("17"),
                                                         .job_name = mem_strdup("n"),
                                                         .indices = mem_strdup("1-20"),
                                                         .offset = 1000,
                                                         .realtime_ns = 5};
    *submission_add(&before) =
        (struct submission_array){.job_name = mem_strdup("m"), .indices = mem_strdup("3")};
    assert_true(submission_write(dir, &before, NULL));
    assert_true(submission_read(dir, &after, NULL));
    assert_string_equal(after.name, "tare-run_1");
    assert_true(after.kill_wait_s == 30.5);
    assert_int_equal(after.array_size, 1001);
    assert_string_equal(after.options.items[0], "--partition=a b");
    assert_int_equal(after.count, 2);
    assert_string_equal(after.arrays[0].job_id, "17");
    assert_string_equal(after.arrays[0].indices, "1-20");
    assert_int_equal(after.arrays[0].offset, 1000);
    assert_int_equal(after.arrays[0].realtime_ns, 5);
    assert_null(after.arrays[1].job_id); /* sbatch's answer was not heard */
    submission_fini(&before);
    submission_fini(&after);
}

static void a_submission_that_lacks_something_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"name\": \"n\", \"kill_wait_s\": 1, \"array_size\": 1}",
        "{\"name\": 1, \"kill_wait_s\": 1, \"array_size\": 9}",
        "{\"name\": \"n\", \"array_size\": 9}",
        "{\"name\": \"n\", \"name\": \"n\", \"kill_wait_s\": 1, \"array_size\": 9}",
        "{\"name\": \"n\", \"kill_wait_s\": 1, \"array_size\": 9, \"arrays\": [{}]}",
        "{\"name\": \"n\", \"kill_wait_s\": 1, \"array_size\": 9, \"arrays\": [{\"job_name\": "
        "\"n\","
        " \"indices\": \"1\", \"offset\": -1, \"realtime_ns\": 1}]}"};
    struct submission submission;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct err err = {0};
        put("submit.json", texts[i]);
        if (submission_read(dir, &submission, &err))
            fail_msg("%s", texts[i]);
        assert_true(err.text[0] != '\0');
    }
}

/* Ten seconds are left for the proof and for writing down how it ended. */
static void term_to_kill_fits_into_the_clusters_wait(void **state)
{
    (void)state;
    static const double waits[] = {30, 11, 10.5, 5, 0, -1}, graces[] = {20, 1, 1, 1, 0, 0};
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        assert_true(submission_grace_max_s(&(struct submission){.kill_wait_s = waits[i]}) ==
                    graces[i]);
}

static void a_plan_of_another_format_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } rows[] = {{"{\"format\": 2}", "its format is not 1"},
                {"{}", "its format is not 1"},
                {"{\"format\": 1, \"format\": 1}", "format"},
                {"{\"format\": 1, \"head\": {}, \"experiments\": []}", "plan.json"},
                {"{", "plan.json"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan plan;
        struct err err = {0};
        put("plan.json", rows[i].text);
        assert_false(tasks_read_plan(dir, &plan, &err));
        if (!strstr(err.text, rows[i].reason))
            fail_msg("'%s' does not say '%s'", err.text, rows[i].reason);
    }
}

#define IN_RUN(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        IN_RUN(a_run_of_tasks_has_a_plan_and_a_folder),
        IN_RUN(the_last_start_with_records_counts),
        IN_RUN(a_start_that_is_a_link_is_an_error),
        IN_RUN(what_was_submitted_is_read_back),
        IN_RUN(a_submission_that_lacks_something_is_refused),
        cmocka_unit_test(term_to_kill_fits_into_the_clusters_wait),
        IN_RUN(a_plan_of_another_format_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
