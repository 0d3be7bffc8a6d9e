/* Energies by hand, and the half-width against loads whose energy is known in closed form. */
#include "results/judge/power.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/rng.h"

#include <math.h>
#include <stdio.h>

static void power_add(struct power *power, int64_t t_s, double watts)
{
    power_add_all(power, &t_s, &watts, 1);
}

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g is not %.17g within %g", value, expected, tolerance);
}

static void a_level_load_is_power_times_time(void **state)
{
    (void)state;
    struct power power;
    power_begin(&power, 100.2, 110.7);
    for (int t = 100; t < 110; t++)
        power_add(&power, t, 200);
    struct power_energy energy = power_end(&power);
    near(energy.energy_j.value, 200 * 10.5, 1e-9);
    near(energy.mean_w.value, 200, 1e-9);
    near(energy.sampled_share.value, 10 / 10.5, 1e-12);
    near(power.sum, 2000, 0);
    /* What is left is the edges: half of the power may be off, 0.3 s at the start and 1.2 s at the
     * end. */
    near(energy.half_width_j.value, 1.959963984540054 * 100 * sqrt((0.3 * 0.3 + 1.2 * 1.2) / 12),
         1e-6);
}

/* Samples at 0.5, 1.5 and 4.5: 100, 200, 50 W. From 0 to 5: 50 + 150 + 375 + 25. */
static void lines_are_drawn_between_samples_and_held_to_the_edges(void **state)
{
    (void)state;
    struct power power;
    power_begin(&power, 0, 5);
    power_add(&power, 0, 100);
    power_add(&power, 1, 200);
    power_add(&power, 4, 50);
    struct power_energy energy = power_end(&power);
    near(energy.energy_j.value, 600, 1e-9);
    near(energy.longest_gap_s, 3, 0);
    assert_int_equal(power.seconds, 3);
    near(energy.sampled_share.value, 0.6, 1e-12);
}

/* A window that ends between two samples takes only its part: 100 W rising to 300 W over 2 s, its
 * first half. */
static void the_window_cuts_through_a_line(void **state)
{
    (void)state;
    struct power power;
    power_begin(&power, 0.5, 1.5);
    power_add(&power, 0, 100);
    power_add(&power, 2, 300);
    near(power_end(&power).energy_j.value, 150, 1e-9);
}

static void one_sample_or_none_is_no_energy(void **state)
{
    (void)state;
    struct power power;
    power_begin(&power, 0, 10);
    assert_false(power_end(&power).energy_j.valid);
    power_add(&power, 5, 100);
    assert_false(power_end(&power).energy_j.valid);
    power_begin(&power, NAN, NAN);
    power_add(&power, 5, 100);
    power_add(&power, 8, 100);
    near(power_end(&power).energy_j.value, 300, 1e-9);
}

static void samples_outside_of_the_window_are_counted(void **state)
{
    (void)state;
    struct power power;
    power_begin(&power, 100, 110);
    for (int t = 90; t < 120; t++)
        power_add(&power, t, 50);
    struct power_energy energy = power_end(&power);
    near(energy.energy_j.value, 500, 1e-9);
    near(energy.sampled_share.value, 1, 0);
    /* More than a second away: 90 to 97, and 112 to 119. */
    assert_int_equal(power.outside, 16);
}

/* A loop that sleeps a second and needs 30 ms besides, in whole-second stamps, over a load that
 * swings slowly: the energy of 150 + 100 sin(t / period) is known. */
static void the_half_width_holds_the_truth_as_often_as_it_says(void **state)
{
    (void)state;
    struct rng rng;
    int held = 0, rounds = 4000;
    double widths = 0;
    rng_seed(&rng, 17);
    for (int i = 0; i < rounds; i++) {
        double period = 3 + 30 * rng_unit(&rng), phase = 6.3 * rng_unit(&rng);
        double begin = 1000 + rng_unit(&rng), end = begin + 40 + 60 * rng_unit(&rng),
               step = 1.01 + 0.05 * rng_unit(&rng);
        struct power power;
        power_begin(&power, begin, end);
        for (double t = begin + 0.01; t < end; t += step)
            power_add(&power, (int64_t)t, 150 + 100 * sin(t / period + phase));
        struct power_energy energy = power_end(&power);
        double truth = 150 * (end - begin) -
                       100 * period * (cos(end / period + phase) - cos(begin / period + phase));
        held += fabs(energy.energy_j.value - truth) <= energy.half_width_j.value;
        widths += energy.half_width_j.value / truth;
    }
    printf("# held: %.1f %%, mean half-width %.2f %%\n", 100.0 * held / rounds,
           100 * widths / rounds);
    assert_true(held >= 0.935 * rounds);
    assert_true(widths / rounds < 0.02);
}

/* Power that is 100 W or 300 W at each sample, at random: the mean of 200 such values is off by 100
 * W / sqrt(200). */
static void samples_of_fast_changes_count_as_drawn_at_random(void **state)
{
    (void)state;
    struct rng rng;
    double widths = 0;
    rng_seed(&rng, 3);
    for (int round = 0; round < 50; round++) {
        struct power power;
        power_begin(&power, 0, 200);
        for (int t = 0; t < 200; t++)
            power_add(&power, t, rng_unit(&rng) < 0.5 ? 100 : 300);
        widths += power_end(&power).half_width_j.value / 50;
    }
    double expected = 1.96 * 100 * sqrt(200);
    assert_true(widths > 0.8 * expected && widths < 1.2 * expected);
}

static struct power_energy energy_of(double begin_s, double end_s, const double *watts, int count)
{
    struct power power;
    power_begin(&power, begin_s, end_s);
    for (int t = 0; t < count; t++)
        power_add(&power, t, watts[t]);
    return power_end(&power);
}

/* A second at 0 W and three at 100 W; a mean of the last second shows each second when it is
 * over. */
static void means_are_of_the_second_before_their_sample(void **state)
{
    (void)state;
    static const double watts[] = {0, 0, 100, 100, 100};
    struct power_energy energy = energy_of(0.5, 4.5, watts, 5);
    assert_true(power_settle(&energy, POWER_MEAN));
    near(energy.energy_j.value, 300, 1e-9);
    near(energy.mean_w.value, 75, 1e-9);
    energy = energy_of(0.5, 4.5, watts, 5);
    assert_true(power_settle(&energy, POWER_INSTANT));
    near(energy.energy_j.value, 250, 1e-9);
}

static void the_interval_of_an_unknown_sensor_holds_both_kinds(void **state)
{
    (void)state;
    static const double watts[] = {0, 0, 100, 100, 100};
    struct power_energy instant = energy_of(0.5, 4.5, watts, 5), mean = instant, both = instant;
    assert_true(power_settle(&instant, POWER_INSTANT) && power_settle(&mean, POWER_MEAN));
    assert_true(power_settle(&both, POWER_UNKNOWN));
    near(both.energy_j.value - both.half_width_j.value,
         instant.energy_j.value - instant.half_width_j.value, 1e-9);
    near(both.energy_j.value + both.half_width_j.value,
         mean.energy_j.value + mean.half_width_j.value, 1e-9);
}

static void a_change_within_two_seconds_needs_a_sensor_of_instants(void **state)
{
    (void)state;
    static const double rising[] = {20, 200}, level[] = {190, 200};
    struct power_energy energy = energy_of(0.5, 2.5, rising, 2);
    assert_true(power_settle(&energy, POWER_INSTANT) && energy.energy_j.valid);
    assert_false(power_settle(&energy, POWER_UNKNOWN));
    assert_false(energy.energy_j.valid || energy.half_width_j.valid || energy.mean_w.valid);
    energy = energy_of(0.5, 2.5, rising, 2);
    assert_false(power_settle(&energy, POWER_MEAN));
    energy = energy_of(0.5, 2.5, level, 2);
    assert_true(power_settle(&energy, POWER_UNKNOWN) && energy.energy_j.valid);
    energy = energy_of(0.5, 3.5, rising, 2);
    assert_true(power_settle(&energy, POWER_UNKNOWN) && energy.energy_j.valid);
}

static void samples_within_rises_show_which_sensor_it_is(void **state)
{
    (void)state;
    static const double sharp[] = {20, 20, 200, 200, 200}, gradual[] = {20, 20, 110, 200, 200},
                        wave[] = {20, 60, 110, 150, 200};
    assert_int_equal(energy_of(0, 5, sharp, 5).rises.sharp, 1);
    assert_int_equal(energy_of(0, 5, sharp, 5).rises.gradual, 0);
    assert_int_equal(energy_of(0, 5, gradual, 5).rises.sharp, 0);
    assert_int_equal(energy_of(0, 5, gradual, 5).rises.gradual, 1);
    assert_int_equal(energy_of(0, 5, wave, 5).rises.sharp + energy_of(0, 5, wave, 5).rises.gradual,
                     0);
    assert_int_equal(power_sensor_find(&(struct power_rises){.sharp = 19, .gradual = 1}),
                     POWER_INSTANT);
    assert_int_equal(power_sensor_find(&(struct power_rises){.sharp = 2, .gradual = 8}),
                     POWER_MEAN);
    assert_int_equal(power_sensor_find(&(struct power_rises){.sharp = 7, .gradual = 3}),
                     POWER_UNKNOWN);
    assert_int_equal(power_sensor_find(&(struct power_rises){.sharp = 7}), POWER_UNKNOWN);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_level_load_is_power_times_time),
        cmocka_unit_test(lines_are_drawn_between_samples_and_held_to_the_edges),
        cmocka_unit_test(the_window_cuts_through_a_line),
        cmocka_unit_test(one_sample_or_none_is_no_energy),
        cmocka_unit_test(samples_outside_of_the_window_are_counted),
        cmocka_unit_test(the_half_width_holds_the_truth_as_often_as_it_says),
        cmocka_unit_test(samples_of_fast_changes_count_as_drawn_at_random),
        cmocka_unit_test(means_are_of_the_second_before_their_sample),
        cmocka_unit_test(the_interval_of_an_unknown_sensor_holds_both_kinds),
        cmocka_unit_test(a_change_within_two_seconds_needs_a_sensor_of_instants),
        cmocka_unit_test(samples_within_rises_show_which_sensor_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
