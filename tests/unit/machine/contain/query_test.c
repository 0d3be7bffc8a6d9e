#include "machine/contain/query.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "machine/contain/probe.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct containment containment;

static int set_up(void **state)
{
    (void)state;
    return !containment_probe(CONTAINMENT_AUTO, &containment, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    containment_fini(&containment);
    return 0;
}

static enum job_answer ask_as(struct job_question question, const char *script, struct text *out)
{
    AUTO_STRV struct strv argv = {0};
    AUTO_STRV struct strv env = {0};
    strv_add(&argv, "/bin/sh");
    strv_add(&argv, "-c");
    strv_add(&argv, script);
    strv_add(&env, "PATH=/usr/bin:/bin");
    question.containment = &containment;
    question.argv = &argv;
    question.env = &env;
    question.limit = question.limit ? question.limit : 1000;
    text_clear(out);
    return job_ask(&question, out);
}

static void an_answer_is_what_stdout_got_and_how_it_ended(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    struct job_exit end = {0};
    const struct job_question plain = {.timeout_s = 60, .exit = &end};
    assert_int_equal(ask_as(plain, "echo one; echo two >&2", &out), JOB_ANSWER_GOOD);
    assert_string_equal(text_get(&out), "one\n");
    assert_int_equal(ask_as(plain, "echo no; exit 7", &out), JOB_ANSWER_FAILED);
    assert_string_equal(text_get(&out), "no\n");
    assert_int_equal(end.code, 7);
    assert_int_equal(ask_as(plain, "kill -9 $$", &out), JOB_ANSWER_FAILED);
    assert_true(end.signalled);
    assert_int_equal(ask_as(plain, "cat", &out), JOB_ANSWER_GOOD); /* its stdin is empty */
}

static void stderr_is_part_of_the_answer_when_asked_for(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    struct job_question question = {.timeout_s = 60, .with_errors = true};
    assert_int_equal(ask_as(question, "echo one; echo two >&2", &out), JOB_ANSWER_GOOD);
    assert_string_equal(text_get(&out), "one\ntwo\n");
    question.only_errors = true;
    assert_int_equal(ask_as(question, "echo one; echo two >&2", &out), JOB_ANSWER_GOOD);
    assert_string_equal(text_get(&out), "two\n");
}

static void an_answer_has_a_limit(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    struct job_question question = {.timeout_s = 60, .limit = 5};
    assert_int_equal(ask_as(question, "printf 12345", &out), JOB_ANSWER_GOOD);
    assert_int_equal(ask_as(question, "printf 123456", &out), JOB_ANSWER_LONG);
    assert_int_equal(ask_as(question, "yes", &out), JOB_ANSWER_LONG);
}

static void what_takes_too_long_is_ended(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    int64_t begin_ns = clock_monotonic_ns();
    assert_int_equal(ask_as((struct job_question){.timeout_s = 0.1}, "sleep 1000", &out),
                     JOB_ANSWER_LATE);
    /* without any output */
    assert_int_equal(
        ask_as((struct job_question){.timeout_s = 0.1}, "exec >&- 2>&-; sleep 1000", &out),
        JOB_ANSWER_LATE);
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    close(ends[1]); /* readable at once */
    assert_int_equal(ask_as((struct job_question){.stop_fd = ends[0]}, "sleep 1000", &out),
                     JOB_ANSWER_LATE);
    close(ends[0]);
    assert_true(clock_monotonic_ns() - begin_ns < 500 * NS_PER_S);
}

/* A process that it left has its output open, and is ended. */
static void the_answer_does_not_wait_for_what_was_left(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    int64_t begin_ns = clock_monotonic_ns();
    assert_int_equal(
        ask_as((struct job_question){.timeout_s = 900}, "sleep 1000 & echo done", &out),
        JOB_ANSWER_GOOD);
    assert_string_equal(text_get(&out), "done\n");
    assert_true(clock_monotonic_ns() - begin_ns < 500 * NS_PER_S);
}

static void what_cannot_be_executed_is_no_answer(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    AUTO_STRV struct strv argv = {0};
    AUTO_STRV struct strv env = {0};
    strv_add(&argv, "/nowhere/program");
    const struct job_question question = {
        .containment = &containment, .argv = &argv, .env = &env, .limit = 10, .timeout_s = 60};
    assert_int_equal(job_ask(&question, &out), JOB_ANSWER_NONE);
    assert_false(job_query(&containment, &argv, &env, 10, 60, &out));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_what_stdout_got_and_how_it_ended),
        cmocka_unit_test(stderr_is_part_of_the_answer_when_asked_for),
        cmocka_unit_test(an_answer_has_a_limit),
        cmocka_unit_test(what_takes_too_long_is_ended),
        cmocka_unit_test(the_answer_does_not_wait_for_what_was_left),
        cmocka_unit_test(what_cannot_be_executed_is_no_answer),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
