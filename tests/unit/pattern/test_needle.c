/* The strings without which a pattern cannot match. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/pattern/pattern.h"
#include "base/rng.h"
#include "base/text.h"

#include <string.h>

/* The needles joined by "|"; "" when nothing is known. */
static const char *needles_of(const char *source)
{
    static char joined[NEEDLE_MAX * (NEEDLE_LENGTH_MAX + 1) + 1];
    struct needles needles;
    size_t used = 0;
    needles_read(source, &needles);
    for (size_t i = 0; i < needles.count; i++) {
        if (i)
            joined[used++] = '|';
        memcpy(joined + used, needles.items[i].bytes, needles.items[i].length);
        used += needles.items[i].length;
    }
    joined[used] = '\0';
    return joined;
}

static void longest_literal_that_must_stand_in_a_line_is_chosen(void **state)
{
    (void)state;
    assert_string_equal(needles_of("F1[\\s-]*score[:\\s]+([0-9.]+)"), "score");
    assert_string_equal(needles_of("Test Error[:\\s]+([0-9.]+)"), "Test Error");
    assert_string_equal(needles_of("^Traceback \\(most recent call last\\)"), "Traceback (most recent call last)");
    assert_string_equal(needles_of("Rank@1[:\\s]+([0-9.]+)"), "Rank@1");
    assert_string_equal(needles_of("x=(?<value>[0-9]+)ms end"), "ms end");
    assert_string_equal(needles_of("测试[:\\s]+"), "测试");
}

static void alternatives_give_one_literal_each(void **state)
{
    (void)state;
    assert_string_equal(needles_of("(?:Accuracy|准确率)[:\\s()]+([0-9.]+)"), "Accuracy|准确率");
    assert_string_equal(needles_of("done|finished [0-9]+"), "done|finished ");
    assert_string_equal(needles_of("^(?:  \\+ Exception Group )?Traceback \\(most recent call last\\)|"
                                   "(?:\\]:?\\s*|[^\\s\"'(])Traceback \\(most recent call last\\):\\s*$"),
                        "Traceback (most recent call last)|Traceback (most recent call last):");
    assert_string_equal(needles_of("(?:ab|cd+e|f[g]hij)"), "ab|cd|hij");
}

static void an_alternative_without_a_literal_leaves_nothing_known(void **state)
{
    (void)state;
    assert_string_equal(needles_of("(?:abc|)"), "");
    assert_string_equal(needles_of("abc|\\d+"), "");
    assert_string_equal(needles_of("[0-9.]+"), "");
    assert_string_equal(needles_of("aa|bb|cc|dd|ee|ff|gg|hh|ii"), "");
}

static void optional_parts_are_not_required(void **state)
{
    (void)state;
    assert_string_equal(needles_of("(?:\\[SUCCESS\\]\\s+)?Test[:\\s]+"), "Test");
    assert_string_equal(needles_of("abcx?de"), "abc");
    assert_string_equal(needles_of("abx*cdef"), "cdef");
    assert_string_equal(needles_of("abx{0}cdef"), "cdef");
    assert_string_equal(needles_of("abx{0,3}"), "ab");
    assert_string_equal(needles_of("abx{2}"), "abx");
    assert_string_equal(needles_of("ab€?"), "ab");
    assert_string_equal(needles_of("(?!never)(?<=before)ok"), "ok");
}

static void single_bytes_are_no_needles(void **state)
{
    (void)state;
    assert_string_equal(needles_of("a[0-9]b"), "");
    assert_string_equal(needles_of("x"), "");
}

static void what_is_not_understood_gives_nothing(void **state)
{
    (void)state;
    static const char *const sources[] = {
        "(?i)error",       "(?i:error)", "abc(?i)def",     "(?x) a b c",     "(*LIMIT_MATCH=9)abc",
        "abc(*ACCEPT)def", "\\Qabc\\E",  "abc\\x41",       "(abc)\\1",       "(?R)?abc",
        "(?(1)abc|def)()", "abc{,3}d",   "[[:alpha:]]abc", "(?#comment)abc", "(?|abc|def)",
        "abc\\p{L}",       "abc\\cA",    "(?1)(abc)",      "ab{2}{0}",       "(?^:abc)",
        "\\N{U+41}abc",    "(?U)abc",    "abc\\o{101}",    "[\\c]abc]",
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        assert_string_equal(needles_of(sources[i]), "");
}

static void classes_are_passed_over_to_their_true_end(void **state)
{
    (void)state;
    assert_string_equal(needles_of("[]abc]de"), "de");
    assert_string_equal(needles_of("[^]abc]de"), "de");
    assert_string_equal(needles_of("[\\]abc]de"), "de");
    assert_string_equal(needles_of("[[abc]de"), "de");
    assert_string_equal(needles_of("[:abc]de"), "de");
}

static void long_literals_are_cut_and_still_required(void **state)
{
    (void)state;
    struct needles needles;
    needles_read("0123456789012345678901234567890123456789012345678901234567890123456789", &needles);
    assert_int_equal(needles.count, 1);
    assert_memory_equal(needles.items[0].bytes, "012345678901234567890123456789012345678901234567", NEEDLE_LENGTH_MAX);
}

/* Random patterns in a small alphabet, so that many of them match many of the lines. */
static const char *const atoms[] = {
    "a",      "b",      "ab",    "ba",    "c",   "[ab]",  "[^a]", ".",          "\\w",  "\\d",     "1",    "\\.",
    "(",      "(?:",    "(?=",   "(?!",   "(?>", ")",     ")",    ")",          "|",    "*",       "+",    "?",
    "{2}",    "{0}",    "{0,1}", "{1,}",  "+?",  "*+",    "??",   "^",          "$",    "\\b",     "(?i)", "(?s)",
    "(?<=a)", "(?<!b)", "\\K",   "(?<n>", "\\1", "\\Q",   "\\E",  "(?#",        "[]a]", "[a\\]b]", "é",    "(?|",
    "(?(1)",  "(?R)",   "(?x)",  " ",     "#",   "\\x61", "{,2}", "[[:alpha:]]"};

static void random_pattern(struct rng *rng, struct text *out)
{
    text_clear(out);
    size_t open = 0;
    for (size_t count = 1 + rng_below(rng, 9); count; count--) {
        const char *atom = atoms[rng_below(rng, sizeof atoms / sizeof *atoms)];
        if (*atom == ')' && open == 0)
            continue;
        if (*atom == '(' && !strchr(atom, ')'))
            open++;
        open -= *atom == ')';
        text_add(out, atom);
    }
    for (; open; open--)
        text_add(out, ")");
}

static void random_line(struct rng *rng, struct text *out)
{
    static const char *const parts[] = {"a", "b", "ab", "ba", "c", "1", ".", " ", "é", "A", "B", "aab"};
    text_clear(out);
    for (size_t count = rng_below(rng, 10); count; count--)
        text_add(out, parts[rng_below(rng, sizeof parts / sizeof *parts)]);
}

static bool holds_one(const struct needles *needles, const struct text *line)
{
    for (size_t i = 0; i < needles->count; i++)
        if (memmem(text_get(line), line->length, needles->items[i].bytes, needles->items[i].length))
            return true;
    return false;
}

static void every_line_that_matches_a_random_pattern_holds_a_needle(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 20251115);
    AUTO_TEXT struct text source = {0};
    AUTO_TEXT struct text line = {0};
    size_t checked = 0;
    for (int i = 0; i < 20000; i++) {
        random_pattern(&rng, &source);
        struct needles needles;
        needles_read(text_get(&source), &needles);
        if (needles.count == 0)
            continue;
        struct pattern *pattern = pattern_new(text_get(&source), NULL);
        for (int k = 0; pattern && k < 30; k++) {
            random_line(&rng, &line);
            if (!pattern_find(pattern, text_get(&line), line.length).matched)
                continue;
            checked++;
            if (!holds_one(&needles, &line))
                fail_msg("pattern %s matches line %s without its needles", source.data, line.data);
        }
        pattern_free(pattern);
    }
    assert_true(checked > 1000); /* else the generator is at fault */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(longest_literal_that_must_stand_in_a_line_is_chosen),
        cmocka_unit_test(alternatives_give_one_literal_each),
        cmocka_unit_test(an_alternative_without_a_literal_leaves_nothing_known),
        cmocka_unit_test(optional_parts_are_not_required),
        cmocka_unit_test(single_bytes_are_no_needles),
        cmocka_unit_test(what_is_not_understood_gives_nothing),
        cmocka_unit_test(classes_are_passed_over_to_their_true_end),
        cmocka_unit_test(long_literals_are_cut_and_still_required),
        cmocka_unit_test(every_line_that_matches_a_random_pattern_holds_a_needle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
