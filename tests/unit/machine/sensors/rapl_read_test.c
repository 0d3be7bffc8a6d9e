#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "machine/sensors/rapl.h"

#include "rapl_tree.h"

#include <math.h>

static void a_step_no_processor_could_draw_is_a_reset(void **state)
{
    (void)state;
    static const int64_t S = 1000000000;
    struct rapl_reading reading;
    struct rapl_track wrapping = {.range_uj = RANGE_UJ}, endless = {0};
    rapl_follow(&wrapping, 1000000, 0, &reading);
    assert_int_equal(reading.energy_uj, 1000000);
    rapl_follow(&wrapping, 151000000, S, &reading);
    assert_int_equal(reading.energy_uj, 151000000);
    /* Back to zero after a second: a wrap would have been 262 kJ. */
    rapl_follow(&wrapping, 0, 2 * S, &reading);
    assert_true(reading.restarted);
    assert_int_equal(reading.energy_uj, 0);
    rapl_follow(&wrapping, 90000000, 3 * S, &reading);
    assert_false(reading.restarted);
    assert_int_equal(reading.energy_uj, 90000000);
    /* A counter that never wraps fell, and one that leapt by 5 kJ in a second. */
    rapl_follow(&endless, 3000000, 0, &reading);
    rapl_follow(&endless, 2000000, S, &reading);
    assert_true(reading.restarted);
    rapl_follow(&endless, 5002000000, 2 * S, &reading);
    assert_true(reading.restarted);
    /* 2 kW for a second are just believed. */
    rapl_follow(&endless, 7002000000, 3 * S, &reading);
    assert_false(reading.restarted);
    assert_int_equal(reading.energy_uj, 2000000000);
}

static void a_pause_in_which_it_may_have_wrapped_unseen_is_a_gap(void **state)
{
    (void)state;
    static const int64_t S = 1000000000;
    struct rapl_reading reading;
    struct rapl_track track = {.range_uj = RANGE_UJ};
    rapl_follow(&track, 0, 0, &reading);
    /* At 2 kW the range of 262143 J lasts 131 s. */
    rapl_follow(&track, 1000000, 131 * S, &reading);
    assert_false(reading.gap);
    rapl_follow(&track, 2000000, 263 * S, &reading);
    assert_true(reading.gap);
    struct rapl_track endless = {0};
    rapl_follow(&endless, 0, 0, &reading);
    rapl_follow(&endless, 1000000, 100000 * S, &reading);
    assert_false(reading.gap);
}

static void the_step_of_a_counter_is_found_from_its_values(void **state)
{
    (void)state;
    /* Of 1/2^14 J (61035 nJ to the driver), k steps are k * 61035 / 1000 microjoules, rounded down;
     * k = 3, 10, 101,
     * ... */
    static const uint64_t powercap[] = {183,     610,     6164,     61096,   122131,   183166,
                                        6103500, 7629375, 61035061, 9155311, 12207061, 183105061};
    static const uint64_t xeon_dram[] = {15, 30, 45, 61, 76, 91,
                                         /* 15300 nJ: 1 to 12 steps */
                                         107, 122, 137, 153, 168, 183};
    static const uint64_t none[] = {183,     610,     6164,     61095,   122131,   183167,
                                    6103500, 7629375, 61035061, 9155310, 12207061, 1};
    double quantum_j = 0;
    assert_true(rapl_quantum(RAPL_POWERCAP, powercap, 12, 1, &quantum_j));
    assert_true(fabs(quantum_j - 61.035e-6) < 1e-12);
    assert_true(rapl_quantum(RAPL_POWERCAP, xeon_dram, 12, 1, &quantum_j));
    assert_true(fabs(quantum_j - 15.3e-6) < 1e-12);
    assert_false(rapl_quantum(RAPL_POWERCAP, powercap, 11, 1, &quantum_j));
    if (rapl_quantum(RAPL_POWERCAP, none, 12, 1, &quantum_j))
        assert_true(quantum_j < 15e-6); /* only a finer step may explain them */
    static const uint64_t zeros[12] = {0};
    assert_false(rapl_quantum(RAPL_PERF, zeros, 12, 2.3283064365386962890625e-4, &quantum_j));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
#define ROW(name) cmocka_unit_test_setup_teardown(name, sysroot_setup, sysroot_teardown)
        ROW(a_step_no_processor_could_draw_is_a_reset),
        ROW(a_pause_in_which_it_may_have_wrapped_unseen_is_a_gap),
        ROW(the_step_of_a_counter_is_found_from_its_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
