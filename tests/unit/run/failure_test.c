/* What made an attempt fail, told apart, with the line of the log that showed it. */
#include "gpu_memory/oom/line.h"
#include "gpu_memory/oom/oom.h"
#include "run/outcome.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static const struct limits no_limits;

/* Judged as a run judges it, of a job whose exit code counts. */
static struct failure failure_of(struct outcome_facts facts)
{
    static const struct plan_job job = {.exit_code_required = true};
    struct failure failure;
    char *error;
    if (!facts.limits)
        facts.limits = &no_limits;
    enum outcome outcome = outcome_judge(&job, &facts, &error);
    free(error);
    failure_find(&job, &facts, outcome, &failure);
    return failure;
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

static void assert_failure(struct failure failure, const char *cause, uint64_t line,
                           const char *text, const char *why)
{
    assert_string_equal(failure_cause_name(failure.cause), cause);
    assert_int_equal(failure.line, line);
    assert_string_equal(failure.text, text);
    assert_string_equal(failure.why, why);
}

static void an_attempt_that_succeeded_has_no_failure(void **state)
{
    (void)state;
    struct failure failure = failure_of(exit_with(0));
    assert_failure(failure, "none", 0, "", "");
    json_t *json = failure_json(&failure);
    assert_true(json_is_null(json));
    json_decref(json);
}

static void an_exit_code_comes_with_what_the_log_said_last(void **state)
{
    (void)state;
    struct joblog_words words = {
        .kind = JOBLOG_WORDS_EXCEPTION, .line = 40, .text = "ValueError: bad"};
    struct outcome_facts facts = exit_with(1);
    facts.words = &words;
    facts.log_lines = 41;
    struct failure failure = failure_of(facts);
    assert_failure(failure, "exit_code", 40, "ValueError: bad", "exit code 1");
    json_t *json = failure_json(&failure);
    char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(text, "{\"cause\":\"exit_code\",\"line\":40,\"text\":\"ValueError: "
                              "bad\",\"why\":\"exit code 1\"}");
    free(text);
    json_decref(json);
}

static void an_exit_code_by_which_a_shell_tells_of_a_signal_says_so(void **state)
{
    (void)state;
    assert_failure(failure_of(exit_with(139)), "exit_code", 0, "",
                   "exit code 139: what a shell gives when SIGSEGV ended its command");
    assert_failure(failure_of(exit_with(255)), "exit_code", 0, "", "exit code 255");
}

static void a_signal_is_named(void **state)
{
    (void)state;
    assert_failure(failure_of(killed_by(SIGSEGV)), "killed_by_signal", 0, "",
                   "signal 11 (SIGSEGV)");
    assert_failure(failure_of(killed_by(SIGKILL)), "killed_by_signal", 0, "", "signal 9 (SIGKILL)");
}

static void the_kernel_that_wanted_memory_is_told_from_other_killers(void **state)
{
    (void)state;
    struct outcome_facts facts = killed_by(SIGKILL);
    facts.usage.oom_kills = 1;
    assert_failure(failure_of(facts), "oom_killed", 0, "",
                   "the kernel ended 1 process for want of memory: memory.events of its cgroup");
    facts.usage.oom_kills = 0;
    facts.machine_kills = 2;
    assert_failure(failure_of(facts), "oom_killed", 0, "",
                   "the kernel ended 2 processes for want of memory: /proc/vmstat of the machine, "
                   "and SIGKILL ended the "
                   "command");
    /* A worker was ended, and the command gave up. */
    facts = exit_with(1);
    facts.usage.oom_kills = 3;
    assert_string_equal(failure_cause_name(failure_of(facts).cause), "oom_killed");
    facts = exit_with(137); /* of the shell that started it */
    facts.machine_kills = 1;
    assert_string_equal(failure_cause_name(failure_of(facts).cause), "oom_killed");
    /* Somebody else's process was ended meanwhile. */
    facts = exit_with(1);
    facts.machine_kills = 1;
    assert_string_equal(failure_cause_name(failure_of(facts).cause), "exit_code");
    facts = killed_by(SIGTERM);
    facts.machine_kills = 1;
    assert_string_equal(failure_cause_name(failure_of(facts).cause), "killed_by_signal");
}

static void a_line_about_gpu_memory_or_space_near_the_end_is_the_cause(void **state)
{
    (void)state;
    struct joblog_result memory = {.role = JOBLOG_SIGN,
                                   .name = "out_of_memory",
                                   .matches = 1,
                                   .line = 801,
                                   .text = "CUDA out of memory."};
    struct joblog_result disk = {.role = JOBLOG_SIGN,
                                 .name = "disk_full",
                                 .matches = 1,
                                 .line = 990,
                                 .text = "OSError: [Errno 28] No space left on device"};
    const struct joblog_result *results[] = {&memory, &disk};
    struct outcome_facts facts = exit_with(1);
    facts.results = results;
    facts.result_count = 2;
    facts.log_lines = 1000;
    assert_failure(failure_of(facts), "disk_full", 990,
                   "OSError: [Errno 28] No space left on device", "");
    disk.matches = 0;
    assert_failure(failure_of(facts), "out_of_memory", 801, "CUDA out of memory.", "");
    facts.exit = killed_by(SIGABRT).exit;
    assert_failure(failure_of(facts), "out_of_memory", 801, "CUDA out of memory.", "");
    memory.line = 800; /* 200 lines came behind it: it was survived */
    assert_failure(failure_of(facts), "killed_by_signal", 0, "", "signal 6 (SIGABRT)");
    memory.line = 1000;
    facts.exit = exit_with(0).exit; /* a training that went on is none that failed */
    assert_failure(failure_of(facts), "none", 0, "", "");
}

static void patterns_that_are_not_met_are_named(void **state)
{
    (void)state;
    struct joblog_result saved = {.role = JOBLOG_SUCCESS, .name = "model saved"};
    struct joblog_result nan = {
        .role = JOBLOG_ERROR, .name = "nan", .matches = 1, .line = 12, .text = "loss: nan"};
    const struct joblog_result *results[] = {&saved, &nan};
    struct outcome_facts facts = exit_with(0);
    facts.results = results;
    facts.result_count = 2;
    assert_failure(failure_of(facts), "pattern", 12, "loss: nan",
                   "the line matches the error pattern 'nan'");
    nan.matches = 0;
    assert_failure(failure_of(facts), "pattern", 0, "",
                   "no line matches the success pattern 'model saved'");
    facts.exit.code = 2;
    assert_failure(failure_of(facts), "exit_code", 0, "", "exit code 2");
    nan.matches = 1;
    assert_failure(failure_of(facts), "exit_code", 12, "loss: nan", "exit code 2");
}

static void what_tare_itself_stopped_is_told_as_that(void **state)
{
    (void)state;
    struct outcome_facts facts = killed_by(SIGKILL);
    facts.reason = STOP_TIMEOUT;
    assert_failure(failure_of(facts), "timeout", 0, "", "");
    facts.reason = STOP_LIMIT;
    facts.detail = "used more than its limit of 5 s of CPU time";
    assert_failure(failure_of(facts), "limit", 0, "",
                   "used more than its limit of 5 s of CPU time");
    facts.reason = STOP_INTERRUPTED;
    assert_failure(failure_of(facts), "none", 0, "", "");
    static const struct limits limits = {.job.cpu_time_s = 5};
    facts = killed_by(SIGXCPU);
    facts.limits = &limits;
    assert_failure(failure_of(facts), "limit", 0, "", "signal 24 (SIGXCPU)");
}

static void what_never_began_says_why(void **state)
{
    (void)state;
    struct outcome_facts facts = {.reason = STOP_NOT_STARTED, .detail = "cannot start: fork"};
    assert_failure(failure_of(facts), "not_started", 0, "", "cannot start: fork");
    facts = (struct outcome_facts){
        .reason = STOP_EXITED,
        .exit = {.ended = true, .code = 127, .exec_failed = true, .exec_errno = ENOENT}};
    assert_failure(failure_of(facts), "not_started", 0, "", "No such file or directory");
}

static void a_log_that_cannot_be_written_is_a_full_disk_or_not(void **state)
{
    (void)state;
    struct outcome_facts facts = {
        .reason = STOP_LOG_ERROR, .detail = "write the log", .log_errno = ENOSPC};
    assert_failure(failure_of(facts), "disk_full", 0, "", "write the log");
    facts.log_errno = EDQUOT;
    assert_string_equal(failure_cause_name(failure_of(facts).cause), "disk_full");
    facts.log_errno = EIO;
    assert_string_equal(failure_cause_name(failure_of(facts).cause), "log_error");
}

/* The words that joblog searches for pass over no line that the test knows. */
static void the_search_finds_every_line_that_counts(void **state)
{
    (void)state;
    static const char log[] =
        "epoch 1\n"
        "CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
        "0 out of memory slots\n"
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling\r\n"
        "3 samples out of memory bank\n"
        "tee: log: No space left on device\n";
    struct joblog_pattern patterns[FAILURE_SIGNS];
    for (size_t i = 0; i < FAILURE_SIGNS; i++)
        failure_get_sign(i, &patterns[i]);
    struct joblog_options options = {.log_fd = -1,
                                     .times_fd = -1,
                                     .patterns = patterns,
                                     .pattern_count = FAILURE_SIGNS,
                                     .holds = failure_sign_matches};
    struct joblog *joblog = joblog_new(&options, NULL);
    assert_non_null(joblog);
    assert_true(joblog_add_bytes(joblog, log, sizeof log - 1, 1, NULL));
    assert_true(joblog_end(joblog, 2, NULL));
    assert_int_equal(joblog_result(joblog, 0)->matches, 2);
    assert_int_equal(joblog_result(joblog, 0)->line, 4);
    assert_string_equal(joblog_result(joblog, 0)->text,
                        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling");
    assert_int_equal(joblog_result(joblog, 1)->matches, 1);
    assert_int_equal(joblog_result(joblog, 1)->line, 6);
    joblog_free(joblog);
}

static void the_search_misses_no_phrase_of_a_gpu_whose_memory_ran_out(void **state)
{
    (void)state;
    struct joblog_pattern pattern;
    failure_get_sign(0, &pattern);
    struct joblog_options options = {.log_fd = -1,
                                     .times_fd = -1,
                                     .patterns = &pattern,
                                     .pattern_count = 1,
                                     .holds = failure_sign_matches};
    struct joblog *joblog = joblog_new(&options, NULL);
    assert_non_null(joblog);
    uint64_t lines = 0;
    for (const struct oom_phrase *phrase = oom_phrases; phrase->text; phrase++) {
        if (oom_line_framework(phrase->text, strlen(phrase->text)) == OOM_NONE)
            continue;
        assert_true(joblog_add_bytes(joblog, phrase->text, strlen(phrase->text), 1, NULL));
        assert_true(joblog_add_bytes(joblog, "\n", 1, 1, NULL));
        if (joblog_result(joblog, 0)->line != ++lines)
            fail_msg("not found: %s", phrase->text);
    }
    assert_true(lines > 30);
    joblog_free(joblog);
}

/* What each shell wrote of `python3 die.py 9` and the like, and of pipes with it: copied from their
 * output. */
static void what_shells_write_of_a_program_that_a_signal_ended_is_found(void **state)
{
    (void)state;
    static const char *const lines[] = {
        /* bash 5.2: a script; -c; the second of a pipe; a script with a blank in its name; a dump;
           interactive */
        "./b.sh: line 1:  3465 Killed                  python3 die.py $1",
        "./b.sh: line 1:  3570 Segmentation fault      python3 die.py $1",
        "./b.sh: line 1:  9191 Aborted                 python3 die.py $1",
        "./b.sh: line 1:  9300 Bus error               python3 die.py $1",
        "bash: line 1:  9618 Killed                  python3 die.py 9",
        "bash: 14765 Killed                  python3 die.py 9 > /dev/null 2>&1",
        "      3697 Killed                  | python3 die.py $1",
        "my dir/my train.sh: line 1: 13366 Killed                  python3 die.py $1",
        "./b.sh: line 1: 12226 Segmentation fault      (core dumped) python3 die.py $1",
        "Killed                  python3 die.py 9 | tee log",
        /* dash 0.5 and busybox 1.35; mksh 59 */
        "Killed",
        "Segmentation fault",
        "Segmentation fault (core dumped)",
        "Aborted",
        "Aborted (core dumped)",
        "Bus error",
        "Killed ",
        "Segmentation fault (core dumped) ",
        /* ksh93 */
        "./b.sh: line 1: 6609: Killed",
        "./b.sh: line 1: 6712: Memory fault",
        "./b.sh: line 1: 12907: Memory fault(coredump)",
        "./b.sh: line 1: 11020: Abort",
        "ksh93: 11440: Killed",
        "./e.sh[5]: wait: 7219: Killed",
        /* zsh 5.9, interactive: a script of it says nothing */
        "zsh: killed     python3 die.py 9",
        "zsh: segmentation fault (core dumped)  python3 die.py 11",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!failure_sign_matches("shell", lines[i], strlen(lines[i])))
            fail_msg("not found: %s", lines[i]);
}

static void a_training_that_speaks_of_being_killed_is_no_shell(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "Killed 3 enemies in episode 5",
        "Killed: 12",
        "Killed    12",
        "episode 7: 5 Killed",
        "episode 7: 5 Killed   2 wounded",
        "worker 12 was Killed",
        "step 5: Aborted early, patience 3",
        "Aborted!",
        "Aborted by user",
        " Killed",
        "Killed.",
        "12 Killed",
        "    12 Killed                  3",
        "loss: 3: Aborted at once",
        "Segmentation fault loss 0.5",
        "Segmentation faults: 0",
        "zsh: killed",
        "Bus errors                0",
        "| Killed                  | 12 |",
        "Memory fault",
        "Abort",
        "total: Killed                  12",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (failure_sign_matches("shell", lines[i], strlen(lines[i])))
            fail_msg("found: %s", lines[i]);
}

/* Of a training that exited with 0, under all rules. */
static struct failure failure_by_rules(struct outcome_facts facts, struct success_rules rules)
{
    const struct plan_job job = {.exit_code_required = true, .rules = rules};
    struct failure failure;
    char *error;
    facts.limits = &no_limits;
    enum outcome outcome = outcome_judge(&job, &facts, &error);
    failure_find(&job, &facts, outcome, &failure);
    assert_int_equal(outcome == OUTCOME_FAILED, error != NULL);
    free(error);
    return failure;
}

static void metrics_that_are_asked_for_decide(void **state)
{
    (void)state;
    struct joblog_result loss = {.role = JOBLOG_METRIC, .name = "loss"},
                         accuracy = {.role = JOBLOG_METRIC, .name = "accuracy"};
    const struct joblog_result *results[] = {&loss, &accuracy};
    struct outcome_facts facts = exit_with(0);
    facts.results = results;
    facts.result_count = 2;
    assert_int_equal(failure_by_rules(facts, (struct success_rules){.metrics = METRICS_ANY}).cause,
                     FAILURE_NO_METRIC);
    assert_int_equal(
        failure_by_rules(facts, (struct success_rules){.metrics = METRICS_OPTIONAL}).cause,
        FAILURE_NONE);
    loss.matches = 1;
    assert_int_equal(failure_by_rules(facts, (struct success_rules){.metrics = METRICS_ANY}).cause,
                     FAILURE_NONE);
    struct failure failure =
        failure_by_rules(facts, (struct success_rules){.metrics = METRICS_REQUIRED});
    assert_int_equal(failure.cause, FAILURE_NO_METRIC);
    assert_non_null(strstr(failure.why, "not every metric was found in the log (accuracy)"));
    accuracy.matches = 1;
    assert_int_equal(
        failure_by_rules(facts, (struct success_rules){.metrics = METRICS_REQUIRED}).cause,
        FAILURE_NONE);
    facts.result_count = 0;
    assert_int_equal(
        failure_by_rules(facts, (struct success_rules){.metrics = METRICS_REQUIRED}).cause,
        FAILURE_NONE);
}

static void each_cause_that_an_exit_code_hides_can_be_switched_off(void **state)
{
    (void)state;
    struct joblog_result message = {
        .role = JOBLOG_SIGN, .name = "shell", .matches = 1, .line = 2, .text = "Killed"};
    const struct joblog_result *results[] = {&message};
    struct outcome_facts shell = exit_with(0), kill = exit_with(0), orphan = exit_with(0);
    shell.results = results;
    shell.result_count = 1;
    shell.log_lines = 5000; /* however far above the end it is */
    kill.usage.oom_kills = 1;
    orphan.exit.orphans = 1;
    orphan.exit.orphan_signal = SIGSEGV;
    const struct {
        struct outcome_facts facts;
        unsigned flag;
        enum failure_cause cause;
    } cases[] = {{shell, FAIL_ON_SHELL_MESSAGE, FAILURE_KILLED_BY_SIGNAL},
                 {kill, FAIL_ON_OOM_KILL, FAILURE_OOM_KILLED},
                 {orphan, FAIL_ON_MEMBER_SIGNAL, FAILURE_KILLED_BY_SIGNAL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct success_rules on = {.fail_on = cases[i].flag},
                             off = {.fail_on = FAIL_ON_ALL & ~cases[i].flag};
        assert_int_equal(failure_by_rules(cases[i].facts, on).cause, cases[i].cause);
        assert_int_equal(failure_by_rules(cases[i].facts, off).cause, FAILURE_NONE);
    }
    struct failure failure =
        failure_by_rules(shell, (struct success_rules){.fail_on = FAIL_ON_ALL});
    assert_int_equal(failure.line, 2);
    assert_string_equal(failure.text, "Killed");
    assert_non_null(strstr(failure.why, "pipefail"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_attempt_that_succeeded_has_no_failure),
        cmocka_unit_test(an_exit_code_comes_with_what_the_log_said_last),
        cmocka_unit_test(an_exit_code_by_which_a_shell_tells_of_a_signal_says_so),
        cmocka_unit_test(a_signal_is_named),
        cmocka_unit_test(the_kernel_that_wanted_memory_is_told_from_other_killers),
        cmocka_unit_test(a_line_about_gpu_memory_or_space_near_the_end_is_the_cause),
        cmocka_unit_test(patterns_that_are_not_met_are_named),
        cmocka_unit_test(what_tare_itself_stopped_is_told_as_that),
        cmocka_unit_test(what_never_began_says_why),
        cmocka_unit_test(a_log_that_cannot_be_written_is_a_full_disk_or_not),
        cmocka_unit_test(the_search_misses_no_phrase_of_a_gpu_whose_memory_ran_out),
        cmocka_unit_test(the_search_finds_every_line_that_counts),
        cmocka_unit_test(what_shells_write_of_a_program_that_a_signal_ended_is_found),
        cmocka_unit_test(a_training_that_speaks_of_being_killed_is_no_shell),
        cmocka_unit_test(metrics_that_are_asked_for_decide),
        cmocka_unit_test(each_cause_that_an_exit_code_hides_can_be_switched_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
