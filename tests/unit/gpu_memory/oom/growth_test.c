/* Growth of memory, on simulated trainings whose growth is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/rng.h"
#include "gpu_memory/oom/growth.h"

#include <math.h>
#include <stdlib.h>

#define GIB 1073741824.0

enum { EPOCHS = 100 };

/* Half a percent of 40 GiB of noise to both sides, evenly. */
static double noise(struct rng *rng)
{
    return (rng_unit(rng) - 0.5) * 0.01 * 40 * GIB;
}

static void slope_is_the_median_of_all_pairs(void **state)
{
    (void)state;
    /* Over 1: 1, 4, 2, 7; over 2: 2.5, 3, 4.5; over 3: 7/3, 13/3; over 4: 3.5. Sorted, the fifth
     * and sixth are 3 and 3.5. */
    static const double values[] = {0, 1, 5, 7, 14};
    assert_float_equal(growth_slope(values, 5), 3.25, 1e-12);
    /* One wild value does not matter. */
    static const double wild[] = {0, 1, 2, 1000, 4, 5, 6};
    assert_float_equal(growth_slope(wild, 7), 1, 1e-12);
    assert_float_equal(growth_slope(values, 1), 0, 0);
}

/* 3 GiB at first and 1.5 GiB with each epoch: 40 GiB are passed in the 26th (3 + 1.5 * 25 =
 * 40.5). */
static void a_leak_is_known_after_three_epochs_with_the_epoch_in_which_it_ends(void **state)
{
    (void)state;
    double peaks[EPOCHS];
    for (size_t i = 0; i < EPOCHS; i++)
        peaks[i] = (3 + 1.5 * (double)i) * GIB;
    for (size_t seen = 3; seen <= 25; seen++) {
        struct growth growth = growth_of(peaks, seen, 40 * GIB);
        assert_true(growth.grows);
        assert_float_equal(growth.bytes_per_epoch, 1.5 * GIB, 1);
        assert_int_equal(seen + growth_epochs_left(&growth, 40 * GIB), 26);
    }
    struct growth early = growth_of(peaks, 2, 40 * GIB);
    assert_false(early.grows);
    assert_int_equal(growth_epochs_left(&early, 40 * GIB), 0);
}

/* The study's case: epochs 1 to 4 are fine, the 5th fails: known when the third has ended, two
 * before. */
static void a_training_that_fails_in_its_fifth_epoch_is_known_after_the_third(void **state)
{
    (void)state;
    static const double peaks[] = {20 * GIB, 26 * GIB, 32.5 * GIB, 38.5 * GIB};
    struct growth growth = growth_of(peaks, 3, 44 * GIB);
    assert_true(growth.grows);
    assert_int_equal(3 + growth_epochs_left(&growth, 44 * GIB), 5);
}

static void noise_hides_no_leak_and_makes_none(void **state)
{
    (void)state;
    size_t found = 0, false_alarms = 0;
    double worst = 0;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        struct rng rng;
        double leaking[12], level[12];
        rng_seed(&rng, seed);
        for (size_t i = 0; i < 12; i++) {
            leaking[i] = (8 + 1.5 * (double)i) * GIB + noise(&rng);
            level[i] = 20 * GIB + noise(&rng);
        }
        struct growth growth = growth_of(leaking, 10, 40 * GIB);
        found += growth.grows;
        worst = fmax(worst, fabs(growth.bytes_per_epoch / GIB - 1.5));
        for (size_t seen = 3; seen <= 12; seen++)
            false_alarms += growth_of(level, seen, 40 * GIB).grows;
    }
    assert_int_equal(found, 500);
    assert_true(worst < 0.15);
    /* Of 5000 looks at trainings that do not grow. */
    assert_in_range(false_alarms, 0, 25);
}

static void warming_up_is_no_growth(void **state)
{
    (void)state;
    /* Caches fill in the first epoch; the first validation adds more; then it is level. */
    static const double level[] = {4 * GIB, 9 * GIB, 9 * GIB, 9 * GIB, 9 * GIB, 9 * GIB};
    static const double later[] = {4 * GIB, 4 * GIB, 9 * GIB, 9 * GIB, 9 * GIB, 9 * GIB};
    /* Fragmentation that settles: each step is half of the one before. */
    double settling[EPOCHS];
    for (size_t i = 0; i < EPOCHS; i++)
        settling[i] = (20 - 8 * pow(0.5, (double)i)) * GIB;
    for (size_t seen = 3; seen <= 6; seen++) {
        assert_false(growth_of(level, seen, 40 * GIB).grows);
        assert_false(growth_of(later, seen, 40 * GIB).grows);
    }
    for (size_t seen = 3; seen <= EPOCHS; seen++) {
        struct growth growth = growth_of(settling, seen, 24 * GIB);
        size_t left = growth_epochs_left(&growth, 24 * GIB);
        /* It never gets there; if it looks so while the steps are still large, then not as
         * something near. */
        if (growth.grows && left <= 5)
            fail_msg("%zu epochs seen, %zu left", seen, left);
    }
}

/* 0.3 GiB of 40 GiB are less than a hundredth. */
static void a_trifle_is_no_growth(void **state)
{
    (void)state;
    static const double peaks[] = {8 * GIB, 8.1 * GIB, 8.2 * GIB, 8.3 * GIB};
    assert_false(growth_of(peaks, 4, 40 * GIB).grows);
    assert_true(growth_of(peaks, 4, 10 * GIB).grows);
    assert_true(growth_of(peaks, 4, 0).grows); /* without a limit: more than 64 MiB */
}

static void memory_that_is_passed_already_runs_out_next(void **state)
{
    (void)state;
    static const double peaks[] = {8 * GIB, 18 * GIB, 28 * GIB, 38 * GIB};
    struct growth growth = growth_of(peaks, 4, 37 * GIB);
    assert_int_equal(growth_epochs_left(&growth, 37 * GIB), 1);
    assert_int_equal(growth_epochs_left(&growth, 38 * GIB), 1);
    /* the next one reaches it exactly */
    assert_int_equal(growth_epochs_left(&growth, 48 * GIB), 2);
    assert_int_equal(growth_epochs_left(&growth, 0), 0);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slope_is_the_median_of_all_pairs),
        cmocka_unit_test(a_leak_is_known_after_three_epochs_with_the_epoch_in_which_it_ends),
        cmocka_unit_test(a_training_that_fails_in_its_fifth_epoch_is_known_after_the_third),
        cmocka_unit_test(noise_hides_no_leak_and_makes_none),
        cmocka_unit_test(warming_up_is_no_growth),
        cmocka_unit_test(a_trifle_is_no_growth),
        cmocka_unit_test(memory_that_is_passed_already_runs_out_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
