/* Matched text as numbers and as something to show. What is a number was read by Python's
 * float(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/utf8.h"
#include "run/log/match.h"

#include <locale.h>
#include <math.h>
#include <string.h>

static locale_t c_locale;

static int make_locale(void **state)
{
    (void)state;
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return c_locale == (locale_t)0;
}

static int free_locale(void **state)
{
    (void)state;
    freelocale(c_locale);
    return 0;
}

static void assert_number(const char *text, double expected)
{
    double number = 0;
    if (!number_read(text, strlen(text), c_locale, &number))
        fail_msg("%s is no number", text);
    /* the same double, the same sign of zero */
    assert_memory_equal(&number, &expected, sizeof number);
}

static void decimal_numbers_are_read_to_the_nearest_double(void **state)
{
    (void)state;
    assert_number("0", 0.0);
    assert_number("-0", -0.0);
    assert_number("42", 42.0);
    assert_number("+7", 7.0);
    assert_number("0.93", 0.93);
    assert_number(".5", 0.5);
    assert_number("5.", 5.0);
    assert_number("-1.5e3", -1500.0);
    assert_number("1E-7", 1e-7);
    assert_number("9007199254740993", 9007199254740992.0); /* 2^53 + 1 */
    assert_number("0.1234567890123456789012345", 0.1234567890123456789012345);
    assert_number("123456789012345678901234567890", 123456789012345678901234567890.0);
    assert_number("1e23", 1e23);
    assert_number("2.2250738585072011e-308", 2.2250738585072011e-308);
    assert_number("000000000000000000000000000000012.5", 12.5);
    assert_number("0.000000000000000000000000000000125", 1.25e-31);
    assert_number("1e999999999999", INFINITY);
    assert_number("1e-999999999999", 0.0);
    assert_number("  3.5\t", 3.5);
}

static void a_diverged_loss_is_a_number(void **state)
{
    (void)state;
    double number = 0;
    assert_true(number_read("nan", 3, c_locale, &number));
    assert_true(isnan(number));
    assert_true(number_read("NaN", 3, c_locale, &number));
    assert_true(isnan(number));
    assert_number("inf", INFINITY);
    assert_number("-Infinity", -INFINITY);
}

static void marks_of_all_countries_are_read_where_one_reading_is_possible(void **state)
{
    (void)state;
    assert_number("0,3514", 0.3514);
    assert_number("91,25", 91.25);
    assert_number("-1,5e-3", -0.0015);
    assert_number("0,351", 0.351); /* no group of thousands begins with 0 */
    assert_number("1234,567", 1234.567);
    assert_number("12,345.67", 12345.67);
    assert_number("1,234,567", 1234567);
    assert_number("12.345,67", 12345.67);
    assert_number("1.234.567,5", 1234567.5);
    assert_number("12'345.67", 12345.67);
    assert_number("1_000", 1000);
    static const char *const texts[] = {
        "12,345", "1,234,56", "1,23,456",  "1.234.567", "1,2.3,4", "12,34.5", ",5",
        "5,",     "1,2,3",    "0,123,456", "1_00",      "'1",      "1''000",  "1,234.567,8"};
    double number;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (number_read(texts[i], strlen(texts[i]), c_locale, &number))
            fail_msg("%s was read as %g", texts[i], number);
}

static void scalars_of_libraries_are_read(void **state)
{
    (void)state;
    assert_number("np.float64(0.25)", 0.25);
    assert_number("tensor(0.43, device='cuda:0')", 0.43);
    assert_number("tensor(-1.5e-3, grad_fn=<NllLossBackward0>)", -0.0015);
    assert_number("tensor([0.43])", 0.43);
    assert_number("Array(0.5, dtype=float32)", 0.5);
    assert_number("Decimal('0.125')", 0.125);
    assert_number("np.float32(inf)", INFINITY);
    static const char *const texts[] = {
        "tensor([0.43, 0.5])", "tensor(0.43", "tensor()",     "f(a)", "2(0.5)",
        "tensor(0.43) x",      "(0.5)",       "tensor(0.43))"};
    double number;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (number_read(texts[i], strlen(texts[i]), c_locale, &number))
            fail_msg("%s was read as %g", texts[i], number);
}

static void anything_else_is_no_number(void **state)
{
    (void)state;
    static const char *const texts[] = {"",      " ",    ".",    "-",   "+-1", "0.93.",
                                        "12%",   "0x10", "1e",   "1e+", "1 2", "e5",
                                        "1.2.3", "..",   "nano", "in",  "--1", "１"};
    double number = 17;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (number_read(texts[i], strlen(texts[i]), c_locale, &number))
            fail_msg("%s was read as %g", texts[i], number);
    assert_false(number_read("1\0", 2, c_locale, &number));
    char digits[600];
    memset(digits, '1', sizeof digits);
    assert_false(number_read(digits, sizeof digits, c_locale, &number));
    assert_true(number == 17);
}

static void assert_legible(const char *bytes, size_t count, size_t size, const char *expected)
{
    char out[300];
    utf8_copy_legible(bytes, count, out, size);
    assert_string_equal(out, expected);
}

static void text_to_show_is_valid_utf8_without_controls(void **state)
{
    (void)state;
    assert_legible("plain\ttext", 10, 300, "plain\ttext");
    assert_legible("准确率 é", 12, 300, "准确率 é");
    assert_legible("a\xff"
                   "b\xc3",
                   4, 300, "a\uFFFDb\uFFFD");
    assert_legible("a\0b", 3, 300, "a\uFFFDb");
    assert_legible("\x1b[31m", 5, 300, "\uFFFD[31m");
    assert_legible("\xc2\x9b"
                   "x",
                   /* CSI as one character */
                   3, 300, "\uFFFDx");
    assert_legible("\xed\xa0\x80", 3, 300, "\uFFFD\uFFFD\uFFFD");           /* a surrogate */
    assert_legible("\xc0\xaf", 2, 300, "\uFFFD\uFFFD");                     /* overlong */
    assert_legible("\xf4\x90\x80\x80", 4, 300, "\uFFFD\uFFFD\uFFFD\uFFFD"); /* beyond U+10FFFF */
    assert_legible("\xf0\x9f\x98\x80", 4, 300, "\U0001F600");
}

static void text_to_show_is_cut_between_characters(void **state)
{
    (void)state;
    assert_legible("abcdef", 6, 4, "abc");
    assert_legible("aéb", 4, 3, "a"); /* é would not leave room for the end */
    assert_legible("aéb", 4, 4, "aé");
    assert_legible("", 0, 1, "");
    assert_legible("abc", 3, 1, "");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decimal_numbers_are_read_to_the_nearest_double),
        cmocka_unit_test(a_diverged_loss_is_a_number),
        cmocka_unit_test(marks_of_all_countries_are_read_where_one_reading_is_possible),
        cmocka_unit_test(scalars_of_libraries_are_read),
        cmocka_unit_test(anything_else_is_no_number),
        cmocka_unit_test(text_to_show_is_valid_utf8_without_controls),
        cmocka_unit_test(text_to_show_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, make_locale, free_locale);
}
