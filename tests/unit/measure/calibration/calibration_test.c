/* Sensors whose readings follow from a load in closed form: what is known of them goes into the
 * energy and its half-width. */
#include "base/json_print.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "measure/energy/sensor_behaviour.h"

#include <math.h>
#include <string.h>

#include "calibrated.h"

static const double before_w = 100, after_w = 500, step_s = 10;

static int64_t at(double t_s)
{
    return 50 * NS_PER_S + llround(t_s * 1e9);
}

/* 100 W until 10 s, 500 W from then on. */
static double step_energy(double t)
{
    return before_w * t + (after_w - before_w) * fmax(t - step_s, 0);
}

/* 500 W in the first half of every period, 100 W in the second. */
static double square_energy(double t, double period_s)
{
    double whole = floor(t / period_s), rest = t - whole * period_s;
    return whole * period_s * 300 + after_w * fmin(rest, period_s / 2) +
           before_w * fmax(rest - period_s / 2, 0);
}

static struct window_energy energy_of(const struct series *series,
                                      const struct sensor_behaviour *behaviour, double from,
                                      double to)
{
    struct window_sensor sensor = window_sensor_gpu;
    struct window_energy energy;
    sensor_behaviour_apply(behaviour, &sensor);
    sensor.power_limit_w = 700;
    struct window_index *index = window_index_new(series, &sensor);
    window_index_energy(index, at(from), at(to), &energy);
    window_index_free(index);
    assert_true(energy.energy_j.valid && energy.half_width_j.valid);
    return energy;
}

static void each_model_has_the_row_of_its_chip_and_no_other(void **state)
{
    (void)state;
    static const struct {
        const char *model, *label;
    } cases[] = {
        {"NVIDIA H200", "H200"},
        {"NVIDIA GH200 480GB", "GH200"},
        {"NVIDIA H100 80GB HBM3", "H100 (measured)"},
        {"NVIDIA A100-SXM4-40GB", "A100 ("},
        {"NVIDIA A10", "Ampere"},
        {"NVIDIA GeForce RTX 3090", "Ampere"},
        {"NVIDIA L40", "Ampere"},
        {"Tesla T4", "Turing"},
        {"NVIDIA T400 4GB", "Turing"},
        {"Tesla V100-SXM2-16GB", "Pascal"},
        {"Tesla K40m", "Kepler"},
        {"NVIDIA B200", "unknown"},
        {"", "unknown"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct sensor_profile *profile =
            sensor_profile_find(&gpu_vendor_nvidia, cases[i].model);
        assert_int_equal(strncmp(profile->label, cases[i].label, strlen(cases[i].label)), 0);
        assert_true(profile->source && profile->accuracy);
        assert_true(profile->behaviour.looked_share > 0 && profile->behaviour.looked_share <= 1);
    }
}

/* Six cards: a counter of 98 to 100 ms of each 100 ms, 5.8 to 8 ms late, each known to 3 ms;
 * samples that are late by 14 +- 9 ms. What is missed of an even share is the root of the mean of
 * its square: of a million shares, by a numeric integration of its own in Python, 0.0115470. */
static void the_row_of_the_h200_is_what_was_measured_there(void **state)
{
    (void)state;
    static const char *const models[] = {"NVIDIA H200", "NVIDIA H100 80GB HBM3"};
    EACH_OF (model, models) {
        struct window_sensor sensor = window_sensor_gpu;
        sensor_behaviour_apply(&sensor_profile_find(&gpu_vendor_nvidia, *model)->behaviour,
                               &sensor);
        assert_int_equal(sensor.update_period_ns, 100 * NS_PER_MS);
        assert_true(sensor.counter_lag_ns - sensor.counter_lag_half_ns <= 5800000 &&
                    sensor.counter_lag_ns + sensor.counter_lag_half_ns >= 8000000);
        assert_true(sensor.counter_lag_half_ns >= 3 * NS_PER_MS);
        assert_int_equal(sensor.lag_ns, 14 * NS_PER_MS);
        assert_int_equal(sensor.lag_unsure_ns, 9 * NS_PER_MS);
        assert_int_equal(sensor.averaging_ns, 46 * NS_PER_MS);
        assert_true(fabs(sensor.unseen_share - 0.0115470) < 5e-6);
        assert_true(sensor.bounded && sensor.share_measured && !sensor.share_unsure);
    }
}

/* A counter that adds the mean of the last looked_s of each 0.1 s for all of them and shows that
 * late_s later, beside power samples of the same mean. */
static void play_counter(double (*energy_at)(double), double looked_s, double late_s,
                         struct series *series)
{
    double sum_j = 1000;
    for (int i = 1; i < 400; i++) {
        double update = 0.1 * i,
               mean_w = (energy_at(update) - energy_at(update - looked_s)) / looked_s;
        double shown = update + late_s;
        sum_j += 0.1 * mean_w;
        series_add_power(series, (struct power_sample){at(shown), mean_w});
        for (int k = 0; k < 20; k++) { /* as often before the update as after it */
            int64_t read_ns = at(shown + 0.0025 + 0.005 * k);
            series_add_counter(series,
                               (struct counter_reading){read_ns - NS_PER_MS, read_ns + NS_PER_MS,
                                                        (uint64_t)llround(1000 * sum_j)});
        }
    }
}

/* 100 W, from 10 s on 10 W more for each second. */
static double ramp_energy(double t)
{
    return before_w * t + 5 * pow(fmax(t - step_s, 0), 2);
}
/* A counter that sees all is late by its delay of 7 ms. One that shows the last 25 of 100 ms for
 * all of them is early by 37.5 ms, less its delay of 5 ms. On a ramp of 200 W that is 1.4 J and 6.5
 * J. */
static void a_counters_own_lag_moves_the_window(void **state)
{
    (void)state;
    static const struct {
        double looked_s, late_s;
        int64_t lag_us;
    } cases[] = {{0.1, 0.007, 7000}, {0.025, 0.005, -32500}};
    EACH_OF (one, cases) {
        struct series series = {0};
        struct sensor_behaviour behaviour = {.told = true,
                                             .update_ns = 100 * NS_PER_MS,
                                             .averaging = WINDOW_BOXCAR,
                                             .averaging_ns = llround(one->looked_s * 1e9),
                                             .delay_ns = llround(one->late_s * 1e9),
                                             .looked_share = one->looked_s / 0.1,
                                             .counter_lag_ns = one->lag_us * 1000,
                                             .counter_lag_sd_ns = NS_PER_MS};
        play_counter(ramp_energy, one->looked_s, one->late_s, &series);
        struct window_energy energy = energy_of(&series, &behaviour, 12.03, 32.03);
        double truth_j = ramp_energy(32.03) - ramp_energy(12.03);
        assert_true(fabs(energy.energy_j.value - truth_j) < 0.2);
        assert_true(energy.half_width_j.value > 1.96 * 0.001 * 200);
        series_fini(&series);
    }
}

/* Readings that are told to see a fifth of the time see no more, so a counter that may add them up
 * misses more than one whose readings may see all. */
static void readings_of_a_told_share_do_not_see_all(void **state)
{
    (void)state;
    struct sensor_behaviour behaviour = sensor_profile_unknown.behaviour;
    struct series series = {0};
    double half_widths_j[2];
    for (int i = 1; i < 400; i++) { /* 500 W and 100 W in turn; the counter shows their mean */
        series_add_power(&series, (struct power_sample){at(0.1 * i), i % 2 ? after_w : before_w});
        series_add_counter(&series, (struct counter_reading){at(0.1 * i), at(0.1 * i) + NS_PER_MS,
                                                             30000 * (uint64_t)i});
    }
    for (int told = 0; told < 2; told++) {
        behaviour.told = told;
        behaviour.averaging_ns = 20 * NS_PER_MS;
        half_widths_j[told] = energy_of(&series, &behaviour, 12.03, 32.03).half_width_j.value;
    }
    assert_true(half_widths_j[1] > 1.1 * half_widths_j[0]);
    series_fini(&series);
}

/* Power that stays is off by up to half a step of 1 W: 0.475 W in 95 of 100 cases, 9.5 J in 20 s.
 * Of power that rises evenly by 200 W the errors cancel. */
static void rounding_hides_less_of_power_that_varies(void **state)
{
    (void)state;
    const struct sensor_behaviour behaviour = {.told = true,
                                               .update_ns = 100 * NS_PER_MS,
                                               .averaging = WINDOW_BOXCAR,
                                               .averaging_ns = 100 * NS_PER_MS,
                                               .looked_share = 1};
    static const struct {
        double rise_w, least_j, most_j;
    } cases[] = {{0, 9.499, 9.501}, {200, 0, 0.5}};
    EACH_OF (one, cases) {
        struct series series = {0};
        series_add_power(&series, (struct power_sample){at(0), 400});
        for (int i = 1; i < 400; i++)
            series_add_power(
                &series, (struct power_sample){at(0.1 * i), 100 + round(one->rise_w * 0.005 * i)});
        struct window_energy energy = energy_of(&series, &behaviour, 10.03, 30.03);
        double rounding_j = 1.96 * energy.parts.j[WINDOW_PART_ROUNDING];
        assert_true(rounding_j >= one->least_j && rounding_j <= one->most_j);
        series_fini(&series);
    }
}

/* Of an H100 the counter sees all, the power reading a quarter: without a counter its ± is that of
 * an A100. */
static void an_h100_without_a_counter_is_measured_as_an_a100(void **state)
{
    (void)state;
    static const char *const models[] = {"NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB"};
    struct series series = {0};
    double half_widths_j[2];
    for (int i = 0; i < 200; i++)
        series_add_power(&series, (struct power_sample){at(0.1 * i), i / 5 % 2 ? 600 : 200});
    for (int i = 0; i < 2; i++) {
        const struct sensor_profile *profile = sensor_profile_find(&gpu_vendor_nvidia, models[i]);
        struct window_sensor sensor = window_sensor_gpu;
        struct window_energy energy;
        sensor_behaviour_apply(&profile->behaviour, &sensor);
        sensor.reading = profile->reading;
        struct window_index *index = window_index_new(&series, &sensor);
        window_index_energy(index, at(2.03), at(12.03), &energy);
        window_index_free(index);
        assert_true(energy.half_width_j.valid);
        half_widths_j[i] = energy.half_width_j.value;
    }
    assert_true(fabs(half_widths_j[0] - half_widths_j[1]) < 1e-6);
    assert_true(half_widths_j[0] > 40); /* a quarter seen: more than 1 % of 10 s at 400 W */
    series_fini(&series);
}

/* ∫P = ∫mean + time constant · rise of the mean: without that the window below would lack 173 J. */
static void an_exponential_mean_is_undone(void **state)
{
    (void)state;
    const struct sensor_behaviour behaviour = {.told = true,
                                               .update_ns = 20 * NS_PER_MS,
                                               .averaging = WINDOW_EXPONENTIAL,
                                               .averaging_ns = 500 * NS_PER_MS,
                                               .looked_share = 1};
    struct series series = {0};
    for (int i = 0; i < 1000; i++) {
        double t = 0.02 * i,
               mean_w = t < step_s ? before_w : after_w - 400 * exp(-(t - step_s) / 0.5);
        series_add_power(&series, (struct power_sample){at(t), mean_w});
    }
    struct window_energy energy = energy_of(&series, &behaviour, 5, 11);
    assert_true(fabs(energy.energy_j.value - 1000) <= 5);
    assert_true(fabs(energy.energy_j.value - 1000) <= energy.half_width_j.value);
    assert_true(energy.half_width_j.value < 20);
    series_fini(&series);
}

/* Samples that are means of a second, or instants: an unknown sensor's half-width holds both
 * explanations. */
static void means_of_a_second_are_shifted_and_an_unknown_sensor_may_be_either(void **state)
{
    (void)state;
    const struct sensor_behaviour second = {.told = true,
                                            .update_ns = 100 * NS_PER_MS,
                                            .averaging = WINDOW_BOXCAR,
                                            .averaging_ns = NS_PER_S,
                                            .looked_share = 1};
    for (int instants = 0; instants < 2; instants++) {
        struct series series = {0};
        for (int i = 20; i < 200; i++) {
            double t = 0.1 * i, mean_w = step_energy(t) - step_energy(t - 1);
            if (instants)
                mean_w = t < step_s ? before_w : after_w;
            series_add_power(&series, (struct power_sample){at(t), mean_w});
        }
        for (int end = 0; end < 20; end++) {
            double to = 9.05 + 0.1 * end, truth = step_energy(to) - step_energy(5);
            struct window_energy energy =
                energy_of(&series, &sensor_profile_unknown.behaviour, 5, to);
            assert_true(fabs(energy.energy_j.value - truth) <= energy.half_width_j.value);
            if (instants)
                continue;
            energy = energy_of(&series, &second, 5, to);
            assert_true(fabs(energy.energy_j.value - truth) <= energy.half_width_j.value);
            /* the step's 400 W for 0.3 s; a shift by 0.5 s is 200 J */
            assert_true(energy.half_width_j.value < 120);
        }
        series_fini(&series);
    }
}

/* The sensor looks at 25 ms of each 100 ms. A load of 105 ms looks like one of 2.1 s: what that
 * hides is within the aliasing bound. */
static void what_is_not_looked_at_of_a_load_in_step_is_within_the_bound(void **state)
{
    (void)state;
    const struct sensor_behaviour *behaviour =
        sensor_profile_find(&gpu_vendor_nvidia, "NVIDIA A100-SXM4-40GB")->reading;
    for (int steady = 0; steady < 2; steady++) {
        struct series series = {0};
        for (int i = 1; i < 600; i++) {
            double t = 0.1 * i,
                   seen_w = (square_energy(t, 0.105) - square_energy(t - 0.025, 0.105)) / 0.025;
            series_add_power(&series, (struct power_sample){at(t), steady ? 300 : seen_w});
        }
        double worst = 0;
        for (int i = 0; i < 40; i++) {
            double from = 10 + 0.63 * i, to = from + 1;
            double truth = steady ? 300 : square_energy(to, 0.105) - square_energy(from, 0.105);
            struct window_energy energy = energy_of(&series, behaviour, from, to);
            worst = fmax(worst, fabs(energy.energy_j.value - truth));
            assert_true(fabs(energy.energy_j.value - truth) <= energy.aliasing_bound_j.value);
            assert_true(!steady ||
                        fabs(energy.energy_j.value - truth) <= energy.half_width_j.value);
            assert_true(!steady || energy.half_width_j.value < 3);
        }
        assert_true(steady || worst > 50); /* the readings alone are that wrong */
        series_fini(&series);
    }
}

/* What a calibration knows replaces the row: a counter that misses 0.5 ± 1.5 % of the time, samples
 * of no known kind that are late by 14 ± 7 ms, which is what a boxcar of at most 42 ms does. */
static void a_calibration_replaces_what_it_knows(void **state)
{
    (void)state;
    struct calibration found = calibrated_h200();
    struct calibration_profile profile;
    calibration_profile(&found, &sensor_profile_unknown, &profile);
    const struct sensor_behaviour *behaviour = &profile.of.behaviour;
    assert_string_equal(profile.from.uuid, "GPU-1");
    assert_string_equal(profile.from.driver, "580.1");
    assert_string_equal(profile.of.label, "calibrated 2026-11-23");
    assert_true(behaviour->update_ns == 100 * NS_PER_MS);
    assert_true(behaviour->jitter_ns == 1500000);
    assert_false(behaviour->counter_current || behaviour->share_unsure);
    assert_true(fabs(behaviour->looked_share - (1 - hypot(0.005, 0.015 / 1.96))) < 1e-12);
    assert_false(behaviour->told);
    assert_true(behaviour->averaging_ns == 42 * NS_PER_MS && behaviour->delay_ns == 0);
    /* 99.5 of 100 ms that end 6 ms before: their middle is 5.75 ms later than the period's */
    assert_int_equal(behaviour->counter_lag_ns, 5750000);
    assert_true(fabs(behaviour->counter_lag_sd_ns - hypot(3, 0.75) / 1.96 * 1e6) < 1);
    assert_string_equal(profile.of.accuracy, "unknown");
}

/* Root mean squares of 1 - share under a prior that is even in 0.98 to 1 times a normal density of
 * the measurement, by a numeric integration of its own in Python (10^6 steps). */
static void the_share_of_a_calibration_is_combined_with_its_models(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        double value, half_width, missed;
        enum calibration_prior prior;
    } cases[] = {
        {"NVIDIA H100 80GB HBM3", 0.959, 0.032, 0.01432435, CALIBRATION_PRIOR_USED},
        {"NVIDIA H100 80GB HBM3", 1, 0.023, 0.00946774, CALIBRATION_PRIOR_USED},
        {"NVIDIA H200", 0.987, 0.014, 0.01250213, CALIBRATION_PRIOR_USED},
        {"NVIDIA H200", 0.99, 0.002, 0.01005193, CALIBRATION_PRIOR_USED},
        {"NVIDIA H200", 0.5, 10, 0.01154755, CALIBRATION_PRIOR_USED},
        {"NVIDIA H100 80GB HBM3", 0.27, 0.02, 0.73007131, CALIBRATION_PRIOR_REFUTED},
        {"NVIDIA H100 80GB HBM3", 0.95, 0.019, 0.05093104, CALIBRATION_PRIOR_REFUTED},
        {"NVIDIA B200", 0.959, 0.032, 0.04413112, CALIBRATION_PRIOR_NONE},
        {"NVIDIA A100-SXM4-40GB", 0.27, 0.02, 0.73007131, CALIBRATION_PRIOR_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct calibration found = calibrated_h200();
        struct calibration_profile profile;
        const struct sensor_profile *row = sensor_profile_find(&gpu_vendor_nvidia, cases[i].model);
        found.sensors[CALIBRATION_COUNTER].looked_share =
            figure(cases[i].value, cases[i].half_width);
        calibration_profile(&found, row, &profile);
        assert_true(fabs(1 - profile.of.behaviour.looked_share - cases[i].missed) < 2e-7);
        assert_int_equal(profile.prior, cases[i].prior);
        assert_false(profile.of.behaviour.counter_current);
        assert_int_equal(strstr(profile.of.source, "(with its model's)") != NULL,
                         cases[i].prior == CALIBRATION_PRIOR_USED);
        assert_int_equal(strstr(profile.of.source, "(unlike its model's)") != NULL,
                         cases[i].prior == CALIBRATION_PRIOR_REFUTED);
    }
}

/* The calibration's period is 100 ms: a counter that changes every 100 or 115 ms agrees with it,
 * whatever its own jitter; one that changes every 30 or 150 ms, or of which no change is seen for
 * 300 ms, does not. 0.6 s hold two periods of 150 ms, which three of 100 ms are where an update is
 * left out. */
static void readings_contradict_a_calibration_of_another_period(void **state)
{
    (void)state;
    static const struct {
        int period_ms, length_ms;
        bool contradicted;
    } cases[] = {{100, 600, false}, {115, 600, false}, {30, 600, true},
                 {150, 600, false}, {150, 2400, true}, {300, 600, true}};
    struct calibration found = calibrated_h200();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct calibration_profile profile;
        struct series series = {0};
        char why[160] = "";
        found.sensors[CALIBRATION_COUNTER].jitter_s = figure(10, 10);
        calibration_profile(&found, &sensor_profile_unknown, &profile);
        for (int ms = 0; ms < cases[i].length_ms; ms += 5)
            series_add_counter(&series, (struct counter_reading){
                                            .before_ns = ms * NS_PER_MS,
                                            .after_ns = (ms + 1) * NS_PER_MS,
                                            .energy_mj = (uint64_t)(ms / cases[i].period_ms)});
        assert_int_equal(calibration_contradicted(&profile, &series, why, sizeof why),
                         cases[i].contradicted);
        assert_int_equal(*why != '\0', cases[i].contradicted);
        series_fini(&series);
    }
}

/* Both edges of a window of 3 s. Two changes at each, 138 ms apart by the middles of calls of 19
 * ms: they can be 100 ms apart. Four at each, 200 ms apart by calls of 5 ms, cannot. */
static void few_readings_contradict_no_further_than_they_are_known(void **state)
{
    (void)state;
    static const struct {
        int call_ms, apart_ms, changes;
        bool contradicted;
    } cases[] = {{19, 138, 2, false}, {5, 200, 4, true}};
    struct calibration found = calibrated_h200();
    EACH_OF (one, cases) {
        struct calibration_profile profile;
        struct series series = {0};
        char why[160] = "";
        calibration_profile(&found, &sensor_profile_unknown, &profile);
        for (int edge_ms = 0; edge_ms <= 3000; edge_ms += 3000)
            for (int k = 0; k < 4 * one->changes; k++) { /* two calls before a change, two after */
                int change = k / 4, after = k % 4 > 1;
                int from_ms = edge_ms + one->apart_ms * change + (k % 4) * one->call_ms;
                series_add_counter(&series, (struct counter_reading){
                                                .before_ns = from_ms * NS_PER_MS,
                                                .after_ns = (from_ms + one->call_ms) * NS_PER_MS,
                                                .energy_mj = (uint64_t)(edge_ms + change + after)});
            }
        assert_int_equal(calibration_contradicted(&profile, &series, why, sizeof why),
                         one->contradicted);
        series_fini(&series);
    }
}

static void a_calibration_leaves_what_it_does_not_know(void **state)
{
    (void)state;
    const struct sensor_profile *row = sensor_profile_find(&gpu_vendor_nvidia, "NVIDIA H100 PCIe");
    struct calibration found = {.uuid = "GPU-1", .driver = "580.1", .made_s = 1795422320};
    struct calibration_profile profile;
    calibration_profile(&found, row, &profile);
    assert_memory_equal(&profile.of.behaviour, &row->behaviour, sizeof row->behaviour);
    assert_non_null(strstr(profile.of.source, row->source));

    /* A counter that covers a quarter does not hold all: it misses 73 ± 2 %. */
    found = calibrated_h200();
    found.sensors[CALIBRATION_COUNTER].looked_share = figure(0.27, 0.02);
    found.sensors[CALIBRATION_COUNTER].averaging_s = figure(0.027, 0.002);
    calibration_profile(&found, row, &profile);
    assert_true(fabs(profile.of.behaviour.looked_share - (1 - hypot(0.73, 0.02 / 1.96))) < 1e-12);
    assert_false(profile.of.behaviour.counter_current);
}

static void without_a_counter_the_power_tells_period_and_looked_at_share(void **state)
{
    (void)state;
    struct calibration found = {.uuid = "GPU-1", .driver = "580.1", .made_s = 1795422320};
    struct calibration_profile profile;
    struct sensor_learnt *power = &found.sensors[CALIBRATION_POWER];
    *power = (struct sensor_learnt){.averaging = AVERAGING_BOXCAR, .updates = 800};
    power->update_period_s = figure(0.05, 0.0001);
    power->averaging_s = figure(0.03, 0.001);
    power->delay_s = figure(0.01, 0.001);
    power->looked_share = figure(0.6, 0.02);
    calibration_profile(&found, &sensor_profile_unknown, &profile);
    assert_true(profile.of.behaviour.update_ns == 50 * NS_PER_MS);
    double share = 1 - hypot(0.4, 0.02 / 1.96);
    assert_true(fabs(profile.of.behaviour.looked_share - share) < 1e-12);
    assert_false(profile.of.behaviour.counter_current || profile.of.behaviour.share_unsure);
    /* A counter that was seen and whose share is not known adds up what is shown, or sees all. */
    found.sensors[CALIBRATION_COUNTER] = (struct sensor_learnt){.updates = 500};
    calibration_profile(&found, &sensor_profile_unknown, &profile);
    assert_true(fabs(profile.of.behaviour.looked_share - share) < 1e-12 &&
                profile.of.behaviour.share_unsure);
}

static void assert_same(const struct learnt *read, const struct learnt *written)
{
    assert_int_equal(read->known, written->known);
    if (written->known)
        assert_true(read->value == written->value && read->half_width == written->half_width);
}

/* As a file has it: printed and parsed. */
static struct calibration read_again(const struct calibration *written)
{
    struct calibration out;
    struct err err = {0};
    AUTO_TEXT struct text text = {0};
    json_t *json = calibration_json(written);
    json_print_pretty(json, &text);
    json_decref(json);
    json = json_loadb(text_get(&text), text.length, 0, NULL);
    assert_non_null(json);
    if (!calibration_parse(json, &out, &err))
        fail_msg("%s", err.text);
    json_decref(json);
    return out;
}

/* The edges of what sensor_learn can give: a lag of less than nothing (a sensor that shows a rise
 * before the load's timer has it), power of a sensor whose zero is off, boxcars of 3 s, half-widths
 * of everything and of nothing. */
static void what_is_written_is_read_again(void **state)
{
    (void)state;
    const struct learnt edges[] = {
        figure(0, 0), figure(1e-9, 1e6), figure(1.0 / 3, 0.1 + 0.2), figure(1e6, 1e-9), {0}};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        for (int averaging = AVERAGING_UNKNOWN; averaging <= AVERAGING_EXPONENTIAL; averaging++) {
            struct learnt edge = edges[i], below = edge, share = edge;
            below.value = -edge.value;
            share.value = fmin(edge.value, 1);
            struct calibration written = {.uuid = "GPU-1",
                                          .name = "",
                                          .driver = "580.1",
                                          .made_s = 1,
                                          .seconds = 60,
                                          .agreement = edge,
                                          .idle_settle_s = edge,
                                          .power_back_s = edge,
                                          .temperature_back_s = edge};
            for (int k = 0; k < CALIBRATION_TEMPERATURE; k++)
                written.sensors[k] =
                    (struct sensor_learnt){edge,    edge,  (enum sensor_averaging)averaging,
                                           NULL,    edge,  edge,
                                           below,   share, edge,
                                           edge,    below, below,
                                           i * 1000};
            struct calibration read = read_again(&written);
            assert_string_equal(read.uuid, written.uuid);
            assert_true(read.made_s == 1 && read.seconds == 60);
            assert_same(&read.agreement, &edge);
            assert_same(&read.idle_settle_s, &edge);
            assert_same(&read.power_back_s, &edge);
            assert_same(&read.temperature_back_s, &edge);
            for (int k = 0; k < CALIBRATION_TEMPERATURE; k++) {
                const struct sensor_learnt *a = &read.sensors[k], *b = &written.sensors[k];
                assert_int_equal(a->averaging, b->averaging);
                assert_int_equal(a->updates, b->updates);
                assert_same(&a->update_period_s, &b->update_period_s);
                assert_same(&a->jitter_s, &b->jitter_s);
                assert_same(&a->averaging_s, &b->averaging_s);
                assert_same(&a->delay_s, &b->delay_s);
                assert_same(&a->lag_s, &b->lag_s);
                assert_same(&a->looked_share, &b->looked_share);
                assert_same(&a->quantum, &b->quantum);
                assert_same(&a->noise_w, &b->noise_w);
                assert_same(&a->idle_w, &b->idle_w);
                assert_same(&a->load_w, &b->load_w);
            }
        }
    /* What no sensor can have is unknown in the file, which stays readable. */
    struct calibration odd = calibrated_h200();
    odd.agreement = figure(NAN, 1);
    odd.power_back_s = figure(1, INFINITY);
    odd.temperature_back_s = figure(-1, 1);
    odd.idle_settle_s = figure(2e6, 1);
    struct calibration read = read_again(&odd);
    assert_false(read.agreement.known || read.power_back_s.known || read.temperature_back_s.known ||
                 read.idle_settle_s.known);
    assert_true(read.sensors[CALIBRATION_COUNTER].update_period_s.known);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_model_has_the_row_of_its_chip_and_no_other),
        cmocka_unit_test(the_row_of_the_h200_is_what_was_measured_there),
        cmocka_unit_test(a_counters_own_lag_moves_the_window),
        cmocka_unit_test(readings_of_a_told_share_do_not_see_all),
        cmocka_unit_test(rounding_hides_less_of_power_that_varies),
        cmocka_unit_test(an_h100_without_a_counter_is_measured_as_an_a100),
        cmocka_unit_test(an_exponential_mean_is_undone),
        cmocka_unit_test(means_of_a_second_are_shifted_and_an_unknown_sensor_may_be_either),
        cmocka_unit_test(what_is_not_looked_at_of_a_load_in_step_is_within_the_bound),
        cmocka_unit_test(a_calibration_replaces_what_it_knows),
        cmocka_unit_test(the_share_of_a_calibration_is_combined_with_its_models),
        cmocka_unit_test(readings_contradict_a_calibration_of_another_period),
        cmocka_unit_test(few_readings_contradict_no_further_than_they_are_known),
        cmocka_unit_test(a_calibration_leaves_what_it_does_not_know),
        cmocka_unit_test(without_a_counter_the_power_tells_period_and_looked_at_share),
        cmocka_unit_test(what_is_written_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
