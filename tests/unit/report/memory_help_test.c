/* What is proposed, and in which order, for peaks that are made up. */
#include "report/memory_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#define GIB (UINT64_C(1) << 30)

static void the_largest_gain_comes_first(void **state)
{
    (void)state;
    struct memory_report report = {0};
    AUTO(strv_fini) struct strv lines = {0};
    /* 3/4 of 8 GiB, 5 GiB, half of 4 GiB; inputs have no remedy, a twentieth is too little. */
    report.peak_sums[OWNER_OPTIMIZER_STATE].bytes = 8 * GIB;
    report.peak_sums[OWNER_ACTIVATIONS].bytes = 5 * GIB;
    report.peak_sums[OWNER_PARAMETERS].bytes = 4 * GIB;
    report.peak_sums[OWNER_INPUTS].bytes = 4 * GIB;
    report.peak_sums[OWNER_TEMPORARY].bytes = 1 * GIB;
    report.peak_sums[OWNER_KINDS].bytes = 22 * GIB;
    memory_help(&report, &lines);
    assert_int_equal(lines.count, 3);
    assert_non_null(strstr(lines.items[0], "optimizer state: "));
    assert_non_null(strstr(lines.items[0], "(6.00 GiB at most)"));
    assert_non_null(strstr(lines.items[1], "(5.00 GiB at most)"));
    assert_non_null(strstr(lines.items[2], "(2.00 GiB at most)"));
}

static void growth_comes_before_all(void **state)
{
    (void)state;
    struct memory_report report = {.growth = {.grows = true}};
    AUTO(strv_fini) struct strv lines = {0};
    report.peak_sums[OWNER_EARLY].bytes = report.peak_sums[OWNER_KINDS].bytes = GIB;
    memory_help(&report, &lines);
    assert_int_equal(lines.count, 2);
    assert_non_null(strstr(lines.items[0], "memory grows"));
    assert_non_null(strstr(lines.items[1], "_record_memory_history()"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_gain_comes_first),
        cmocka_unit_test(growth_comes_before_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
