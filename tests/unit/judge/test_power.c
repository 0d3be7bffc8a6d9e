/* Energies by hand, and the half-width against loads whose energy is known in closed form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "results/judge/read.h"

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
    /* What is left is the edges: half of the power may be off, 0.3 s at the start and 1.2 s at the end. */
    near(energy.half_width_j.value, 1.959963984540054 * 100 * sqrt((0.3 * 0.3 + 1.2 * 1.2) / 12), 1e-6);
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

/* A window that ends between two samples takes only its part: 100 W rising to 300 W over 2 s, its first half. */
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

/* A loop that sleeps a second and needs 30 ms besides, in whole-second stamps, over a load that swings slowly: the
 * energy of 150 + 100 sin(t / period) is known. */
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
        double truth = 150 * (end - begin) - 100 * period * (cos(end / period + phase) - cos(begin / period + phase));
        held += fabs(energy.energy_j.value - truth) <= energy.half_width_j.value;
        widths += energy.half_width_j.value / truth;
    }
    printf("# held: %.1f %%, mean half-width %.2f %%\n", 100.0 * held / rounds, 100 * widths / rounds);
    assert_true(held >= 0.935 * rounds);
    assert_true(widths / rounds < 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_level_load_is_power_times_time),
        cmocka_unit_test(lines_are_drawn_between_samples_and_held_to_the_edges),
        cmocka_unit_test(the_window_cuts_through_a_line),
        cmocka_unit_test(one_sample_or_none_is_no_energy),
        cmocka_unit_test(samples_outside_of_the_window_are_counted),
        cmocka_unit_test(the_half_width_holds_the_truth_as_often_as_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
