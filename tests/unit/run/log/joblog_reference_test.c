/* The joblog against a slow and obvious reference, over random logs cut at random places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/rng.h"
#include "base/text.h"
#include "run/log/joblog.h"
#include "tests/unit/run/log/reference.h"

#include <sys/mman.h>
#include <unistd.h>

static const char *const sources[] = {
    "Accuracy[:\\s()]+([0-9.]+)",
    "(?:Accuracy|准确率)[:\\s()]+([0-9.]+)",
    "^Traceback \\(most recent call last\\)",
    "loss\\s*=\\s*([0-9.eE+-]+)",
    "loss=(\\S+)",
    "loss=(.*?) ",
    "loss=([0-9.]+)$",
    "^loss",
    "done$",
    "^$",
    "^\\s*$",
    "\\s",
    "\\s+$",
    "^\\s+loss",
    "a\\nb",
    "a\\s*b",
    "a[^x]*b",
    "(?s)a.b",
    "(?s)loss.*done",
    "(?m)^loss",
    "(?m)done$",
    "\\Aloss",
    "done\\z",
    "done\\Z",
    "(?<=loss=)[0-9]+",
    "(?<!x)loss",
    "loss(?!=)",
    "loss(?=\\s)",
    "(?<=\\n)loss",
    "x*",
    "",
    ".",
    "^.*$",
    "\\bdone\\b",
    "(?i)ACCURACY",
    "(?x) loss = ([0-9.]+) # a comment",
    "(a|b)\\1",
    "(?<n>[0-9]+)%",
    "(?>loss=)1",
    "a++b",
    "\\R",
    "done\\Kx?",
    "[^\\n]+",
    "[^a]done",
    "(?:loss|done)(?:=|$)",
    "é",
    "\\x{e9}",
    "[éa]b",
    "\\Qloss=\\E1",
    "loss=1|done|^a",
    "(?s:.)done",
    "Accuracy.{0,5}?([0-9])",
    "\\W",
    "\\D\\d",
    "(loss)?done",
    "aa|bb|\\d\\d",
    "\\h",
    "\\N",
    "\\v",
    "\\X",
    "\\r?$",
    "(?:x|loss=)nan",
    "loss=(nan|inf|-?\\d+)",
    "准",
    "a{2}",
    "b{0}done",
    "[[:digit:]]{3}",
    "(?|loss=(1)|acc=(2))",
    "^(?:.{3}){2}",
    "\\G.",
    "(?=.*loss)(?=.*done)",
};

#define SOURCE_COUNT (sizeof sources / sizeof *sources)
#define CHOSEN_MAX   8

static const char *const parts[] = {
    "loss",
    "loss=",
    "loss = ",
    "done",
    "Accuracy: ",
    "Accuracy(",
    "准确率: ",
    "0.93",
    "1",
    "12",
    "1e-5",
    "nan",
    "-inf",
    "0.93.",
    "a",
    "b",
    "ab",
    "aa",
    "x",
    " ",
    "\t",
    "%",
    "é",
    "\xe9",
    "\xc3",
    "\xff",
    "\xe5\x87",
    "\x1b[31m",
    "Traceback (most recent call last):",
    ".",
    "acc=2",
    "1234567890123456789012345",
    "ACCURACY",
    "\v",
    "\f",
    "\xc2\x85",
    "\xe2\x80\xa8",
    "=",
    "(",
    ")",
};

static struct reference all[SOURCE_COUNT];

static int compile_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < SOURCE_COUNT; i++)
        if (!reference_init(&all[i], sources[i]))
            return -1;
    return 0;
}

static int free_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < SOURCE_COUNT; i++)
        reference_fini(&all[i]);
    return 0;
}

static void add_end(struct rng *rng, struct text *log)
{
    static const char *const ends[] = {"\n",   "\n",   "\n",     "\n",   "\r",
                                       "\r\n", "\n\n", "\r\r\n", "\n\r", "\r\n\r\n"};
    text_add(log, ends[rng_below(rng, sizeof ends / sizeof *ends)]);
}

/* Lines of about mean parts each. */
static void random_log(struct rng *rng, size_t size, uint64_t mean, struct text *log)
{
    text_clear(log);
    while (log->length < size) {
        if (rng_below(rng, mean + 1) == 0)
            add_end(rng, log);
        else if (rng_below(rng, 40) == 0)
            text_add_char(log, (char)rng_below(rng, 256));
        else
            text_add(log, parts[rng_below(rng, sizeof parts / sizeof *parts)]);
    }
    if (rng_below(rng, 2))
        add_end(rng, log);
}

/* In chunks of 1 to most bytes. */
static void feed(struct rng *rng, struct joblog *log, const struct text *bytes, uint64_t most)
{
    for (size_t at = 0; at < bytes->length;) {
        size_t count = 1 + (size_t)rng_below(rng, most);
        if (count > bytes->length - at)
            count = bytes->length - at;
        assert_true(joblog_add_bytes(log, bytes->data + at, count, 0, NULL));
        at += count;
    }
    assert_true(joblog_end(log, 0, NULL));
}

static void assert_same(const struct joblog *log, const size_t *chosen, size_t count,
                        const struct reference *references, uint64_t lines, int round)
{
    assert_int_equal(joblog_totals(log).lines, lines);
    assert_int_equal(joblog_totals(log).limited_lines, 0);
    for (size_t i = 0; i < count; i++) {
        const struct joblog_result *result = joblog_result(log, i);
        if (result->matches != references[i].matches || result->line != references[i].line ||
            result->has_number != references[i].has_number ||
            (result->has_number && !reference_same_number(result->number, references[i].number)))
            fail_msg("round %d, pattern %s: %llu matches, last in line %llu, number %d %g; "
                     "expected %llu, %llu, %d %g",
                     round, sources[chosen[i]], (unsigned long long)result->matches,
                     (unsigned long long)result->line, result->has_number, result->number,
                     (unsigned long long)references[i].matches,
                     (unsigned long long)references[i].line, references[i].has_number,
                     references[i].number);
        assert_false(references[i].error);
    }
}

/* One log, some of the patterns, both ways. */
static void compare(struct rng *rng, const struct text *bytes, uint64_t most, int round)
{
    size_t chosen[CHOSEN_MAX], count = 1 + (size_t)rng_below(rng, CHOSEN_MAX);
    struct joblog_pattern patterns[CHOSEN_MAX];
    struct reference references[CHOSEN_MAX];
    for (size_t i = 0; i < count; i++) {
        chosen[i] = (size_t)rng_below(rng, SOURCE_COUNT);
        references[i] = all[chosen[i]];
        patterns[i] = (struct joblog_pattern){JOBLOG_METRIC, "m", sources[chosen[i]]};
    }
    struct reference_lines lines = reference_run(references, count, text_get(bytes), bytes->length);
    struct joblog *log = joblog_new(
        &(struct joblog_options){
            .log_fd = -1, .times_fd = -1, .patterns = patterns, .pattern_count = count},
        NULL);
    assert_non_null(log);
    feed(rng, log, bytes, most);
    assert_same(log, chosen, count, references, lines.newlines + lines.open, round);
    joblog_free(log);
    reference_lines_fini(&lines);
}

static void small_logs_in_small_chunks_give_what_the_reference_gives(void **state)
{
    (void)state;
    struct rng rng;
    AUTO_TEXT struct text bytes = {0};
    rng_seed(&rng, 1);
    for (int round = 0; round < (SANITIZED ? 1000 : 3000); round++) {
        random_log(&rng, (size_t)rng_below(&rng, 600), 1 + rng_below(&rng, 12), &bytes);
        compare(&rng, &bytes, 1 + rng_below(&rng, 40), round);
    }
}

static void many_lines_at_once_give_what_the_reference_gives(void **state)
{
    (void)state;
    struct rng rng;
    AUTO_TEXT struct text bytes = {0};
    rng_seed(&rng, 2);
    for (int round = 0; round < (SANITIZED ? 40 : 150); round++) {
        random_log(&rng, 20000 + (size_t)rng_below(&rng, 30000), 1 + rng_below(&rng, 12), &bytes);
        compare(&rng, &bytes, 1 + rng_below(&rng, 100000), round);
    }
}

/* Lines around and beyond JOBLOG_LINE_MAX: only the first 65536 bytes are matched. */
static void very_long_lines_give_what_the_reference_gives(void **state)
{
    (void)state;
    struct rng rng;
    AUTO_TEXT struct text bytes = {0};
    rng_seed(&rng, 4);
    for (int round = 0; round < 60; round++) {
        text_clear(&bytes);
        for (int line = 0; line < 4; line++) {
            size_t length = rng_below(&rng, 2) ? 65526 + (size_t)rng_below(&rng, 20)
                                               : (size_t)rng_below(&rng, 140000);
            for (size_t start = bytes.length; bytes.length - start < length;)
                text_add_char(&bytes, ".-"[rng_below(&rng, 2)]);
            text_add(&bytes, rng_below(&rng, 2) ? "loss=1 done" : "Accuracy: 0.5");
            add_end(&rng, &bytes);
        }
        const char *fixed[] = {"loss=([0-9]+)", "Accuracy[:\\s]+([0-9.]+)", "done$", "^[.-]",
                               "(?i)LOSS=(\\d)"};
        struct joblog_pattern patterns[5];
        struct reference references[5];
        size_t chosen[5] = {0};
        for (size_t i = 0; i < 5; i++) {
            assert_true(reference_init(&references[i], fixed[i]));
            patterns[i] = (struct joblog_pattern){JOBLOG_METRIC, "m", fixed[i]};
        }
        struct reference_lines lines = reference_run(references, 5, bytes.data, bytes.length);
        struct joblog *log = joblog_new(
            &(struct joblog_options){
                .log_fd = -1, .times_fd = -1, .patterns = patterns, .pattern_count = 5},
            NULL);
        feed(&rng, log, &bytes, 1 + rng_below(&rng, 100000));
        assert_same(log, chosen, 5, references, lines.newlines + lines.open, round);
        joblog_free(log);
        reference_lines_fini(&lines);
        for (size_t i = 0; i < 5; i++)
            reference_fini(&references[i]);
    }
}

static void line_offsets_are_those_of_the_reference(void **state)
{
    (void)state;
    struct rng rng;
    AUTO_TEXT struct text bytes = {0};
    AUTO_TEXT struct text expected = {0};
    rng_seed(&rng, 5);
    for (int round = 0; round < 500; round++) {
        random_log(&rng, (size_t)rng_below(&rng, 300), 1 + rng_below(&rng, 6), &bytes);
        struct reference_lines lines = reference_run(NULL, 0, text_get(&bytes), bytes.length);
        text_clear(&expected);
        text_add(&expected, "line,seconds,offset\n");
        for (size_t i = 0; i < lines.count; i++)
            text_addf(&expected, "%llu,0.000000,%llu\n", (unsigned long long)lines.numbers[i],
                      (unsigned long long)lines.offsets[i]);
        reference_lines_fini(&lines);
        int fd = memfd_create("times", MFD_CLOEXEC);
        assert_true(fd >= 0);
        struct joblog *log =
            joblog_new(&(struct joblog_options){.log_fd = -1, .times_fd = dup(fd)}, NULL);
        feed(&rng, log, &bytes, 1 + rng_below(&rng, 9));
        joblog_free(log);
        char got[20000];
        ssize_t count = pread(fd, got, sizeof got - 1, 0);
        close(fd);
        assert_true(count >= 0);
        got[count] = '\0';
        assert_string_equal(got, text_get(&expected));
    }
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_logs_in_small_chunks_give_what_the_reference_gives),
        cmocka_unit_test(many_lines_at_once_give_what_the_reference_gives),
        cmocka_unit_test(very_long_lines_give_what_the_reference_gives),
        cmocka_unit_test(line_offsets_are_those_of_the_reference),
    };
    return cmocka_run_group_tests(tests, compile_all, free_all);
}
