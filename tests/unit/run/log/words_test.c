/* Which line of a log tells a person what went wrong. The texts are what the programs named
 * print. */
#include "run/log/words.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static void assert_says(const char *log, enum joblog_words_kind kind, const char *text)
{
    struct joblog_words words;
    words_pick(log, strlen(log), &words);
    assert_string_equal(words.text, text);
    assert_int_equal(words.kind, kind);
}

static void the_exception_of_a_traceback_is_told_not_its_head(void **state)
{
    (void)state;
    assert_says("epoch 1\nTraceback (most recent call last):\n  File \"t.py\", line 3, in "
                "<module>\n    f()\n"
                "ValueError: bad value\n",
                JOBLOG_WORDS_EXCEPTION, "ValueError: bad value");
    assert_says(
        "Traceback (most recent call last):\n  File \"t.py\", line 3, in <module>\n    f()\n"
        "RuntimeError: CUDA error: device-side assert triggered\nCUDA kernel errors might be "
        "asynchronous\n"
        "Compile with TORCH_USE_CUDA_DSA\n\n",
        JOBLOG_WORDS_EXCEPTION, "RuntimeError: CUDA error: device-side assert triggered");
}

static void of_chained_exceptions_the_last_is_told(void **state)
{
    (void)state;
    assert_says("Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    "
                "x[1]\nKeyError: 1\n\n"
                "During handling of the above exception, another exception occurred:\n\n"
                "Traceback (most recent call last):\n  File \"a.py\", line 2, in <module>\n    "
                "g()\nOSError: no disk",
                JOBLOG_WORDS_EXCEPTION, "OSError: no disk");
}

static void a_prefix_before_every_line_is_taken_off(void **state)
{
    (void)state;
    assert_says(
        "[rank0]: Traceback (most recent call last):\n[rank1]: noise\n[rank0]:   File \"t.py\", "
        "line 1\n"
        "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\r\n",
        JOBLOG_WORDS_EXCEPTION,
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.");
}

static void a_progress_bar_before_the_head_is_no_prefix(void **state)
{
    (void)state;
    assert_says("  8%|8         | 1/12 [00:01<00:10,  1.1it/s]Traceback (most recent call last):\n"
                "  File \"t.py\", line 3, in <module>\n    f()\nValueError: bad batch\n",
                JOBLOG_WORDS_EXCEPTION, "ValueError: bad batch");
    assert_says("  0%| | 0/12\r  8%| | 1/12 [00:01]   Traceback (most recent call last):\r\n"
                "  File \"t.py\", line 3\r\nKeyError: 'x'\r\n",
                JOBLOG_WORDS_EXCEPTION, "KeyError: 'x'");
    /* Another process's line is none of its. */
    assert_says(
        "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"t.py\", line 1\nepoch 2\n",
        JOBLOG_WORDS_LINE, "epoch 2");
}

static void a_traceback_without_an_end_leaves_it_to_the_lines(void **state)
{
    (void)state;
    assert_says("Traceback (most recent call last):\n  File \"t.py\", line 3, in <module>\n",
                JOBLOG_WORDS_LINE, "File \"t.py\", line 3, in <module>");
}

static void a_traceback_that_the_program_survived_is_not_told(void **state)
{
    (void)state;
    char log[4096] = "Traceback (most recent call last):\n  f()\nValueError: bad\n";
    for (int i = 0; i < 40; i++)
        strcat(log, "epoch goes on\n");
    assert_says(log, JOBLOG_WORDS_LINE, "epoch goes on");
}

static void without_a_traceback_the_last_complaint_is_told(void **state)
{
    (void)state;
    assert_says("usage: train.py [-h] [--lr LR]\ntrain.py: error: unrecognized arguments: "
                "--momentum 0.9\nbye\n",
                JOBLOG_WORDS_COMPLAINT, "train.py: error: unrecognized arguments: --momentum 0.9");
    assert_says("terminate called after throwing an instance of 'std::runtime_error'\n  what():  "
                "disk failed\n",
                JOBLOG_WORDS_COMPLAINT, "what():  disk failed");
    assert_says("epoch 3\rSegmentation fault (core dumped)\r", JOBLOG_WORDS_COMPLAINT,
                "Segmentation fault (core dumped)");
}

static void a_measured_error_is_no_complaint(void **state)
{
    (void)state;
    assert_says("epoch 1 test error: 0.25\nepoch 2 test error = .2\nsaved\n", JOBLOG_WORDS_LINE,
                "saved");
    assert_says("epoch 1 test error: 0.25\nepoch 2 errors 12\nsaved\n \n\n", JOBLOG_WORDS_LINE,
                "saved");
}

static void blanks_alone_are_nothing(void **state)
{
    (void)state;
    assert_says("", JOBLOG_WORDS_NONE, "");
    assert_says(" \n\t\r\n\n", JOBLOG_WORDS_NONE, "");
}

static void what_is_no_text_is_made_fit_to_be_shown(void **state)
{
    (void)state;
    assert_says("\x1B[31mERROR\x1B[0m \xFF\n", JOBLOG_WORDS_COMPLAINT,
                "\xEF\xBF\xBD[31mERROR\xEF\xBF\xBD[0m \xEF\xBF\xBD");
}

static void assert_line(const char *end_of_log, uint64_t lines, const char *text, uint64_t line)
{
    struct tail *tail = calloc(1, sizeof *tail);
    struct joblog_words words;
    tail_add(tail, end_of_log, strlen(end_of_log));
    tail_words(tail, lines, &words);
    assert_string_equal(words.text, text);
    assert_int_equal(words.line, line);
    free(tail);
}

/* Lines end with \n, \r or both together, but \r alone does not count, as with grep -n; of a long
 * log only the end is kept. */
static void the_line_that_is_told_has_its_number_in_the_whole_log(void **state)
{
    (void)state;
    assert_line("one\ntwo\n", 2, "two", 2);
    assert_line("one\ntwo\n\n \n", 4, "two", 2);
    assert_line("one\r\nan error\r\nthree\r\n", 3, "an error", 2);
    assert_line("10 %\r20 %\r30 %\rfailed\rbye", 1, "failed", 1);
    assert_line("one\n10 %\r20 %\r\nfailed\r\nbye\n", 4, "failed", 3);
    assert_line("half a line\nfatal\nbye\n", 1000, "fatal", 999);
    assert_line("Traceback (most recent call last):\n  f()\nValueError: bad\nbye\n", 54,
                "ValueError: bad", 53);
}

/* Whatever the pieces in which a stream arrives, its last bytes are kept, in order. */
static void the_tail_is_the_end_of_the_stream(void **state)
{
    (void)state;
    static const size_t pieces[] = {
        1, 7, 4096, WORDS_TAIL - 1, WORDS_TAIL, WORDS_TAIL + 1, 3 * WORDS_TAIL};
    size_t length = 5 * WORDS_TAIL;
    char *stream = malloc(length);
    for (size_t piece = 0; piece < sizeof pieces / sizeof *pieces; piece++) {
        struct tail *tail = calloc(1, sizeof *tail);
        struct joblog_words words;
        memset(stream, ' ', length);
        memcpy(stream + length - WORDS_TAIL - 6, "error!", 6); /* just outside */
        memcpy(stream + length - WORDS_TAIL, "first", 5);
        for (size_t at = 0; at < length; at += pieces[piece]) {
            size_t count = length - at < pieces[piece] ? length - at : pieces[piece];
            tail_add(tail, stream + at, count);
        }
        assert_int_equal(tail->used, WORDS_TAIL);
        tail_words(tail, 1, &words);
        assert_string_equal(words.text, "first");
        free(tail);
    }
    free(stream);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_exception_of_a_traceback_is_told_not_its_head),
        cmocka_unit_test(of_chained_exceptions_the_last_is_told),
        cmocka_unit_test(a_prefix_before_every_line_is_taken_off),
        cmocka_unit_test(a_progress_bar_before_the_head_is_no_prefix),
        cmocka_unit_test(a_traceback_without_an_end_leaves_it_to_the_lines),
        cmocka_unit_test(a_traceback_that_the_program_survived_is_not_told),
        cmocka_unit_test(without_a_traceback_the_last_complaint_is_told),
        cmocka_unit_test(a_measured_error_is_no_complaint),
        cmocka_unit_test(blanks_alone_are_nothing),
        cmocka_unit_test(what_is_no_text_is_made_fit_to_be_shown),
        cmocka_unit_test(the_line_that_is_told_has_its_number_in_the_whole_log),
        cmocka_unit_test(the_tail_is_the_end_of_the_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
