/* The expected forms are Python's repr of the same doubles, less its "+" and leading zeros in
 * exponents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/rng.h"
#include "base/value.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_shortest(double number, const char *expected)
{
    char written[32];
    number_shortest(number, written);
    assert_string_equal(written, expected);
}

static void learning_rates_are_written_as_people_write_them(void **state)
{
    (void)state;
    assert_shortest(0.1, "0.1");
    assert_shortest(0.001, "0.001");
    assert_shortest(0.0001, "0.0001");
    assert_shortest(0.00012345, "0.00012345");
    assert_shortest(0.00001, "1e-5");
    assert_shortest(1e-7, "1e-7");
    assert_shortest(1.5e-7, "1.5e-7");
    assert_shortest(4.35, "4.35");
    assert_shortest(0.30000000000000004, "0.30000000000000004");
    assert_shortest(1.0 / 3, "0.3333333333333333");
    assert_shortest(100.0 / 3, "33.333333333333336");
}

static void whole_numbers_end_in_point_zero(void **state)
{
    (void)state;
    assert_shortest(0, "0.0");
    assert_shortest(-0.0, "-0.0");
    assert_shortest(1, "1.0");
    assert_shortest(30, "30.0");
    assert_shortest(-30, "-30.0");
    assert_shortest(123456789, "123456789.0");
    assert_shortest(1e15, "1000000000000000.0");
    assert_shortest(9007199254740992, "9007199254740992.0");
    assert_shortest(9999999999999998, "9999999999999998.0");
}

static void large_numbers_have_an_exponent_without_plus(void **state)
{
    (void)state;
    assert_shortest(1e16, "1e16");
    assert_shortest(123456789012345680, "1.2345678901234568e17");
    assert_shortest(1e22, "1e22");
    assert_shortest(1e23, "1e23");
    assert_shortest(-1e100, "-1e100");
}

static void the_ends_of_the_range_are_exact(void **state)
{
    (void)state;
    assert_shortest(DBL_MAX, "1.7976931348623157e308");
    assert_shortest(-DBL_MAX, "-1.7976931348623157e308");
    assert_shortest(DBL_MIN, "2.2250738585072014e-308");
    assert_shortest(5e-324, "5e-324");
    assert_shortest(1e-323, "1e-323");
    assert_shortest(INFINITY, "inf");
    assert_shortest(-INFINITY, "-inf");
    assert_shortest(NAN, "nan");
    assert_shortest(copysign(NAN, -1), "nan");
}

/* The decimal of 16 digits nearest to 2^-44 reads as the double below it; the next one up is right
 * and as short. */
static void powers_of_two_take_the_decimal_above_when_the_nearest_misses(void **state)
{
    (void)state;
    assert_shortest(0x1p-44, "5.684341886080802e-14");
    assert_shortest(0x1p-24, "5.960464477539063e-8");
    assert_shortest(0x1p+89, "6.189700196426902e26");
}

static void every_double_reads_back_as_itself(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 1);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = rng_next(&rng);
        double number, again = 0;
        memcpy(&number, &bits, sizeof number);
        if (!isfinite(number))
            continue;
        char written[32];
        number_shortest(number, written);
        assert_true(strtod(written, NULL) == number);
        assert_true(number_parse(written, &again));
        assert_true(again == number);
    }
}

static void parse_reads_decimals_and_exponents(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double number;
    } rows[] = {
        {"0", 0},
        {"7", 7},
        {"-2.5", -2.5},
        {"0.001", 0.001},
        {"1e-07", 1e-7},
        {"1e-7", 1e-7},
        {"1E+3", 1000},
        {"1.5e2", 150},
        {"007", 7},
        {"-0.0", 0},
        {"1e-400", 0},
        {"0e99999", 0},
        {"5e-324", 5e-324},
        {"12345678901234567890", 12345678901234567890.0},
        {"0e99999999999999999999", 0},
        {"3e-99999999999999999999", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double number = -1;
        assert_true(number_parse(rows[i].text, &number));
        assert_true(number == rows[i].number);
    }
}

static void parse_refuses_what_is_no_number(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",    "-",   "+1",  ".5",   "5.",    "1e",     "1e+",
        "e5",  "0x1", "1,5", " 1",   "1 ",    "1.2.3",  "inf",
        "nan", "--1", "1_0", "1e5x", "1e999", "-1e999", "1e99999999999999999999"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double number = -1;
        assert_false(number_parse(rows[i], &number));
        assert_true(number == -1);
    }
}

static void round_keeps_significant_digits(void **state)
{
    (void)state;
    assert_true(number_round(123456.789, 6) == 123457);
    assert_true(number_round(0.00123456789, 6) == 0.00123457);
    assert_true(number_round(-1234567, 6) == -1234570);
    assert_true(number_round(99999.96, 6) == 100000);
    assert_true(number_round(0.1, 6) == 0.1);
    assert_true(number_round(1e-7, 1) == 1e-7);
    assert_true(number_round(0, 6) == 0);
    assert_true(number_round(1.0 / 3, 17) == 1.0 / 3);
    /* at least one digit; 15 is a tie, and goes to the even 2 */
    assert_true(number_round(15, 0) == 20);
    assert_true(number_round(25, 1) == 20);
    assert_true(isinf(number_round(INFINITY, 6)));
    assert_true(isnan(number_round(NAN, 6)));
}

/* 1.005 lies below 1.005: multiplying by 100, as naive rounding does, would give 1.01. */
static void round_looks_at_the_true_value(void **state)
{
    (void)state;
    assert_true(number_round(1.005, 3) == 1.0);
    assert_true(number_round(2.675, 3) == 2.67);
}

static void a_locale_with_a_decimal_comma_changes_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8",
                                        "fr_FR.utf8",  "de_DE",       "fr_FR"};
    const char *found = NULL;
    for (size_t i = 0; !found && i < sizeof names / sizeof *names; i++)
        found = setlocale(LC_NUMERIC, names[i]);
    if (!found) {
        print_message("# skipped: no locale with a decimal comma is installed\n");
        return;
    }
    char written[32];
    double number = 0;
    number_shortest(1234.5, written);
    bool parsed = number_parse("1234.5e-3", &number);
    double rounded = number_round(0.123456789, 6);
    setlocale(LC_NUMERIC, "C");
    assert_string_equal(written, "1234.5");
    assert_true(parsed);
    assert_true(number == 1.2345);
    assert_true(rounded == 0.123457);
}

/* libm's differ between machines in the last bit. */
static void logarithm_and_exponential_are_those_of_the_textbook(void **state)
{
    (void)state;
    static const double at[] = {0x1p-1074, 1e-300, 1e-5, 0.1, 0.5, 0.7071,    0.70711,
                                0.999999,  1,      1.5,  2,   10,  12345.678, 1e300};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        assert_true(fabs(number_log(at[i]) - log(at[i])) <= 4e-16 * fabs(log(at[i])));
    static const double powers[] = {-700, -11.5, -1, -1e-9, 0, 1e-9, 0.34657, 1, 11.5, 700};
    for (size_t i = 0; i < sizeof powers / sizeof *powers; i++)
        assert_true(fabs(number_exp(powers[i]) - exp(powers[i])) <= 4e-16 * exp(powers[i]));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learning_rates_are_written_as_people_write_them),
        cmocka_unit_test(whole_numbers_end_in_point_zero),
        cmocka_unit_test(large_numbers_have_an_exponent_without_plus),
        cmocka_unit_test(the_ends_of_the_range_are_exact),
        cmocka_unit_test(powers_of_two_take_the_decimal_above_when_the_nearest_misses),
        cmocka_unit_test(every_double_reads_back_as_itself),
        cmocka_unit_test(parse_reads_decimals_and_exponents),
        cmocka_unit_test(parse_refuses_what_is_no_number),
        cmocka_unit_test(round_keeps_significant_digits),
        cmocka_unit_test(round_looks_at_the_true_value),
        cmocka_unit_test(a_locale_with_a_decimal_comma_changes_nothing),
        cmocka_unit_test(logarithm_and_exponential_are_those_of_the_textbook),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
