/* Patterns over lines, and their limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/pattern/pattern.h"

#include <stdlib.h>
#include <string.h>

static struct pattern *made(const char *source)
{
    struct err err = {0};
    struct pattern *pattern = pattern_new(source, &err);
    if (!pattern)
        fail_msg("%s: %s", source, err.text);
    return pattern;
}

static struct pattern_match find(const char *source, const char *line, size_t length)
{
    struct pattern *pattern = made(source);
    struct pattern_match match = pattern_find(pattern, line, length);
    pattern_free(pattern);
    return match;
}

static void assert_found(const char *source, const char *line, size_t start, size_t end)
{
    struct pattern_match match = find(source, line, strlen(line));
    assert_true(match.matched);
    assert_false(match.limited);
    assert_int_equal(match.start, start);
    assert_int_equal(match.end, end);
}

static void a_match_is_the_first_group_that_took_part(void **state)
{
    (void)state;
    assert_found("Accuracy[:\\s]+([0-9.]+)", "val Accuracy: 0.93 ok", 14, 18);
    assert_found("(?:loss=([0-9.]+)|acc=([0-9.]+))", "acc=0.5", 4, 7);
    assert_found("(a)?b", "xb", 1, 2); /* no group took part: the whole match */
}

static void a_pattern_without_groups_gives_the_whole_match(void **state)
{
    (void)state;
    assert_found("[0-9]+%", "at 42% of", 3, 6);
    assert_found("(?:ab)+", "xabab", 1, 5);
    assert_found("x*", "y", 0, 0);
}

static void a_match_says_whether_a_group_took_part(void **state)
{
    (void)state;
    assert_true(find("epoch (\\d+)", "epoch 3", 7).grouped);
    assert_true(find("(x)?epoch(\\s*)", "epoch", 5).grouped); /* an empty group took part */
    assert_false(find("epoch \\d+", "epoch 3", 7).grouped);
    assert_false(find("(a)?b", "xb", 2).grouped);
}

static void places_are_bytes_and_characters_are_utf8(void **state)
{
    (void)state;
    assert_found("准确率[:\\s]+([0-9.]+)", "测试准确率: 0.9", 17, 20);
    assert_found("^..$", "é€", 0, 5);
}

static void lines_may_hold_nul_and_bytes_that_are_no_utf8(void **state)
{
    (void)state;
    static const char line[] = "\xff\xfe\0loss=\x80 loss=7\xc3";
    struct pattern_match match = find("loss=([0-9]+)", line, sizeof line - 1);
    assert_true(match.matched);
    assert_int_equal(match.start, 15);
    assert_int_equal(match.end, 16);
}

static void a_line_that_does_not_match_is_not_limited(void **state)
{
    (void)state;
    struct pattern_match match = find("abc", "abd", 3);
    assert_false(match.matched);
    assert_false(match.limited);
}

static void an_empty_line_can_match(void **state)
{
    (void)state;
    assert_true(find("^$", "", 0).matched);
    assert_true(find("^$", NULL, 0).matched);
    assert_false(find(".", "", 0).matched);
}

static void assert_refused(const char *source, const char *text)
{
    struct err err = {0};
    assert_false(pattern_check(source, &err));
    assert_non_null(strstr(err.text, text));
    assert_null(pattern_new(source, &err));
    assert_non_null(strstr(err.text, text));
}

static void a_bad_pattern_is_refused_with_reason_and_character(void **state)
{
    (void)state;
    assert_refused("(abc", "missing closing parenthesis at character 5");
    assert_refused("é(", "at character 3"); /* characters, not bytes */
    assert_refused("a**", "at character");
    assert_refused("\\C", "at character");
    assert_refused("\xff", "UTF-8 error");
}

static void a_pattern_that_compiles_to_megabytes_is_refused(void **state)
{
    (void)state;
    assert_false(pattern_check("(?:(?:abcdefghijklmnop){1,300}){1,300}", NULL));
}

static void check_accepts_what_new_accepts(void **state)
{
    (void)state;
    assert_true(pattern_check("Rank@1[:\\s]+([0-9.]+)", NULL));
    assert_true(pattern_check("", NULL));
}

static void exponential_patterns_end_at_their_limit(void **state)
{
    (void)state;
    static const char *const sources[] = {"(a+)+[bc]", "(?:a|aa)+[bc]", "a*a*a*a*a*a*[bc]",
                                          "(?:a{1,30}){1,30}[bc]"};
    static const size_t lengths[] = {60, 2000, 65536};
    AUTO_FREE char *line = mem_alloc(65536);
    memset(line, 'a', 65536);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            int64_t began_ns = clock_monotonic_ns();
            struct pattern_match match = find(sources[i], line, lengths[k]);
            assert_false(match.matched);
            assert_true(match.limited);
            /* unlimited it would be years */
            assert_true(clock_monotonic_ns() - began_ns < 60 * NS_PER_S);
        }
}

static void recursion_without_end_is_limited(void **state)
{
    (void)state;
    struct pattern_match match = find("(?R)?a+[bc]", "aaaaaaaa", 8);
    assert_false(match.matched);
    assert_true(match.limited);
}

static void a_limited_line_does_not_spoil_the_next(void **state)
{
    (void)state;
    struct pattern *pattern = made("(a+)+[bc]");
    static const char bad[] =
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    assert_true(pattern_find(pattern, bad, sizeof bad - 1).limited);
    struct pattern_match match = pattern_find(pattern, "xaab", 4);
    assert_true(match.matched);
    assert_int_equal(match.start, 1);
    assert_int_equal(match.end, 3);
    pattern_free(pattern);
}

static void long_lines_match_like_short_ones(void **state)
{
    (void)state;
    AUTO_FREE char *line = mem_alloc(65536);
    memset(line, '.', 65536);
    memcpy(line + 65536 - 12, "loss: 0.25 !", 12);
    struct pattern_match match = find("loss[:\\s]+([0-9.]+)", line, 65536);
    assert_true(match.matched);
    assert_int_equal(match.start, 65530);
    assert_int_equal(match.end, 65534);
}

static void a_pattern_over_its_time_budget_is_held_short_until_it_is_back(void **state)
{
    (void)state;
    AUTO_FREE char *line = mem_alloc(4000);
    memset(line, '.', 4000);
    memcpy(line, "loss=1", 6);
    struct pattern *pattern = made("loss=([0-9]+)");
    assert_true(pattern_find(pattern, line, 4000).matched);
    /* 1 s in debt, but for one call's allowance */
    pattern_account(pattern, 0, 2 * PATTERN_BUDGET_NS);
    struct pattern_match match = pattern_find(pattern, line, 4000);
    assert_false(match.matched);
    assert_true(match.limited);
    match = pattern_find(pattern, line, PATTERN_LINE_SHORT); /* short lines are still searched */
    assert_true(match.matched);
    pattern_account(pattern, 10 * 1000 * 1000, 0); /* 10 MB at 100 ns each: 1 s earned */
    assert_true(pattern_find(pattern, line, 4000).matched);
    pattern_free(pattern);
}

static void credit_is_not_saved_up(void **state)
{
    (void)state;
    AUTO_FREE char *line = mem_alloc(4000);
    struct pattern *pattern = made("x");
    pattern_account(pattern, (size_t)1 << 40, 0);
    pattern_account(pattern, 0, PATTERN_BUDGET_NS + PATTERN_BUDGET_NS_PER_CALL + 1);
    assert_true(pattern_find(pattern, line, 4000).limited);
    pattern_free(pattern);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_match_is_the_first_group_that_took_part),
        cmocka_unit_test(a_pattern_without_groups_gives_the_whole_match),
        cmocka_unit_test(a_match_says_whether_a_group_took_part),
        cmocka_unit_test(places_are_bytes_and_characters_are_utf8),
        cmocka_unit_test(lines_may_hold_nul_and_bytes_that_are_no_utf8),
        cmocka_unit_test(a_line_that_does_not_match_is_not_limited),
        cmocka_unit_test(an_empty_line_can_match),
        cmocka_unit_test(a_bad_pattern_is_refused_with_reason_and_character),
        cmocka_unit_test(a_pattern_that_compiles_to_megabytes_is_refused),
        cmocka_unit_test(check_accepts_what_new_accepts),
        cmocka_unit_test(exponential_patterns_end_at_their_limit),
        cmocka_unit_test(recursion_without_end_is_limited),
        cmocka_unit_test(a_limited_line_does_not_spoil_the_next),
        cmocka_unit_test(long_lines_match_like_short_ones),
        cmocka_unit_test(a_pattern_over_its_time_budget_is_held_short_until_it_is_back),
        cmocka_unit_test(credit_is_not_saved_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
