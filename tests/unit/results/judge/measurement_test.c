/* The meters' own uncertainty of groups whose figures follow by hand. */
#include "results/judge/measurement.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

enum { MOST = 8 };

static struct dataset_experiment items[MOST];
static struct dataset_board boards[MOST][2];
static const struct dataset dataset = {.items = items, .count = MOST};

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g is not %.17g within %g", value, expected, tolerance);
}

/* 1000 J, read to ± percent, on a GPU whose gain is within bound (0: nobody states it). */
static void on(size_t i, const char *uuid, double percent, double bound)
{
    boards[i][0] = (struct dataset_board){
        .uuid = (char *)(intptr_t)uuid, .energy_j = 1000, .gain_bound = bound};
    items[i] = (struct dataset_experiment){.boards = boards[i], .board_count = 1};
    items[i].gpu.energy_j = (struct reading){1000, true};
    items[i].gpu.half_width_j = (struct reading){10 * percent, true};
}

static struct measurement ratio_of(const struct measurement_row *rows, size_t count, size_t strata)
{
    struct measurement out;
    measurement_of_ratio(&dataset, "gpu_energy_j", rows, count, strata, &out);
    return out;
}

static const struct measurement_row two_and_two[] = {
    {0, 0, false}, {1, 0, false}, {2, 0, true}, {3, 0, true}};

/* Read to 1.96 % and 3.92 % on A, 1.96 % on B: 1.5 % and 1 % are 1.803 %. */
static void on_one_gpu_the_gain_cancels_whatever_it_is(void **state)
{
    (void)state;
    for (double bound = 0; bound < 0.1; bound += 0.05) {
        on(0, "GPU-a", 1.96, bound);
        on(1, "GPU-a", 3.92, bound);
        on(2, "GPU-a", 1.96, bound);
        on(3, "GPU-a", 1.96, bound);
        struct measurement out = ratio_of(two_and_two, 4, 1);
        assert_true(out.valid && out.placed && out.cancels && out.u_gain.valid &&
                    out.half_width.valid);
        near(out.u_gain.value, 0, 1e-12);
        near(out.u_read, hypot(0.015, 0.01), 1e-12);
        near(out.half_width.value, 1.96 * hypot(0.015, 0.01), 1e-6);
    }
}

/* Each within 5 %, by itself: √2 · 0.05/√3 = 4.08 %. */
static void between_two_gpus_the_gain_is_kept(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++)
        on(i, i < 2 ? "GPU-a" : "GPU-b", 1.96, 0.05);
    struct measurement out = ratio_of(two_and_two, 4, 1);
    assert_true(out.valid && !out.cancels);
    near(out.u_gain.value, sqrt(2) * 0.05 / sqrt(3), 1e-12);
    near(out.half_width.value, 1.96 * sqrt(2) * 0.01, 1e-6);
    for (size_t i = 0; i < 4; i++)
        on(i, i < 2 ? "GPU-a" : "GPU-b", 1.96, i < 2 ? 0.05 : 0);
    out = ratio_of(two_and_two, 4, 1);
    assert_true(out.valid && !out.cancels && !out.u_gain.valid && out.half_width.valid);
}

/* A has one of its two on each GPU, B both on b: half of each gain is kept: ½·√2 · 0.05/√3. */
static void what_the_sides_do_not_share_is_kept(void **state)
{
    (void)state;
    on(0, "GPU-a", 1.96, 0.05);
    for (size_t i = 1; i < 4; i++)
        on(i, "GPU-b", 1.96, 0.05);
    near(ratio_of(two_and_two, 4, 1).u_gain.value, sqrt(0.5) * 0.05 / sqrt(3), 1e-12);
}

/* One GPU a stratum, three of A and one of B on a, one and three on b: within each stratum it
 * cancels. */
static void within_strata_of_one_gpu_each_the_gain_cancels(void **state)
{
    (void)state;
    static const struct measurement_row rows[] = {{0, 0, false}, {1, 0, false}, {2, 0, false},
                                                  {3, 0, true},  {4, 1, false}, {5, 1, true},
                                                  {6, 1, true},  {7, 1, true}};
    for (size_t i = 0; i < 8; i++)
        on(i, i < 4 ? "GPU-a" : "GPU-b", 1.96, 0.05);
    struct measurement out = ratio_of(rows, 8, 2);
    assert_true(out.cancels);
    near(out.u_read, sqrt(2) * 0.01, 1e-12);
    /* Without the strata half of each is kept. */
    struct measurement_row flat[8];
    for (size_t i = 0; i < 8; i++)
        flat[i] = (struct measurement_row){rows[i].item, 0, rows[i].is_b};
    near(ratio_of(flat, 8, 1).u_gain.value, sqrt(0.5) * 0.05 / sqrt(3), 1e-12);
}

/* Two GPUs an experiment, in both groups the same two: nothing is kept. */
static void the_same_two_gpus_cancel(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        on(i, "GPU-a", 1.96, 0.05);
        boards[i][0].energy_j = 400;
        boards[i][1] = (struct dataset_board){
            .uuid = (char *)(intptr_t) "GPU-b", .energy_j = 600, .gain_bound = 0.05};
        items[i].board_count = 2;
    }
    assert_true(ratio_of(two_and_two, 4, 1).cancels);
}

/* Of a mean nothing cancels: 5 % on all, also of several GPUs, as nobody knows that they do not err
 * alike. Its interval does not contain them. */
static void a_mean_keeps_the_gain(void **state)
{
    (void)state;
    static const size_t all[] = {0, 1, 2, 3};
    struct measurement out;
    for (size_t i = 0; i < 4; i++)
        on(i, i < 2 ? "GPU-a" : "GPU-b", i < 2 ? 1.96 : 3.92, 0.05);
    measurement_of_mean(&dataset, "gpu_energy_j", all, 4, &out);
    assert_true(out.valid && !out.cancels);
    near(out.u_read, 0.015, 1e-12);
    near(out.u_gain.value, 0.05 / sqrt(3), 1e-12);
    struct stats_interval sampling = {990, 1020, STATS_HALL};
    struct stats_interval with = measurement_mean_interval(&out, 1000, &sampling);
    near(with.low, 1000 - hypot(10, 1000 * 1.96 * 0.015), 1e-9);
    near(with.high, 1000 + hypot(20, 1000 * 1.96 * 0.015), 1e-9);
    measurement_of_mean(&dataset, "duration_s", all, 4, &out);
    assert_false(out.valid);
    boards[3][0].gain_bound = 0;
    measurement_of_mean(&dataset, "gpu_energy_j", all, 4, &out);
    assert_true(out.valid && !out.u_gain.valid);
    near(measurement_mean_interval(&out, 1000, &sampling).low, with.low, 1e-9);
}

static void where_nobody_wrote_down_the_gpu_nothing_cancels(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        on(i, "GPU-a", 1.96, 0.05);
        items[i].board_count = 0;
    }
    struct measurement out = ratio_of(two_and_two, 4, 1);
    assert_true(out.valid && !out.placed && !out.cancels && !out.u_gain.valid &&
                out.half_width.valid);
    items[2].gpu.half_width_j.valid = false;
    assert_false(ratio_of(two_and_two, 4, 1).valid);
}

/* ln ratio 0.1 with error 0.03 of 4 degrees of freedom, read-out 0.04: u = 0.05, ν = (5/3)⁴ · 4
 * = 30.9, t(30) = 2.0423. */
static void the_interval_of_a_ratio_holds_sampling_and_measurement(void **state)
{
    (void)state;
    struct measurement measurement = {.valid = true, .u_read = 0.04, .u_gain = {0, true}};
    struct stats_effect effect = {.valid = true,
                                  .has_error = true,
                                  .log_ratio = 0.1,
                                  .error = 0.03,
                                  .df = 4,
                                  .interval = {exp(0.1 - 0.0833), exp(0.1 + 0.0833), STATS_T}};
    struct stats_interval interval = measurement_interval(&measurement, &effect);
    near(log(interval.high) - 0.1, 0.05 * 2.0422724563, 1e-9);
    near(0.1 - log(interval.low), 0.05 * 2.0422724563, 1e-9);
    /* 0.03 · t(4) = 0.0833 alone; with 0.001 more of it 30 degrees of freedom would not come: it
     * stays as wide. */
    measurement.u_read = 0.001;
    interval = measurement_interval(&measurement, &effect);
    near(log(interval.high) - 0.1, 0.0833, 1e-4);
    measurement.u_gain.valid = false;
    assert_int_equal(measurement_interval(&measurement, &effect).method, STATS_NONE);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_one_gpu_the_gain_cancels_whatever_it_is),
        cmocka_unit_test(between_two_gpus_the_gain_is_kept),
        cmocka_unit_test(what_the_sides_do_not_share_is_kept),
        cmocka_unit_test(within_strata_of_one_gpu_each_the_gain_cancels),
        cmocka_unit_test(the_same_two_gpus_cancel),
        cmocka_unit_test(a_mean_keeps_the_gain),
        cmocka_unit_test(where_nobody_wrote_down_the_gpu_nothing_cancels),
        cmocka_unit_test(the_interval_of_a_ratio_holds_sampling_and_measurement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
