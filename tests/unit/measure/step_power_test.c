/* The power within a step: square waves whose truth is arithmetic, and what cannot be told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/clock.h"
#include "base/rng.h"
#include "machine/sensors/series.h"
#include "measure/step_power.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "training.h"

/* spread: by which share steps differ in length. */
static void train(struct training *training, size_t steps, double spread)
{
    struct rng rng;
    double t = 1;
    rng_seed(&rng, 7);
    training->steps = steps;
    for (size_t i = 0; i < steps; i++) {
        char label[16];
        double by = 1 + spread * (2 * rng_unit(&rng) - 1);
        snprintf(label, sizeof label, "%zu", i);
        mark(training, "step", label, t);
        for (size_t k = 0; k < PHASES; k++) {
            training->begin[i][k] = t;
            mark(training, "phase", names[k], t);
            t += seconds[k] * by;
        }
        training->begin[i][PHASES] = t;
    }
    mark(training, "step", "the end", t);
}

/* From the first step's begin to t. */
static double energy_until(const struct training *training, double t)
{
    double sum = 0;
    for (size_t i = 0; i < training->steps; i++)
        for (size_t k = 0; k < PHASES; k++)
            sum += watts[k] * fmax(fmin(training->begin[i][k + 1], t) - training->begin[i][k], 0);
    return sum;
}

/* Means over length_s that end delay_s before. */
static void sample(struct training *training, double every_s, double length_s, double delay_s)
{
    double last = training->steps > 0 ? training->begin[training->steps - 1][PHASES] : 0;
    training->behaviour = (struct sensor_behaviour){.told = true,
                                                    .update_ns = llround(every_s * NS_PER_S),
                                                    .averaging = WINDOW_BOXCAR,
                                                    .averaging_ns = llround(length_s * NS_PER_S),
                                                    .delay_ns = llround(delay_s * NS_PER_S),
                                                    .looked_share = 1};
    training->sensor =
        (struct step_sensor){.behaviour = &training->behaviour, .calibrated = true, .mark_s = 1e-4};
    for (double t = 1 + length_s + delay_s; t < last; t += every_s) {
        double end = t - delay_s;
        double mean =
            (energy_until(training, end) - energy_until(training, end - length_s)) / length_s;
        series_add_power(&training->series, (struct power_sample){llround(t * NS_PER_S), mean});
    }
}

static void estimate(struct training *training, struct step_power *out)
{
    struct step_fold fold;
    step_fold(&training->marks, 0, INT64_MAX, &fold);
    step_power_estimate(&fold, &training->series, &training->sensor, out);
    step_fold_fini(&fold);
}

static void end(struct training *training, struct step_power *power)
{
    step_power_fini(power);
    step_marks_fini(&training->marks);
    series_fini(&training->series);
}

static void check_phases(const struct step_power *power)
{
    assert_string_equal(power->reason, "");
    assert_int_equal(power->phase_count, PHASES);
    for (size_t k = 0; k < PHASES; k++) {
        const struct step_phase *phase = &power->phases[k];
        double truth = watts[k] * seconds[k], error = fabs(phase->energy_j.value - truth);
        assert_string_equal(phase->name, names[k]);
        assert_true(phase->energy_j.valid && phase->half_width_j.valid);
        assert_true(error <= 0.03 * truth);
        assert_true(error <= phase->half_width_j.value);
    }
}

static void square_waves_come_out_within_3_percent(void **state)
{
    static struct training training;
    struct step_power power;
    (void)state;
    training = (struct training){0};
    train(&training, 400, 0);
    sample(&training, 0.0197, 0.025, 0.012);
    estimate(&training, &power);
    check_phases(&power);
    assert_int_equal(power.steps, 400);
    assert_int_equal(power.bin_count, 35);
    for (size_t i = 0; i < power.bin_count; i++) {
        const struct step_bin *bin = &power.bins[i];
        double middle = (bin->begin_s + bin->end_s) / 2;
        double truth = watts[middle < 0.030 ? 0 : middle < 0.085 ? 1 : 2];
        assert_true(bin->end_s - bin->begin_s <= 0.005 + 1e-9);
        assert_true(fabs(bin->power_w - truth) <= bin->half_width_w);
        assert_true(bin->half_width_w < 100);
    }
    end(&training, &power);
}

static void means_over_more_than_a_phase_are_taken_apart(void **state)
{
    static struct training training;
    struct step_power power;
    (void)state;
    training = (struct training){0};
    train(&training, 400, 0.03);
    sample(&training, 0.0203, 0.100, 0.015);
    estimate(&training, &power);
    check_phases(&power);
    end(&training, &power);
}

/* A calibration that found no more than how late the middle of an average is. */
static void know_lag_alone(struct training *training, double lag_s, double sd_s)
{
    training->behaviour.told = false;
    training->behaviour.averaging_ns = llround(2 * lag_s * NS_PER_S);
    training->behaviour.delay_ns = 0;
    training->behaviour.lag_ns = llround(lag_s * NS_PER_S);
    training->behaviour.lag_sd_ns = sd_s * NS_PER_S;
}

static void a_lag_alone_will_do_where_samples_follow_each_other(void **state)
{
    static struct training training;
    struct step_power power;
    (void)state;
    training = (struct training){0};
    train(&training, 400, 0.03);
    sample(&training, 0.0203, 0.0203, 0.004);
    know_lag_alone(&training, 0.004 + 0.0203 / 2, 0.001);
    estimate(&training, &power);
    assert_string_equal(power.reason, "");
    assert_int_equal(power.phase_count, PHASES);
    for (size_t k = 0; k < PHASES; k++) {
        double truth = watts[k] * seconds[k], error = fabs(power.phases[k].energy_j.value - truth);
        assert_true(power.phases[k].energy_j.valid);
        assert_true(error <= power.phases[k].half_width_j.value);
        assert_true(power.phases[k].half_width_j.value < 0.2 * truth);
    }
    end(&training, &power);
}

static void a_lag_of_other_means_tells_nothing(void **state)
{
    static struct training training;
    struct step_power power;
    (void)state;
    training = (struct training){0};
    train(&training, 400, 0.03);
    sample(&training, 0.0203, 0.100, 0.015);
    know_lag_alone(&training, 0.065, 0.001);
    estimate(&training, &power);
    assert_non_null(strstr(power.reason, "no means of the time since"));
    assert_int_equal(power.phase_count, 0);
    assert_int_equal(power.bin_count, 0);
    end(&training, &power);

    training = (struct training){0}; /* it looks at a quarter of the time */
    train(&training, 400, 0.03);
    sample(&training, 0.0203, 0.005, 0);
    know_lag_alone(&training, 0.0025, 0.001);
    estimate(&training, &power);
    assert_non_null(strstr(power.reason, "no means of the time since"));
    assert_int_equal(power.phase_count, 0);
    end(&training, &power);

    training = (struct training){0};
    train(&training, 400, 0.03);
    sample(&training, 0.0203, 0.0203, 0.004);
    know_lag_alone(&training, 0.01415, 0); /* not even that was found */
    estimate(&training, &power);
    assert_non_null(strstr(power.reason, "`tare calibrate`"));
    assert_int_equal(power.phase_count, 0);
    end(&training, &power);
}

static void long_steps_are_left_out(void **state)
{
    static struct training training;
    struct step_fold fold;
    (void)state;
    training = (struct training){0};
    train(&training, 30, 0);
    /* a checkpoint, then more steps */
    double t = training.begin[29][PHASES] + 2;
    for (size_t i = 0; i < 20; i++)
        for (size_t k = 0; k < PHASES; k++) {
            if (k == 0)
                mark(&training, "step", "", t);
            mark(&training, "phase", names[k], t);
            t += seconds[k];
        }
    step_fold(&training.marks, 0, INT64_MAX, &fold);
    assert_int_equal(fold.steps, 30 + 19);
    assert_int_equal(fold.left_out, 1); /* without phases */
    assert_int_equal(fold.phase_count, PHASES);
    assert_true(fabs(fold.median_s - 0.175) < 1e-6);
    step_fold_fini(&fold);
    step_marks_fini(&training.marks);
}

static void what_cannot_be_told_has_its_reason(void **state)
{
    static struct training training;
    struct step_power power;
    (void)state;
    training = (struct training){0};
    train(&training, 5, 0);
    sample(&training, 0.0197, 0.025, 0.012);
    estimate(&training, &power);
    assert_non_null(strstr(power.reason, "at least 10 are needed"));
    end(&training, &power);

    training = (struct training){0};
    train(&training, 400, 0);
    sample(&training, 0.0197, 0.025, 0.012);
    training.sensor.calibrated = false;
    estimate(&training, &power);
    assert_non_null(strstr(power.reason, "tare calibrate"));
    end(&training, &power);

    training = (struct training){0};
    train(&training, 400, 0);
    sample(&training, 0.175, 0.175, 0.012); /* a whole step each time */
    estimate(&training, &power);
    assert_non_null(strstr(power.reason, "do not tell the phases apart"));
    assert_int_equal(power.bin_count, 0);
    end(&training, &power);
}

/* 31 phases of each step, read through an average that reaches over 60 steps. */
static void phases_without_end_take_no_time_without_end(void **state)
{
    static struct training training;
    struct step_power power;
    (void)state;
    if (SANITIZED)
        skip();
    training = (struct training){0};
    for (int i = 0; i < 2000; i++)
        for (int k = 0; k < 31; k++) {
            char label[16];
            snprintf(label, sizeof label, "p%d", k % 16);
            double t = 1 + 0.1 * i + 0.1 / 31 * k;
            if (k == 0)
                mark(&training, "step", "", t);
            mark(&training, "phase", label, t);
        }
    sample(&training, 0.017, 0.025, 0.012);
    assert_int_equal(training.series.power_count, 0); /* no truth here: only the time counts */
    training.behaviour.averaging = WINDOW_EXPONENTIAL;
    training.behaviour.averaging_ns = NS_PER_S;
    training.sensor.mark_s = 4e-3;
    for (int i = 0; i < 10000; i++)
        series_add_power(&training.series, (struct power_sample){2 * NS_PER_S + i * 19 * NS_PER_MS,
                                                                 300 + i * 7919 % 101});
    clock_t begin = clock(); /* of the processor: others may be at work beside */
    estimate(&training, &power);
    assert_true(clock() - begin < 30 * CLOCKS_PER_SEC);
    assert_non_null(strstr(power.reason, "too long to be distinguished"));
    end(&training, &power);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(square_waves_come_out_within_3_percent),
        cmocka_unit_test(means_over_more_than_a_phase_are_taken_apart),
        cmocka_unit_test(a_lag_alone_will_do_where_samples_follow_each_other),
        cmocka_unit_test(a_lag_of_other_means_tells_nothing),
        cmocka_unit_test(long_steps_are_left_out),
        cmocka_unit_test(what_cannot_be_told_has_its_reason),
        cmocka_unit_test(phases_without_end_take_no_time_without_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
