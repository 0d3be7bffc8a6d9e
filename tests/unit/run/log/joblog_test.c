/* Lines and what is found in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "run/log/joblog.h"

#include <string.h>
#include <sys/resource.h>

static void note_number(void *context, const char *name, double number)
{
    text_addf(context, "%s=%g ", name, number);
}

static struct joblog *made(const struct joblog_pattern *patterns, size_t count, struct text *told)
{
    struct err err = {0};
    struct joblog *log = joblog_new(&(struct joblog_options){.log_fd = -1,
                                                             .times_fd = -1,
                                                             .patterns = patterns,
                                                             .pattern_count = count,
                                                             .metric = told ? note_number : NULL,
                                                             .context = told},
                                    &err);
    if (!log)
        fail_msg("%s", err.text);
    return log;
}

static void take(struct joblog *log, const char *text)
{
    assert_true(joblog_add_bytes(log, text, strlen(text), 0, NULL));
}

/* numbered: as grep -c '' counts; matched: each of them also begins behind \r. */
static void assert_lines(const char *first, const char *second, uint64_t numbered, uint64_t matched)
{
    const struct joblog_pattern every = {JOBLOG_SIGN, "every", "^"};
    struct joblog *log = made(&every, 1, NULL);
    take(log, first);
    take(log, second);
    assert_true(joblog_end(log, 0, NULL));
    assert_int_equal(joblog_totals(log).lines, numbered);
    assert_int_equal(joblog_result(log, 0)->matches, matched);
    assert_int_equal(joblog_totals(log).bytes, strlen(first) + strlen(second));
    joblog_free(log);
}

static void lines_end_with_newline_carriage_return_or_both(void **state)
{
    (void)state;
    assert_lines("", "", 0, 0);
    assert_lines("a\nb\n", "", 2, 2);
    assert_lines("a\rb\r", "", 1, 2);
    assert_lines("a\r\nb\r\n", "", 2, 2);
    assert_lines("a\n\rb", "", 2, 3);
    assert_lines("a\r\r\n", "", 1, 2);
    assert_lines("\n", "", 1, 1);
    assert_lines("open", " line", 1, 1);
}

static void a_line_end_cut_in_two_is_one_line_end(void **state)
{
    (void)state;
    assert_lines("a\r", "\nb\n", 2, 2);
    assert_lines("a\r", "b\n", 1, 2);
    assert_lines("a\r", "", 1, 1);
    assert_lines("a\r\n", "\n", 2, 2);
    assert_lines("a\r", "\n", 1, 1);
}

/* 330 by the carriage returns of a progress bar, 327 by grep -n: the number is where an editor
 * goes. */
static void a_line_has_the_number_that_grep_gives_it(void **state)
{
    (void)state;
    static const size_t pieces[] = {1, 2, 7, 4096};
    AUTO_TEXT struct text bytes = {0};
    for (int i = 1; i < 327; i++)
        text_addf(&bytes,
                  i == 100 ? " 25%%\r 50%%\r100%%\r\n"
                  : i % 2  ? "epoch %d\n"
                           : "epoch %d\r\n",
                  i);
    text_add(&bytes, "CUDA out of memory\nbye\r");
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        const struct joblog_pattern pattern = {JOBLOG_SIGN, "memory", "out of memory"};
        struct joblog *log = made(&pattern, 1, NULL);
        for (size_t at = 0; at < bytes.length; at += pieces[i]) {
            size_t count = bytes.length - at < pieces[i] ? bytes.length - at : pieces[i];
            assert_true(joblog_add_bytes(log, bytes.data + at, count, 0, NULL));
        }
        struct joblog_words words;
        assert_true(joblog_end(log, 0, NULL));
        joblog_last_words(log, &words);
        assert_int_equal(joblog_result(log, 0)->line, 327);
        assert_int_equal(words.line, 327);
        assert_int_equal(joblog_totals(log).lines, 328);
        joblog_free(log);
    }
}

static void a_metric_takes_its_last_match(void **state)
{
    (void)state;
    AUTO_TEXT struct text told = {0};
    const struct joblog_pattern pattern = {JOBLOG_METRIC, "accuracy", "Accuracy[:\\s]+([0-9.]+)"};
    struct joblog *log = made(&pattern, 1, &told);
    take(log, "start\nAccuracy: 0.5 Accuracy: 0.6\nAccu");
    take(log, "racy: 0.75\nother\n");
    assert_true(joblog_end(log, 0, NULL));
    const struct joblog_result *result = joblog_result(log, 0);
    assert_int_equal(joblog_result_count(log), 1);
    assert_string_equal(result->name, "accuracy");
    assert_int_equal(result->matches, 2); /* lines, not places */
    assert_int_equal(result->line, 3);
    assert_true(result->has_number);
    assert_true(result->number == 0.75);
    assert_string_equal(result->text, "0.75");
    assert_string_equal(told.data, "accuracy=0.5 accuracy=0.75 ");
    joblog_free(log);
}

static void a_word_leaves_the_number_before_it(void **state)
{
    (void)state;
    const struct joblog_pattern pattern = {JOBLOG_METRIC, "loss", "loss (\\S+)"};
    struct joblog *log = made(&pattern, 1, NULL);
    take(log, "loss 0.25\nloss none\n");
    const struct joblog_result *result = joblog_result(log, 0);
    assert_int_equal(result->matches, 2);
    assert_true(result->has_number);
    assert_true(result->number == 0.25);
    assert_string_equal(result->text, "none");
    assert_int_equal(result->line, 2);
    joblog_free(log);
}

static void digits_that_cannot_be_read_leave_no_number(void **state)
{
    (void)state;
    const struct joblog_pattern pattern = {JOBLOG_METRIC, "loss", "loss (\\S+)"};
    static const char *const words[] = {"12,345", "0.93.", "1/3", "3it/s"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct joblog *log = made(&pattern, 1, NULL);
        AUTO_FREE char *line = mem_printf("loss %s\n", words[i]);
        take(log, "loss 0.25\n");
        take(log, line);
        assert_false(joblog_result(log, 0)->has_number);
        assert_string_equal(joblog_result(log, 0)->text, words[i]);
        take(log, "loss 1,234.5\n");
        assert_true(joblog_result(log, 0)->has_number);
        assert_true(joblog_result(log, 0)->number == 1234.5);
        joblog_free(log);
    }
}

static void a_number_at_the_cut_of_a_line_is_not_read(void **state)
{
    (void)state;
    const struct joblog_pattern patterns[] = {{JOBLOG_METRIC, "a", "loss=([0-9.]+)"},
                                              {JOBLOG_METRIC, "b", "named: loss"}};
    struct joblog *log = made(patterns, 2, NULL);
    AUTO_TEXT struct text line = {0};
    for (size_t i = 0; i < JOBLOG_LINE_MAX - 10; i++)
        text_add_char(&line, '.');
    text_add(&line, " loss=0.251234\n");
    take(log, "loss=0.5\n");
    assert_true(joblog_add_bytes(log, line.data, line.length, 0, NULL));
    assert_false(joblog_result(log, 0)->has_number);
    assert_int_equal(joblog_totals(log).cut_lines, 1);
    joblog_free(log);
}

static void a_log_of_16_bit_characters_is_seen(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t count;
        bool is_utf16;
    } logs[] = {{"\xFF\xFEl\0o\0", 6, true}, {"\xFE\xFF\0l\0o", 6, true}, {"l\0o\0s\0", 6, true},
                {"\0l\0o", 4, true},         {"loss", 4, false},          {"\0\0\0\0", 4, false}};
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        struct joblog *log = made(NULL, 0, NULL);
        assert_true(joblog_add_bytes(log, logs[i].bytes, logs[i].count, 0, NULL));
        assert_true(joblog_totals(log).is_utf16 == logs[i].is_utf16);
        joblog_free(log);
    }
}

static void a_metric_that_never_matched_has_nothing(void **state)
{
    (void)state;
    const struct joblog_pattern pattern = {JOBLOG_METRIC, "loss", "loss ([0-9]+)"};
    struct joblog *log = made(&pattern, 1, NULL);
    take(log, "nothing here\nloss\n 5\n"); /* \s and the like never reach over a line end */
    const struct joblog_result *result = joblog_result(log, 0);
    assert_int_equal(result->matches, 0);
    assert_false(result->has_number);
    assert_int_equal(result->line, 0);
    assert_string_equal(result->text, "");
    joblog_free(log);
}

static void success_and_error_keep_their_line(void **state)
{
    (void)state;
    const struct joblog_pattern patterns[] = {
        {JOBLOG_SUCCESS, "finished", "^Training (finished|done)"},
        {JOBLOG_ERROR, "^Traceback", "^Traceback \\(most recent call last\\)"},
    };
    struct joblog *log = made(patterns, 2, NULL);
    take(log, " Traceback (most recent call last):\nTraceback (most recent call "
              "last):\x1b[0m\nTraining done \xff in 5 s\n");
    assert_int_equal(joblog_result(log, 0)->role, JOBLOG_SUCCESS);
    assert_int_equal(joblog_result(log, 0)->matches, 1);
    assert_int_equal(joblog_result(log, 0)->line, 3);
    assert_string_equal(joblog_result(log, 0)->text, "Training done \uFFFD in 5 s");
    assert_false(joblog_result(log, 0)->has_number);
    assert_int_equal(joblog_result(log, 1)->matches, 1);
    assert_int_equal(joblog_result(log, 1)->line, 2);
    assert_string_equal(joblog_result(log, 1)->text, "Traceback (most recent call last):\uFFFD[0m");
    joblog_free(log);
}

static void what_matched_behind_a_long_progress_bar_is_what_is_kept(void **state)
{
    (void)state;
    const struct joblog_pattern pattern = {JOBLOG_ERROR, "e", "\\]Traceback"};
    struct joblog *log = made(&pattern, 1, NULL);
    for (int i = 0; i < 120; i++)
        take(log, "\u2588"); /* three bytes each */
    take(log, "| 99/100 [00:09]Traceback (most recent call last):\n");
    assert_int_equal(joblog_result(log, 0)->matches, 1);
    assert_string_equal(joblog_result(log, 0)->text, "]Traceback (most recent call last):");
    joblog_free(log);
}

static void a_line_is_matched_as_soon_as_it_ends_and_the_last_without_an_end(void **state)
{
    (void)state;
    const struct joblog_pattern pattern = {JOBLOG_METRIC, "n", "n=([0-9]+)"};
    struct joblog *log = made(&pattern, 1, NULL);
    take(log, "n=1");
    assert_int_equal(joblog_result(log, 0)->matches, 0);
    take(log, "2\r");
    assert_true(joblog_result(log, 0)->number == 12);
    take(log, "n=3");
    assert_int_equal(joblog_result(log, 0)->matches, 1);
    assert_true(joblog_end(log, 0, NULL));
    assert_true(joblog_result(log, 0)->number == 3);
    assert_int_equal(joblog_result(log, 0)->matches, 2);
    assert_int_equal(joblog_result(log, 0)->line, 1); /* no \n came */
    joblog_free(log);
}

static void a_line_is_matched_by_its_first_65536_bytes(void **state)
{
    (void)state;
    const struct joblog_pattern patterns[] = {{JOBLOG_METRIC, "in", "in=([0-9]+)"},
                                              {JOBLOG_METRIC, "out", "out=([0-9]+)"}};
    AUTO_FREE char *dots = mem_alloc(JOBLOG_LINE_MAX);
    memset(dots, '.', JOBLOG_LINE_MAX);
    for (int in_parts = 0; in_parts < 2; in_parts++) {
        struct joblog *log = made(patterns, 2, NULL);
        AUTO_TEXT struct text line = {0};
        text_add_bytes(&line, dots, JOBLOG_LINE_MAX - 5);
        text_add(&line, "in=7 out=8\nout=9\n");
        if (in_parts) {
            for (size_t i = 0; i < line.length; i += 1000)
                assert_true(joblog_add_bytes(
                    log, line.data + i, line.length - i < 1000 ? line.length - i : 1000, 0, NULL));
        } else {
            assert_true(joblog_add_bytes(log, line.data, line.length, 0, NULL));
        }
        assert_int_equal(joblog_totals(log).lines, 2);
        assert_true(joblog_result(log, 0)->number == 7);
        assert_int_equal(joblog_result(log, 1)->matches, 1);
        assert_int_equal(joblog_result(log, 1)->line, 2);
        joblog_free(log);
    }
}

static void limited_lines_are_counted_once_each(void **state)
{
    (void)state;
    const struct joblog_pattern patterns[] = {{JOBLOG_METRIC, "x", "(a+)+[bc]"},
                                              {JOBLOG_METRIC, "y", "(?:a|aa)+[bc]"}};
    static const char bad[] =
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    struct joblog *log = made(patterns, 2, NULL);
    take(log, bad);
    take(log, "\nfine\n");
    take(log, bad);
    take(log, "\naab\n");
    assert_int_equal(joblog_totals(log).limited_lines, 2);
    assert_int_equal(joblog_totals(log).lines, 4);
    assert_int_equal(joblog_result(log, 0)->matches, 1);
    assert_int_equal(joblog_result(log, 1)->matches, 1);
    joblog_free(log);
}

/* 20000 lines that each cost a full match limit (milliseconds) would take a minute and more; a
 * pattern over its budget goes through them quickly. */
static void a_log_of_pathological_lines_does_not_hang(void **state)
{
    enum { LINES = SANITIZED ? 500 : 20000 };
    (void)state;
    const struct joblog_pattern pattern = {JOBLOG_METRIC, "x", "(a+)+[bc]"};
    struct joblog *log = made(&pattern, 1, NULL);
    int64_t began_ns = clock_monotonic_ns();
    for (int i = 0; i < LINES; i++)
        take(log, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n");
    assert_int_equal(joblog_totals(log).lines, LINES);
    assert_int_equal(joblog_totals(log).limited_lines, LINES);
    assert_true(clock_monotonic_ns() - began_ns < 100 * NS_PER_S);
    joblog_free(log);
}

static void memory_stays_the_same_whatever_arrives(void **state)
{
    (void)state;
    const struct joblog_pattern patterns[] = {{JOBLOG_METRIC, "a", "a=([0-9]+)"},
                                              {JOBLOG_METRIC, "b", "\\d+%"}};
    AUTO_FREE char *chunk = mem_alloc(1 << 20);
    memset(chunk, 'z', 1 << 20);
    struct joblog *log = made(patterns, 2, NULL);
    assert_true(joblog_add_bytes(log, chunk, 1 << 20, 0, NULL));
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < 64; i++) /* one line of 64 MiB */
        assert_true(joblog_add_bytes(log, chunk, 1 << 20, 0, NULL));
    memset(chunk, '\n', 1 << 20);
    for (int i = 0; i < 2; i++) /* and two million empty ones */
        assert_true(joblog_add_bytes(log, chunk, 1 << 20, 0, NULL));
    getrusage(RUSAGE_SELF, &after);
    assert_int_equal(joblog_totals(log).lines, 2 << 20);
    assert_true(after.ru_maxrss - before.ru_maxrss < 16 * 1024); /* KiB */
    joblog_free(log);
}

static void a_bad_pattern_is_named(void **state)
{
    (void)state;
    const struct joblog_pattern patterns[] = {{JOBLOG_METRIC, "good", "x"},
                                              {JOBLOG_METRIC, "accuracy", "(x"}};
    struct err err = {0};
    assert_null(joblog_new(
        &(struct joblog_options){
            .log_fd = -1, .times_fd = -1, .patterns = patterns, .pattern_count = 2},
        &err));
    assert_string_equal(err.text, "pattern accuracy: missing closing parenthesis at character 3");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_end_with_newline_carriage_return_or_both),
        cmocka_unit_test(a_line_end_cut_in_two_is_one_line_end),
        cmocka_unit_test(a_line_has_the_number_that_grep_gives_it),
        cmocka_unit_test(a_metric_takes_its_last_match),
        cmocka_unit_test(a_word_leaves_the_number_before_it),
        cmocka_unit_test(digits_that_cannot_be_read_leave_no_number),
        cmocka_unit_test(a_number_at_the_cut_of_a_line_is_not_read),
        cmocka_unit_test(a_log_of_16_bit_characters_is_seen),
        cmocka_unit_test(a_metric_that_never_matched_has_nothing),
        cmocka_unit_test(success_and_error_keep_their_line),
        cmocka_unit_test(what_matched_behind_a_long_progress_bar_is_what_is_kept),
        cmocka_unit_test(a_line_is_matched_as_soon_as_it_ends_and_the_last_without_an_end),
        cmocka_unit_test(a_line_is_matched_by_its_first_65536_bytes),
        cmocka_unit_test(limited_lines_are_counted_once_each),
        cmocka_unit_test(a_log_of_pathological_lines_does_not_hang),
        cmocka_unit_test(memory_stays_the_same_whatever_arrives),
        cmocka_unit_test(a_bad_pattern_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
