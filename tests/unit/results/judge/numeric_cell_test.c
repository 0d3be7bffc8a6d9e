#include "results/judge/numeric_cell.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum numeric_cell_kind read_text(const char *text, double *out)
{
    return numeric_cell_read(text, text + strlen(text), out);
}

static void expect_number(const char *text, double expected)
{
    double value = -1;
    if (read_text(text, &value) != FIGURE_IS || value != expected)
        fail_msg("'%s' is read as %.17g", text, value);
}

static void figures_are_read_as_they_are_written(void **state)
{
    (void)state;
    expect_number("74.69", 74.69);
    expect_number("0", 0);
    expect_number("-3.5", -3.5);
    expect_number("1e-05", 1e-05);
    expect_number("13,138.35", 13138.35);
    expect_number("1,234,567", 1234567);
    expect_number("-1,000.5", -1000.5);
    expect_number(" 74.69 W", 74.69);
    expect_number("87 %", 87);
    expect_number("733.17 Joules ", 733.17);
    expect_number("57\r", 57);
    expect_number("87209.37000000007", 87209.37000000007);
    expect_number("123456789012345678901234567890", 123456789012345678901234567890.0);
}

static void what_sensors_say_when_they_know_nothing_is_absent(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "  ", "N/A", "[N/A]", " N/A ", "[Not Supported]", "nan", "<not counted>"};
    double value;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(read_text(texts[i], &value), FIGURE_ABSENT);
}

static void what_is_no_figure_is_told(void **state)
{
    (void)state;
    static const char *const texts[] = {"abc",   "1.2.3",    "12,34", "1,2345", ",5",
                                        "1,",    "1.",       ".5",    "0x10",   "inf",
                                        "1e999", "5 apples", "--5",   "+5",     "W"};
    double value;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (read_text(texts[i], &value) != FIGURE_BAD)
            fail_msg("'%s' was taken", texts[i]);
}

/* strtod rounds correctly; ours must give the very same double. */
static void a_hundred_thousand_decimals_are_those_of_strtod(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 99);
    for (int i = 0; i < 100000; i++) {
        char text[64];
        uint64_t drawn = rng_next(&rng) >> rng_below(&rng, 50);
        int digits = snprintf(text, sizeof text, "%llu", (unsigned long long)drawn);
        int point = (int)rng_below(&rng, (uint64_t)digits);
        if (point > 0) {
            memmove(text + point + 1, text + point, (size_t)(digits - point) + 1);
            text[point] = '.';
        }
        expect_number(text, strtod(text, NULL));
    }
}

static void whole_seconds_are_digits_alone(void **state)
{
    (void)state;
    int64_t value;
    const char *good = "1763455019",
               *bad[] = {"", "-1", "17.5", " 17", "1763455019x", "9999999999999999999"};
    assert_true(numeric_cell_read_whole(good, good + 10, &value));
    assert_int_equal(value, 1763455019);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(numeric_cell_read_whole(bad[i], bad[i] + strlen(bad[i]), &value));
}

static void perfs_text_is_read_with_its_commas(void **state)
{
    (void)state;
    static const char text[] =
        "# started on Sat Nov 15 17:05:26 2025\n\n\n Performance counter stats for 'system "
        "wide':\n\n"
        "         13,138.35 Joules power/energy-pkg/                             \n"
        "            940.00 Joules power/energy-ram/                             \n\n"
        "     373.495638565 seconds time elapsed\n\n";
    struct perf perf;
    perf_parse(text, strlen(text), &perf);
    assert_true(perf.package_j.valid && perf.package_j.value == 13138.35);
    assert_true(perf.dram_j.valid && perf.dram_j.value == 940);
    assert_true(perf.elapsed_s.valid && perf.elapsed_s.value == 373.495638565);
    /* date -u -d '2025-11-15 17:05:26' +%s */
    assert_true(perf.has_started);
    assert_int_equal(perf.started_local_s, 1763226326);
}

static void perf_without_counters_gives_nothing(void **state)
{
    (void)state;
    static const char text[] =
        "   <not supported> Joules power/energy-pkg/\nPackage Energy (Joules): N/A\n"
        "# started on Sat Nix 99 17:05:26 2025\n";
    static const char summed[] = "CPU Energy Consumption Summary\r\nPackage Energy (Joules): "
                                 "733.17\r\nRAM Energy (Joules): 57.13\r\n";
    struct perf perf;
    perf_parse(text, strlen(text), &perf);
    assert_false(perf.package_j.valid || perf.dram_j.valid || perf.elapsed_s.valid ||
                 perf.has_started);
    perf_parse(summed, strlen(summed), &perf);
    assert_true(perf.package_j.value == 733.17 && perf.dram_j.value == 57.13);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_read_as_they_are_written),
        cmocka_unit_test(what_sensors_say_when_they_know_nothing_is_absent),
        cmocka_unit_test(what_is_no_figure_is_told),
        cmocka_unit_test(a_hundred_thousand_decimals_are_those_of_strtod),
        cmocka_unit_test(whole_seconds_are_digits_alone),
        cmocka_unit_test(perfs_text_is_read_with_its_commas),
        cmocka_unit_test(perf_without_counters_gives_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
