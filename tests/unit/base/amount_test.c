/* Figures with ±, each derived by hand from the rule in amount.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/amount.h"
#include "base/cleanup.h"

#include <math.h>

struct example {
    double value, half_width;
    const char *unit, *expected;
};

static void check(const struct example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct reading half_width = {examples[i].half_width, true};
        AUTO_FREE char *text = amount_format_with((struct reading){examples[i].value, true},
                                                  half_width, examples[i].unit);
        assert_string_equal(text, examples[i].expected);
    }
}

#define CHECK(examples) check(examples, sizeof(examples) / sizeof *(examples))

static void the_half_width_decides_how_many_digits_are_shown(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {5902.63, 2.83, "J", "5.9026 ± 0.0028 kJ"},
        {5902.63, 3.4, "J", "5.903 ± 0.003 kJ"},
        {844.4, 0.794, "J", "844.4 ± 0.8 J"},
        {212.347, 0.128, "J", "212.35 ± 0.13 J"},
        {212.347, 0.1, "J", "212.35 ± 0.10 J"},
        {212.347, 0.2, "J", "212.35 ± 0.20 J"},
        {900, 146, "J", "900 ± 150 J"},
        {900, 345, "J", "900 ± 300 J"},
        {52.1, 0.0304, "W", "52.10 ± 0.03 W"},
        {4.2, 0.12, "", "4.20 ± 0.12"},
    };
    CHECK(examples);
}

static void the_first_digit_of_a_half_width_is_that_after_rounding(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {50, 0.0296, "J", "50.00 ± 0.03 J"}, {50, 0.0294, "J", "50.000 ± 0.029 J"},
        {50, 0.962, "J", "50.0 ± 1.0 J"},    {50, 0.996, "J", "50.0 ± 1.0 J"},
        {50, 9.7, "J", "50 ± 10 J"},
    };
    CHECK(examples);
}

static void value_and_half_width_share_the_prefix_of_the_larger(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {5903.6, 7853, "J", "6 ± 8 kJ"},        {5908, 10200, "J", "6 ± 10 kJ"},
        {-592, 7603, "J", "-1 ± 8 kJ"},         {-400, 7603, "J", "0 ± 8 kJ"},
        {0.0123, 0.0004, "J", "12.3 ± 0.4 mJ"}, {0.0123, 15, "J", "0 ± 15 J"},
        {-844.4, 0.5, "J", "-844.4 ± 0.5 J"},   {5902.63, 7853, "W", "6000 ± 8000 W"},
    };
    CHECK(examples);
}

static void a_figure_that_is_rounded_up_to_1000_takes_the_next_prefix(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {999.94, 0.5, "J", "999.9 ± 0.5 J"},          {999.96, 0.5, "J", "1.0000 ± 0.0005 kJ"},
        {999600, 4000, "J", "1.000 ± 0.004 MJ"},      {2.5e9, 3e7, "J", "2.50 ± 0.03 GJ"},
        {2.5e12, 3e10, "J", "2500 ± 30 GJ"},          {0.9996, 0.004, "J", "1.000 ± 0.004 J"},
        {0.085, 0.00112, "Wh", "85.0 ± 1.1 mWh"},     {999.96, 0.5, "Wh", "1.0000 ± 0.0005 kWh"},
        {1.6397, 0.0009, "Wh", "1.6397 ± 0.0009 Wh"},
    };
    CHECK(examples);
}

static void a_half_width_of_0_is_shown_as_it_is(void **state)
{
    (void)state;
    static const struct example examples[] = {{5903.6, 0, "J", "5.9036 ± 0 kJ"},
                                              {0, 0, "J", "0 ± 0 J"},
                                              {-0.0, 0, "J", "0 ± 0 J"},
                                              {705, 0, "J", "705 ± 0 J"}};
    CHECK(examples);
}

static void an_unknown_half_width_says_so_and_an_unknown_value_is_empty(void **state)
{
    (void)state;
    static const struct reading unknown[] = {{0}, {NAN, true}, {INFINITY, true}}, one = {1, true};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        AUTO_FREE char *text = amount_format_with((struct reading){5903.6, true}, unknown[i], "J");
        assert_string_equal(text, "5.9 kJ ± unknown");
        AUTO_FREE char *empty = amount_format_with(unknown[i], one, "J");
        assert_string_equal(empty, "");
    }
}

static void a_figure_without_a_half_width_has_three_significant_digits(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *expected;
    } rows[] = {{705, "705 J"},   {12345, "12.3 kJ"}, {999.6, "1 kJ"},
                {999.4, "999 J"}, {5903.6, "5.9 kJ"}, {0.0123, "12.3 mJ"},
                {0, "0 J"},       {-592, "-592 J"},   {2.5e6, "2.5 MJ"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_FREE char *text = amount_format((struct reading){rows[i].value, true}, "J");
        assert_string_equal(text, rows[i].expected);
    }
    AUTO_FREE char *empty = amount_format((struct reading){0}, "J");
    assert_string_equal(empty, "");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_half_width_decides_how_many_digits_are_shown),
        cmocka_unit_test(the_first_digit_of_a_half_width_is_that_after_rounding),
        cmocka_unit_test(value_and_half_width_share_the_prefix_of_the_larger),
        cmocka_unit_test(a_figure_that_is_rounded_up_to_1000_takes_the_next_prefix),
        cmocka_unit_test(a_half_width_of_0_is_shown_as_it_is),
        cmocka_unit_test(an_unknown_half_width_says_so_and_an_unknown_value_is_empty),
        cmocka_unit_test(a_figure_without_a_half_width_has_three_significant_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
