/* Windows worked out by hand. Where a half-width is expected, its derivation stands beside it
 * (formulae: docs/explanation/uncertainty.md). */
#include "measure/energy/window_knots.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/clock.h"
#include "measure/energy/window.h"

#include <math.h>
#include <string.h>

/* A counter whose every reading is current to the nanosecond, and a trace of instants. */
static const struct window_sensor exact = {
    .counter_source = "counter",
    .power_source = "trace",
    .power_limit_w = 1000,
    .gap_ns = 150 * NS_PER_MS,
};

/* Of one window: an index of its own. */
static void window_energy(const struct series *series, int64_t start_ns, int64_t end_ns,
                          const struct window_sensor *sensor, struct window_energy *out)
{
    struct window_index *index = window_index_new(series, sensor);
    window_index_energy(index, start_ns, end_ns, out);
    window_index_free(index);
}

static int64_t at(double s)
{
    return llround(s * NS_PER_S);
}

static void near(double value, double expected, double tolerance)
{
    if (fabs(value - expected) > tolerance)
        fail_msg("%.9g is not %.9g, give or take %g", value, expected, tolerance);
}

static void near_reading(struct reading reading, double expected, double tolerance)
{
    assert_true(reading.valid);
    near(reading.value, expected, tolerance);
}

/* Samples of constant power every 50 ms from from_s to to_s, both included. */
static void trace(struct series *series, double from_s, double to_s, double power_w)
{
    for (int64_t t = at(from_s); t <= at(to_s); t += 50 * NS_PER_MS)
        series_add_power(series, (struct power_sample){t, power_w});
}

static void count(struct series *series, double t_s, double energy_j)
{
    series_add_counter(
        series, (struct counter_reading){at(t_s), at(t_s), (uint64_t)llround(energy_j * 1000)});
}

static struct window_energy ask(struct series *series, double from_s, double to_s)
{
    struct window_energy energy;
    window_energy(series, at(from_s), at(to_s), &exact, &energy);
    return energy;
}

static void constant_power_without_a_counter_is_power_times_time(void **state)
{
    (void)state;
    struct series series = {0};
    trace(&series, 0, 10, 100);
    struct window_energy energy = ask(&series, 1, 3);
    near_reading(energy.energy_j, 200, 1e-9);
    /* 40 steps, each (0.1 % of 100 W times 50 ms)² = 0.000025 J²; times 2^0.3 where no counter has
     * shown better */
    near_reading(energy.half_width_j, 1.96 * sqrt(0.001 * exp2(0.3)), 1e-9);
    near_reading(energy.power_mean_w, 100, 1e-9);
    near_reading(energy.power_max_w, 100, 0);
    near_reading(energy.power_min_w, 100, 0);
    near_reading(energy.power_cv_within, 0, 1e-6);
    near_reading(energy.integral_j, 200, 1e-9);
    assert_string_equal(energy.source, "trace");
    near(energy.covered_share, 1, 1e-12);
    assert_int_equal(energy.longest_gap_ns, 50 * NS_PER_MS);
    assert_int_equal(energy.flags, 0);
    assert_false(energy.disagrees);
    series_fini(&series);
}

static void a_ramp_is_integrated_exactly(void **state)
{
    (void)state;
    struct series series = {0};
    for (int i = 0; i <= 200; i++) /* 100 W more every second */
        series_add_power(&series, (struct power_sample){at(i * 0.05), 5.0 * i});
    struct window_energy energy = ask(&series, 2.01, 4.03);
    near_reading(energy.energy_j, 50 * (4.03 * 4.03 - 2.01 * 2.01), 1e-6);
    near_reading(energy.power_max_w, 400, 1e-9); /* samples at 2.05 and 4.00 */
    near_reading(energy.power_min_w, 205, 1e-9);
    series_fini(&series);
}

static void a_step_between_two_samples_leaves_its_place_open(void **state)
{
    (void)state;
    struct series series = {0};
    trace(&series, 0, 1, 100);
    trace(&series, 1.05, 2, 500);
    struct window_energy energy = ask(&series, 0.5, 1.5);
    near_reading(energy.energy_j, 50 + 15 + 225, 1e-6);
    /* (400 W · 50 ms)²/12 for the step; 10 steps at 100 W, the one at 300 W in the mean, 9 at 500 W
     * with 0.1 % of p·50 ms each */
    double flat = 10 * 0.005 * 0.005 + 0.015 * 0.015 + 9 * 0.025 * 0.025;
    near_reading(energy.half_width_j, 1.96 * sqrt(exp2(0.3) * (400.0 / 12 + flat)), 1e-6);
    series_fini(&series);
}

static void variation_within_a_window_is_its_deviation_by_its_mean(void **state)
{
    (void)state;
    struct series series = {0};
    for (int i = 0; i <= 200; i++)
        series_add_power(&series, (struct power_sample){at(i * 0.05), i % 2 ? 300 : 100});
    struct window_energy energy = ask(&series, 2, 8);
    near_reading(energy.power_mean_w, 200, 1e-6);
    near_reading(energy.power_cv_within, 0.5, 1e-9); /* 100 W around 200 W */
    series_fini(&series);
}

static void an_exact_counter_is_believed_to_the_millijoule(void **state)
{
    (void)state;
    struct series series = {0};
    for (int i = 0; i <= 10; i++)
        count(&series, i, 1e6 + 123.456 * i);
    struct window_energy energy = ask(&series, 2, 5);
    near_reading(energy.energy_j, 3 * 123.456, 1e-6);
    assert_true(energy.half_width_j.valid && energy.half_width_j.value < 1e-4);
    assert_string_equal(energy.source, "counter");
    assert_false(energy.power_max_w.valid); /* nothing has seen power itself */
    assert_false(energy.power_cv_within.valid);
    assert_false(energy.integral_j.valid);
    assert_int_equal(energy.longest_gap_ns, NS_PER_S);
    assert_int_equal(energy.flags, 0);
    /* constant so far as one can see: half a second is half the energy, but who knows */
    energy = ask(&series, 2.5, 5);
    near_reading(energy.energy_j, 2.5 * 123.456, 1e-3);
    assert_true(energy.half_width_j.value > 1);
    series_fini(&series);
}

static void between_two_readings_the_trace_gives_the_shape(void **state)
{
    (void)state;
    struct series series = {0};
    trace(&series, 0, 1.95, 100);
    trace(&series, 2, 4, 300);
    for (int i = 0; i <= 4;
         /* up to 2 s 100 W; then 300 W; the step's own trapezoid (1.95..2 s) holds 5 J too many */
         i++)
        count(&series, i, i <= 2 ? 100 * i : 200 + 300 * (i - 2));
    struct window_energy energy = ask(&series, 0.5, 3.5);
    near_reading(energy.energy_j, 150 + 450, 0.05);
    near_reading(energy.integral_j, 150 + 5 + 450, 1e-6);
    assert_false(energy.disagrees); /* a step's place is worth more than that */
    series_fini(&series);
}

/* The counter says 100 W, the trace 110 W: what comes from where can be told apart. */
static void two_gains(struct series *series, const double *counter_j, int readings)
{
    trace(series, 0, 10, 110);
    for (int i = 0; i < readings; i++)
        count(series, i, counter_j[i]);
}

static void counter_and_trace_that_differ_are_evidence(void **state)
{
    (void)state;
    struct window_sensor sensor = exact;
    struct window_energy energy;
    struct series series = {0};
    sensor.agreement_share = 0.005;
    two_gains(&series, (const double[]){0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000}, 11);
    window_energy(&series, at(2), at(8), &sensor, &energy);
    near_reading(energy.energy_j, 600, 1e-3);
    near_reading(energy.integral_j, 660, 1e-6);
    assert_true(energy.disagrees);
    series_fini(&series);
    trace(&series, 0, 10, 100.3); /* within what two figures of one sensor may differ by */
    for (int i = 0; i <= 10; i++)
        count(&series, i, 100.0 * i);
    window_energy(&series, at(2), at(8), &sensor, &energy);
    near_reading(energy.integral_j, 601.8, 1e-6);
    assert_false(energy.disagrees);
    series_fini(&series);
}

static void a_counter_that_goes_backwards_leaves_that_stretch_to_the_trace(void **state)
{
    (void)state;
    struct series series = {0};
    two_gains(&series, (const double[]){1000, 1100, 1200, 1300, 1400, 5, 105, 205, 305, 405, 505},
              11);
    struct window_energy energy = ask(&series, 2, 8);
    near_reading(energy.energy_j, 200 + 110 + 300, 1e-3); /* 4 to 5 s from the trace */
    assert_int_equal(energy.flags, WINDOW_BACKWARDS);
    assert_string_equal(energy.source, "counter");
    energy = ask(&series, 1, 3);
    near_reading(energy.energy_j, 200, 1e-3);
    assert_int_equal(energy.flags, 0);
    energy = ask(&series, 6, 9);
    near_reading(energy.energy_j, 300, 1e-3);
    assert_int_equal(energy.flags, 0);
    series_fini(&series);
}

static void a_counter_that_jumps_is_not_believed(void **state)
{
    (void)state;
    struct series series = {0};
    two_gains(
        &series,
        (const double[]){0, 100, 200, 300, 400, 1e9, 1e9 + 100, 1e9 + 200, 1e9 + 300, 1e9 + 400},
        10);
    struct window_energy energy = ask(&series, 2, 8);
    near_reading(energy.energy_j, 200 + 110 + 300, 1e-3);
    assert_int_equal(energy.flags, WINDOW_JUMPED);
    series_fini(&series);
}

static void one_wild_value_is_bridged(void **state)
{
    (void)state;
    struct series series = {0};
    two_gains(&series, (const double[]){0, 100, 200, 300, 400, 1e9, 600, 700, 800, 900}, 10);
    struct window_energy energy = ask(&series, 2, 8);
    near_reading(energy.energy_j, 200 + 220 + 200, 1e-3);
    assert_int_equal(energy.flags, WINDOW_JUMPED | WINDOW_BACKWARDS);
    series_fini(&series);
}

static void a_counter_that_stands_still_under_power_is_not_believed(void **state)
{
    (void)state;
    struct series series = {0};
    two_gains(&series, (const double[]){0, 100, 200, 300, 400, 400, 400, 500, 600, 700, 800}, 11);
    struct window_energy energy = ask(&series, 2, 9);
    near_reading(energy.energy_j, 200 + 330 + 200, 1e-3); /* 4 to 7 s from the trace */
    assert_int_equal(energy.flags, WINDOW_STOOD);
    energy = ask(&series, 7.5, 9);
    assert_int_equal(energy.flags, 0);
    series_fini(&series);
    /* to the end */
    two_gains(&series, (const double[]){0, 100, 200, 300, 400, 400, 400, 400, 400, 400, 400}, 11);
    energy = ask(&series, 2, 9);
    near_reading(energy.energy_j, 200 + 550, 1e-3);
    assert_int_equal(energy.flags, WINDOW_STOOD);
    assert_string_equal(energy.source, "trace"); /* the larger part of it */
    series_fini(&series);
}

static void a_gap_in_the_trace_is_filled_by_the_counter(void **state)
{
    (void)state;
    static const double counter_j[] = {0, 100, 200, 300, 400, 900, 1000, 1100, 1200, 1300};
    struct series series = {0};
    trace(&series, 0, 3, 100);
    trace(&series, 6, 9, 100);
    for (int i = 0; i < 10; i++)
        count(&series, i, counter_j[i]);
    struct window_energy energy = ask(&series, 3, 6);
    near_reading(energy.energy_j, 700, 1e-2);
    assert_int_equal(energy.flags, WINDOW_GAP);
    assert_string_equal(energy.source, "counter");
    near(energy.covered_share, 1, 1e-12);
    assert_false(energy.integral_j.valid);
    series_fini(&series);
}

static void a_gap_without_a_counter_is_bridged_and_said(void **state)
{
    (void)state;
    struct series series = {0};
    trace(&series, 0, 3, 100);
    trace(&series, 6, 9, 100);
    struct window_energy energy = ask(&series, 1, 8);
    near_reading(energy.energy_j, 700, 1e-6);
    near(energy.covered_share, (7 - 3 + 0.15) / 7, 1e-9); /* half a gap_ns counts at each side */
    /* power may have been off by half of itself for 3 s: (50·3)²/12 J² */
    near_reading(energy.half_width_j, 1.96 * sqrt(150 * 150 / 12.0), 0.5);
    assert_int_equal(energy.flags, WINDOW_GAP | WINDOW_UNCOVERED);
    assert_int_equal(energy.longest_gap_ns, 3 * NS_PER_S);
    energy = ask(&series, 2.5, 6.5); /* most of it unseen: not a measurement */
    assert_false(energy.energy_j.valid);
    assert_string_equal(energy.source, "none");
    near(energy.covered_share, 1.15 / 4, 1e-9);
    series_fini(&series);
}

static void nothing(const struct window_energy *energy, unsigned flags)
{
    assert_false(energy->energy_j.valid || energy->half_width_j.valid ||
                 energy->power_mean_w.valid);
    assert_false(energy->power_max_w.valid || energy->power_cv_within.valid ||
                 energy->integral_j.valid);
    assert_string_equal(energy->source, "none");
    assert_int_equal(energy->flags, flags);
    assert_true(energy->covered_share == 0);
    assert_false(energy->disagrees);
    assert_false(window_kwh(energy->energy_j).valid);
}

static void no_data_is_absent_and_not_zero(void **state)
{
    (void)state;
    struct series series = {0};
    struct window_energy energy = ask(&series, 1, 2);
    nothing(&energy, WINDOW_UNCOVERED);
    count(&series, 1.5, 1000); /* one reading says nothing about a difference */
    energy = ask(&series, 1, 2);
    nothing(&energy, WINDOW_UNCOVERED);
    count(&series, 1.6, 1000); /* the same value again: neither */
    energy = ask(&series, 1, 2);
    nothing(&energy, WINDOW_UNCOVERED);
    series_fini(&series);
}

static void empty_and_reversed_windows_have_no_energy(void **state)
{
    (void)state;
    struct series series = {0};
    trace(&series, 0, 10, 100);
    struct window_energy energy = ask(&series, 3, 3);
    nothing(&energy, WINDOW_EMPTY);
    energy = ask(&series, 5, 3);
    nothing(&energy, WINDOW_EMPTY);
    series_fini(&series);
}

static void a_single_sample_stands_for_its_surroundings_only(void **state)
{
    (void)state;
    struct series series = {0};
    series_add_power(&series, (struct power_sample){at(5), 200});
    struct window_energy energy = ask(&series, 4.95, 5.05);
    near_reading(energy.energy_j, 20, 1e-9);
    energy = ask(&series, 7, 8);
    assert_false(energy.energy_j.valid);
    series_fini(&series);
}

static void windows_outside_of_the_data_are_absent(void **state)
{
    (void)state;
    struct series series = {0};
    trace(&series, 0, 10, 100);
    for (int i = 0; i <= 10; i++)
        count(&series, i, 100 * i);
    struct window_energy energy = ask(&series, 20, 30);
    assert_false(energy.energy_j.valid);
    assert_true(energy.covered_share == 0);
    energy = ask(&series, -30, -20);
    assert_false(energy.energy_j.valid);
    /* a tail of which nothing is known: held, said, and in the uncertainty */
    energy = ask(&series, 4, 11);
    near_reading(energy.energy_j, 700, 1e-2);
    assert_true(energy.flags & WINDOW_UNCOVERED);
    near(energy.covered_share, 6.075 / 7, 1e-9);
    assert_true(energy.half_width_j.value > 20);
    series_fini(&series);
}

static void huge_and_broken_values_stay_finite(void **state)
{
    (void)state;
    struct series series = {0};
    series_add_power(&series, (struct power_sample){INT64_MIN, 100});
    for (int i = 0; i < 40; i++)
        series_add_power(&series, (struct power_sample){at(i * 0.05), i == 20   ? NAN
                                                                      : i == 21 ? 4294967.295
                                                                      : i == 22 ? -5
                                                                                : 100});
    series_add_power(&series, (struct power_sample){INT64_MAX, INFINITY});
    series_add_counter(&series, (struct counter_reading){INT64_MIN, INT64_MIN, UINT64_MAX});
    series_add_counter(&series, (struct counter_reading){0, 0, 0});
    series_add_counter(&series, (struct counter_reading){-5, -9, 7}); /* ends before it begins */
    series_add_counter(&series, (struct counter_reading){at(1), at(1), UINT64_MAX});
    series_add_counter(&series, (struct counter_reading){INT64_MAX, INT64_MAX, UINT64_MAX - 1});
    struct window_energy energy;
    window_energy(&series, INT64_MIN, INT64_MAX, &exact, &energy);
    assert_true(!energy.energy_j.valid || isfinite(energy.energy_j.value));
    window_energy(&series, at(0.2), at(0.8), &exact, &energy);
    near_reading(energy.energy_j, 60, 1e-3);
    window_energy(&series, at(0.5), at(1.5), &exact, &energy); /* over the broken samples */
    near_reading(energy.energy_j, 100, 1e-3);
    near_reading(energy.power_max_w, 100, 0);
    series_fini(&series);
}

/* 100 W; the counter is read densely at 1 s and 3 s: in the instants remains ±4 ms, a triangle, so
 * 100 W · 4 ms/√6 a window's edge. */
static void the_half_width_of_a_dense_window_is_that_of_its_two_instants(void **state)
{
    (void)state;
    struct window_sensor sensor = window_sensor_gpu;
    struct series series = {0};
    sensor.power_limit_w = 700;
    sensor.span_max_ns = 0;
    series_add_counter(&series,
                       (struct counter_reading){(1000 * NS_PER_MS), (1004 * NS_PER_MS), 90600});
    series_add_counter(&series,
                       /* at 1006 ms */
                       (struct counter_reading){(1004 * NS_PER_MS), (1008 * NS_PER_MS), 100600});
    series_add_counter(&series,
                       (struct counter_reading){(3000 * NS_PER_MS), (3004 * NS_PER_MS), 290200});
    series_add_counter(&series,
                       /* at 3002 ms */
                       (struct counter_reading){(3004 * NS_PER_MS), (3008 * NS_PER_MS), 300200});
    trace(&series, 0, 4, 100);
    struct window_energy energy;
    window_energy(&series, at(1), at(3), &sensor, &energy);
    near_reading(energy.energy_j, 200, 0.6); /* by up to 2 · 100 W · 4 ms */
    double two_instants = 1.96 * sqrt(2) * 100 * 0.004 / sqrt(6);
    assert_true(energy.half_width_j.value < 1.05 * two_instants &&
                energy.half_width_j.value > 0.4 * two_instants);
    assert_string_equal(energy.source, "gpu-counter");
    series_fini(&series);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_power_without_a_counter_is_power_times_time),
        cmocka_unit_test(a_ramp_is_integrated_exactly),
        cmocka_unit_test(a_step_between_two_samples_leaves_its_place_open),
        cmocka_unit_test(variation_within_a_window_is_its_deviation_by_its_mean),
        cmocka_unit_test(an_exact_counter_is_believed_to_the_millijoule),
        cmocka_unit_test(between_two_readings_the_trace_gives_the_shape),
        cmocka_unit_test(counter_and_trace_that_differ_are_evidence),
        cmocka_unit_test(a_counter_that_goes_backwards_leaves_that_stretch_to_the_trace),
        cmocka_unit_test(a_counter_that_jumps_is_not_believed),
        cmocka_unit_test(one_wild_value_is_bridged),
        cmocka_unit_test(a_counter_that_stands_still_under_power_is_not_believed),
        cmocka_unit_test(a_gap_in_the_trace_is_filled_by_the_counter),
        cmocka_unit_test(a_gap_without_a_counter_is_bridged_and_said),
        cmocka_unit_test(no_data_is_absent_and_not_zero),
        cmocka_unit_test(empty_and_reversed_windows_have_no_energy),
        cmocka_unit_test(a_single_sample_stands_for_its_surroundings_only),
        cmocka_unit_test(windows_outside_of_the_data_are_absent),
        cmocka_unit_test(huge_and_broken_values_stay_finite),
        cmocka_unit_test(the_half_width_of_a_dense_window_is_that_of_its_two_instants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
