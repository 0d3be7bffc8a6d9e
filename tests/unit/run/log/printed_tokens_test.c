#include "run/log/printed_tokens.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

static struct printed_line line;

/* "word val", "+loss" for one that is joined to it, "number 3", "fraction 3/4", "other 3it/s", and
 * marks as they are; by blanks. */
static void assert_tokens(const char *bytes, const char *expected)
{
    static const char *const kinds[] = {[TOKEN_WORD] = "word ",
                                        [TOKEN_NUMBER] = "number ",
                                        [TOKEN_FRACTION] = "fraction ",
                                        [TOKEN_MARK] = "",
                                        [TOKEN_OTHER] = "other "};
    AUTO_TEXT struct text out = {0};
    printed_tokens_make(&line, bytes, strlen(bytes));
    for (size_t i = 0; i < line.token_count; i++) {
        const struct printed_token *token = &line.tokens[i];
        text_addf(&out, "%s%s%.*s", out.length ? " " : "",
                  token->is_joined ? "+" : kinds[token->kind], (int)token->length,
                  line.text + token->at);
    }
    assert_string_equal(text_get(&out), expected);
}

static void words_numbers_and_marks_are_told_apart(void **state)
{
    (void)state;
    assert_tokens("val_loss: 0.3", "word val +loss : number 0.3");
    assert_tokens("eval/top1=5", "word eval +top1 = number 5");
    assert_tokens("Acc@1 76.1", "word Acc@1 number 76.1");
    assert_tokens("top-5 mAP50-95", "word top-5 word mAP50-95");
    assert_tokens("a_b-c.d", "word a +b +c +d");
    assert_tokens("(x)", "( word x )");
    assert_tokens("", "");
    assert_tokens(" \t ", "");
}

static void numbers_keep_sign_separators_and_exponent(void **state)
{
    (void)state;
    assert_tokens("-1.5e-3", "number -1.5e-3");
    assert_tokens("+2E+10", "number +2E+10");
    assert_tokens(".5", "number .5");
    assert_tokens("5.", "number 5 .");
    assert_tokens("1,234.5", "number 1,234.5");
    assert_tokens("nan -inf Infinity", "number nan number -inf number Infinity");
    assert_tokens("nanny", "word nanny");
    assert_tokens("3-4", "other 3-4"); /* a sign only after a blank or a mark */
    assert_tokens("a-4", "word a - number 4");
    assert_tokens("(-4)", "( number -4 )");
}

static void fractions_units_times_and_dates_are_no_numbers(void **state)
{
    (void)state;
    assert_tokens("3/10", "fraction 3/10");
    assert_tokens("-3/10", "other -3/10");
    assert_tokens("3.5/10", "other 3.5/10");
    assert_tokens("3/", "other 3/");
    assert_tokens("3it/s", "other 3it/s");
    assert_tokens("12:30", "other 12:30");
    assert_tokens("2024-01-02", "other 2024-01-02");
    assert_tokens("1e", "other 1e");
    assert_tokens("50%", "number 50 %");
}

/* U+2212 is a minus, U+202F and U+00A0 group digits, U+2502 is the line of a table, U+2588 a bar.
 */
static void signs_of_other_alphabets_have_their_plain_form(void **state)
{
    (void)state;
    assert_tokens("a \xe2\x88\x92"
                  "0.5",
                  "word a number -0.5");
    assert_tokens("1\xe2\x80\xaf"
                  "234",
                  "number 1_234");
    assert_tokens("a\xc2\xa0"
                  "1",
                  "word a number 1");
    assert_tokens("\xe2\x94\x82 a \xe2\x94\x82", "| word a |");
    assert_tokens("\xe2\x96\x88"
                  "5",
                  "~ number 5");
    assert_tokens("loss\xef\xbc\x9a"
                  "2",
                  "word loss : number 2");
    assert_tokens("\xe6\x8d\x9f\xe5\xa4\xb1=1", "word \xe6\x8d\x9f\xe5\xa4\xb1 = number 1");
    assert_tokens("\xf0\x9f", "word \xf0\x9f"); /* cut off */
}

static void colours_are_left_out_and_a_backspace_begins_anew(void **state)
{
    (void)state;
    assert_tokens("\033[1;31mloss\033[0m=1", "word loss = number 1");
    assert_tokens("\033", "");
    assert_tokens("\033[12", "");
    assert_tokens("old 1\b\bnew 2", "word new number 2");
}

static void blanks_before_a_token_are_counted(void **state)
{
    (void)state;
    char many[400];
    memset(many, ' ', sizeof many);
    memcpy(many + 398, "b", 2);
    printed_tokens_make(&line, "a  b\tc", 6);
    assert_int_equal(line.tokens[0].blanks, 0);
    assert_int_equal(line.tokens[1].blanks, 2);
    assert_int_equal(line.tokens[2].blanks, 2); /* a tab counts as two */
    printed_tokens_make(&line, many, 399);
    assert_int_equal(line.tokens[0].blanks, 255);
    assert_int_equal(printed_mark(&line, 0), '\0');
    assert_int_equal(printed_mark(&line, 1), '\0');
    printed_tokens_make(&line, "a=", 2);
    assert_int_equal(printed_mark(&line, 1), '=');
    assert_int_equal(printed_mark(&line, SIZE_MAX), '\0');
}

static void long_lines_are_cut_at_their_bounds(void **state)
{
    (void)state;
    AUTO_FREE char *bytes = mem_alloc(200000);
    memset(bytes, 'a', 200000);
    printed_tokens_make(&line, bytes, 200000);
    assert_true(line.is_cut && line.length <= PRINTED_LINE_MAX);
    assert_int_equal(line.token_count, 1);
    memset(bytes, '=', 200000);
    printed_tokens_make(&line, bytes, 200000);
    assert_true(line.is_cut);
    assert_int_equal(line.token_count, PRINTED_TOKENS_MAX);
    printed_tokens_make(&line, bytes, PRINTED_TOKENS_MAX);
    assert_false(line.is_cut);
    assert_int_equal(line.token_count, PRINTED_TOKENS_MAX);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_numbers_and_marks_are_told_apart),
        cmocka_unit_test(numbers_keep_sign_separators_and_exponent),
        cmocka_unit_test(fractions_units_times_and_dates_are_no_numbers),
        cmocka_unit_test(signs_of_other_alphabets_have_their_plain_form),
        cmocka_unit_test(colours_are_left_out_and_a_backspace_begins_anew),
        cmocka_unit_test(blanks_before_a_token_are_counted),
        cmocka_unit_test(long_lines_are_cut_at_their_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
