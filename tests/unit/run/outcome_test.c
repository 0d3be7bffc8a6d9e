/* When an attempt counts as a success, and what is said when it does not. */
#include "run/outcome.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static char *argv_items[] = {(char[]){"/opt/python"}, NULL};

static struct plan_job job_that(bool exit_code_required)
{
    return (struct plan_job){.argv = {argv_items, 1, 2}, .exit_code_required = exit_code_required};
}

static void assert_judged(const struct plan_job *job, const struct outcome_facts *facts,
                          enum outcome outcome, const char *error)
{
    static const struct limits none;
    struct outcome_facts with_limits = *facts;
    char *said;
    if (!facts->limits)
        with_limits.limits = &none;
    assert_int_equal(outcome_judge(job, &with_limits, &said), outcome);
    if (error)
        assert_string_equal(said, error);
    else
        assert_null(said);
    free(said);
}

static struct outcome_facts exit_with(int code)
{
    return (struct outcome_facts){.reason = STOP_EXITED, .exit = {.ended = true, .code = code}};
}

static struct outcome_facts killed_by(int number)
{
    return (struct outcome_facts){.reason = STOP_EXITED,
                                  .exit = {.ended = true, .signalled = true, .code = number}};
}

static void a_required_exit_code_must_be_0(void **state)
{
    (void)state;
    struct plan_job job = job_that(true);
    struct outcome_facts facts = exit_with(0);
    assert_judged(&job, &facts, OUTCOME_SUCCEEDED, NULL);
    facts = exit_with(1);
    assert_judged(&job, &facts, OUTCOME_FAILED, "exit code 1");
    facts = exit_with(126);
    assert_judged(&job, &facts, OUTCOME_FAILED,
                  "exit code 126: what a shell gives for a command that it may not run");
    facts = killed_by(SIGSEGV);
    assert_judged(&job, &facts, OUTCOME_FAILED, "ended by signal 11 (SIGSEGV)");
}

static void an_ignored_exit_code_leaves_it_to_the_patterns(void **state)
{
    (void)state;
    struct plan_job job = job_that(false);
    struct joblog_result saved = {.role = JOBLOG_SUCCESS, .name = "saved", .matches = 1};
    const struct joblog_result *results[] = {&saved};
    struct outcome_facts facts = exit_with(9);
    assert_judged(&job, &facts, OUTCOME_SUCCEEDED, NULL);
    facts = killed_by(SIGSEGV);
    assert_judged(&job, &facts, OUTCOME_FAILED, "ended by signal 11 (SIGSEGV)");
    facts.results = results;
    facts.result_count = 1;
    assert_judged(&job, &facts, OUTCOME_SUCCEEDED, NULL);
    saved.matches = 0;
    assert_judged(&job, &facts, OUTCOME_FAILED,
                  "ended by signal 11 (SIGSEGV); no log line matches the success pattern 'saved'");
}

static void every_success_pattern_and_no_error_pattern_must_match(void **state)
{
    (void)state;
    struct plan_job job = job_that(true);
    struct joblog_result one = {.role = JOBLOG_SUCCESS, .name = "one", .matches = 2};
    struct joblog_result two = {.role = JOBLOG_SUCCESS, .name = "two", .matches = 0};
    struct joblog_result bad = {.role = JOBLOG_ERROR, .name = "nan", .matches = 0};
    struct joblog_result loss = {.role = JOBLOG_METRIC, .name = "loss", .matches = 0};
    const struct joblog_result *results[] = {&loss, &one, &two, &bad};
    struct outcome_facts facts = exit_with(0);
    facts.results = results;
    facts.result_count = 4;
    assert_judged(&job, &facts, OUTCOME_FAILED, "no log line matches the success pattern 'two'");
    two.matches = 1;
    assert_judged(&job, &facts, OUTCOME_SUCCEEDED, NULL);
    bad.matches = 3;
    bad.line = 70;
    strcpy(bad.text, "loss: nan");
    assert_judged(&job, &facts, OUTCOME_FAILED,
                  "log line 70 matches the error pattern 'nan': loss: nan");
}

static void what_tare_itself_did_is_said_as_that(void **state)
{
    (void)state;
    struct plan_job job = job_that(true);
    struct outcome_facts facts = killed_by(SIGKILL);
    facts.reason = STOP_TIMEOUT;
    facts.timeout_s = 90;
    assert_judged(&job, &facts, OUTCOME_FAILED, "timed out after 1 min 30 s");
    facts.reason = STOP_LIMIT;
    facts.detail = "too much";
    assert_judged(&job, &facts, OUTCOME_FAILED, "too much");
    facts.reason = STOP_INTERRUPTED;
    assert_judged(&job, &facts, OUTCOME_INTERRUPTED, "interrupted");
    facts.reason = STOP_MACHINE;
    facts.detail = "the job's init (pid 7) was killed";
    assert_judged(&job, &facts, OUTCOME_INTERRUPTED, "the job's init (pid 7) was killed");
    facts.detail = NULL;
    facts.reason = STOP_LOG_ERROR;
    facts.detail = "disk full";
    assert_judged(&job, &facts, OUTCOME_INTERRUPTED, "disk full");
}

static void who_sent_the_kill_is_said_as_far_as_it_is_known(void **state)
{
    (void)state;
    static const struct limits limits = {.job.memory_bytes = 1 << 30};
    struct plan_job job = job_that(true);
    struct outcome_facts facts = killed_by(SIGKILL);
    facts.machine_kills = 1;
    assert_judged(&job, &facts, OUTCOME_FAILED,
                  "ended by signal 9 (SIGKILL): probably by the kernel, which ended processes for "
                  "want of memory "
                  "meanwhile");
    facts.usage.oom_kills = 2;
    assert_judged(&job, &facts, OUTCOME_FAILED,
                  "ended by signal 9 (SIGKILL): the kernel ended it for want of memory");
    facts.limits = &limits;
    assert_judged(&job, &facts, OUTCOME_FAILED,
                  "ended by signal 9 (SIGKILL): the kernel ended it for want of memory (the memory "
                  "limit of the "
                  "settings)");
}

static void a_command_that_cannot_be_run_fails_whatever_the_exit_code_means(void **state)
{
    (void)state;
    struct plan_job job = job_that(false);
    struct outcome_facts facts = exit_with(127);
    facts.exit.exec_failed = true;
    facts.exit.exec_errno = EACCES;
    assert_judged(&job, &facts, OUTCOME_FAILED, "cannot run /opt/python: Permission denied");
}

static void what_the_log_said_last_is_told_with_the_failure(void **state)
{
    (void)state;
    struct plan_job job = job_that(true);
    struct joblog_result head = {
        .role = JOBLOG_ERROR, .name = "^Traceback", .matches = 1, .line = 12};
    const struct joblog_result *results[] = {&head};
    struct joblog_words words = {.kind = JOBLOG_WORDS_COMPLAINT, .text = "CUDA out of memory"};
    struct outcome_facts facts = exit_with(1);
    facts.words = &words;
    assert_judged(&job, &facts, OUTCOME_FAILED, "exit code 1; the log says: CUDA out of memory");
    words = (struct joblog_words){.kind = JOBLOG_WORDS_LINE, .text = "epoch 3"};
    assert_judged(&job, &facts, OUTCOME_FAILED, "exit code 1; last log line: epoch 3");
    words = (struct joblog_words){.kind = JOBLOG_WORDS_NONE};
    assert_judged(&job, &facts, OUTCOME_FAILED, "exit code 1; it printed nothing");
    words = (struct joblog_words){.kind = JOBLOG_WORDS_EXCEPTION, .text = "ValueError: bad"};
    facts.results = results;
    facts.result_count = 1;
    strcpy(head.text, "Traceback (most recent call last):");
    assert_judged(&job, &facts, OUTCOME_FAILED,
                  "exit code 1; traceback at log line 12: ValueError: bad");
    facts.reason = STOP_TIMEOUT;
    facts.timeout_s = 90;
    words = (struct joblog_words){.kind = JOBLOG_WORDS_LINE, .text = "epoch 3"};
    assert_judged(&job, &facts, OUTCOME_FAILED,
                  "timed out after 1 min 30 s; last log line: epoch 3");
    facts = exit_with(0);
    facts.words = &words;
    assert_judged(&job, &facts, OUTCOME_SUCCEEDED, NULL);
}

static void limits_are_named_when_a_signal_fits_them(void **state)
{
    (void)state;
    struct plan_job job = job_that(true);
    struct limits limits = {.job.cpu_time_s = 60};
    struct outcome_facts facts = killed_by(SIGXCPU);
    facts.limits = &limits;
    assert_judged(&job, &facts, OUTCOME_FAILED,
                  "ended by signal 24 (SIGXCPU): the limit of 60 s of CPU time");
    limits = (struct limits){.job.memory_bytes = 1 << 30};
    facts = killed_by(SIGKILL);
    facts.limits = &limits;
    assert_judged(&job, &facts, OUTCOME_FAILED,
                  "ended by signal 9 (SIGKILL): probably by the memory limit");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_sent_the_kill_is_said_as_far_as_it_is_known),
        cmocka_unit_test(a_required_exit_code_must_be_0),
        cmocka_unit_test(an_ignored_exit_code_leaves_it_to_the_patterns),
        cmocka_unit_test(every_success_pattern_and_no_error_pattern_must_match),
        cmocka_unit_test(what_tare_itself_did_is_said_as_that),
        cmocka_unit_test(a_command_that_cannot_be_run_fails_whatever_the_exit_code_means),
        cmocka_unit_test(what_the_log_said_last_is_told_with_the_failure),
        cmocka_unit_test(limits_are_named_when_a_signal_fits_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
