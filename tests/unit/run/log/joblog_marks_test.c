/* Marks: lines that say where an epoch begins or ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "run/log/joblog.h"

#include <string.h>

/* "epoch(3)@7 ", an end with a slash before it. */
static void note_mark(void *context, const struct mark *mark)
{
    assert_int_equal(mark->source, MARK_LOG);
    text_addf(context, "%s%s(%s)@%lld ", mark->is_end ? "/" : "", mark->name, mark->label,
              (long long)mark->t_ns);
}

static struct joblog *made(const struct joblog_pattern *patterns, size_t count, struct text *told)
{
    struct err err = {0};
    struct joblog *log = joblog_new(&(struct joblog_options){.log_fd = -1,
                                                             .times_fd = -1,
                                                             .patterns = patterns,
                                                             .pattern_count = count,
                                                             .mark = note_mark,
                                                             .context = told},
                                    &err);
    if (!log)
        fail_msg("%s", err.text);
    return log;
}

static void take(struct joblog *log, const char *text, int64_t now_ns)
{
    assert_true(joblog_add_bytes(log, text, strlen(text), now_ns, NULL));
}

static void each_matching_line_is_a_mark_with_its_time_of_arrival(void **state)
{
    (void)state;
    AUTO_TEXT struct text told = {0};
    const struct joblog_pattern pattern = {JOBLOG_MARK_START, "epoch", "^Epoch (\\d+)"};
    struct joblog *log = made(&pattern, 1, &told);
    take(log, "loading\nEpoch 1\nloss 3\n", 10);
    take(log, "Epo", 20);
    take(log, "ch 2\n", 30); /* complete only now */
    take(log, "Epoch 3", 40);
    assert_true(joblog_end(log, 50, NULL)); /* its last byte came at 40 */
    assert_string_equal(text_get(&told), "epoch(1)@10 epoch(2)@30 epoch(3)@40 ");
    assert_int_equal(joblog_result(log, 0)->matches, 3);
    assert_string_equal(joblog_result(log, 0)->text, "3");
    assert_false(joblog_result(log, 0)->has_number);
    joblog_free(log);
}

static void marks_of_several_patterns_come_in_the_order_of_their_lines(void **state)
{
    (void)state;
    AUTO_TEXT struct text told = {0};
    static const struct joblog_pattern patterns[] = {{JOBLOG_MARK_END, "epoch", "^end (\\d+)"},
                                                     {JOBLOG_METRIC, "loss", "loss (\\d+)"},
                                                     {JOBLOG_MARK_START, "epoch", "^begin (\\d+)"},
                                                     {JOBLOG_MARK_START, "any", "(\\d+)$"}};
    struct joblog *log = made(patterns, 4, &told);
    take(log, "begin 1\nend 1\nbegin 2\nloss 9\nend 2\n", 5);
    assert_string_equal(text_get(&told),
                        "epoch(1)@5 any(1)@5 /epoch(1)@5 any(1)@5 epoch(2)@5 any(2)@5 any(9)@5 "
                        "/epoch(2)@5 any(2)@5 ");
    assert_true(joblog_result(log, 1)->number == 9);
    joblog_free(log);
}

static void without_a_group_there_is_no_label(void **state)
{
    (void)state;
    AUTO_TEXT struct text told = {0};
    const struct joblog_pattern pattern = {JOBLOG_MARK_START, "epoch", "^Epoch \\d+"};
    struct joblog *log = made(&pattern, 1, &told);
    take(log, "Epoch 1\nEpoch 2\n", 1);
    assert_string_equal(text_get(&told), "epoch()@1 epoch()@1 ");
    joblog_free(log);
}

static void a_label_is_cut_and_made_legible(void **state)
{
    (void)state;
    AUTO_TEXT struct text told = {0};
    const struct joblog_pattern pattern = {JOBLOG_MARK_START, "e", "^E (.*)"};
    struct joblog *log = made(&pattern, 1, &told);
    char line[304] = "E ";
    memset(line + 2, 'x', 300);
    line[302] = '\n';
    take(log, line, 1);
    assert_int_equal(strspn(text_get(&told) + 2, "x"), MARK_LABEL_MAX);
    text_clear(&told);
    take(log, "E a\x1b[2J\n", 2); /* an escape sequence is no thing for a person's terminal */
    assert_string_equal(text_get(&told), "e(a\xEF\xBF\xBD[2J)@2 ");
    joblog_free(log);
}

static void marks_are_the_same_however_the_log_is_cut(void **state)
{
    (void)state;
    static const struct joblog_pattern patterns[] = {{JOBLOG_MARK_START, "a", "a(\\d+)"},
                                                     {JOBLOG_MARK_END, "b", "b(\\d+)"}};
    AUTO_TEXT struct text input = {0};
    AUTO_TEXT struct text expected = {0};
    for (int i = 0; i < 3000; i++) { /* more lines than one batch holds */
        text_addf(&input, "x b%d a%d%s", i, i, i % 3 ? "\n" : "\r\n");
        text_addf(&expected, "a(%d)@7 /b(%d)@7 ", i, i);
    }
    static const size_t chunks[] = {1, 2, 3, 7, 100, 4096, 1 << 20};
    for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++) {
        AUTO_TEXT struct text told = {0};
        struct joblog *log = made(patterns, 2, &told);
        for (size_t at = 0; at < input.length; at += chunks[c]) {
            size_t count = input.length - at < chunks[c] ? input.length - at : chunks[c];
            assert_true(joblog_add_bytes(log, input.data + at, count, 7, NULL));
        }
        assert_true(joblog_end(log, 7, NULL));
        assert_string_equal(text_get(&told), text_get(&expected));
        joblog_free(log);
    }
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_matching_line_is_a_mark_with_its_time_of_arrival),
        cmocka_unit_test(marks_of_several_patterns_come_in_the_order_of_their_lines),
        cmocka_unit_test(without_a_group_there_is_no_label),
        cmocka_unit_test(a_label_is_cut_and_made_legible),
        cmocka_unit_test(marks_are_the_same_however_the_log_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
