/* Budgets of energies whose figures follow by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/clock.h"
#include "measure/energy/sensor_behaviour.h"
#include "measure/energy/window.h"

#include <math.h>
#include <string.h>

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g is not %.17g within %g", value, expected, tolerance);
}

static const struct budget_component *component(const struct budget *budget, const char *name)
{
    for (size_t i = 0; i < budget->count; i++)
        if (strcmp(budget->items[i].name, name) == 0)
            return &budget->items[i];
    return NULL;
}

static struct window_energy energy_of(double energy_j, double interpolation_j, double df,
                                      double unseen_j)
{
    struct window_energy window = {
        .energy_j = {energy_j, true}, .half_width_j = {1, true}, .aliasing_bound_j = {0, true}};
    window.parts.j[WINDOW_PART_INTERPOLATION] = interpolation_j;
    window.parts.j[WINDOW_PART_UNSEEN] = unseen_j;
    window.parts.df = df;
    return window;
}

/* 0.05/√3 of 1000 J are the gain's; 3 J, of 9 degrees of freedom, and 4 J make the half-width. */
static void the_gain_is_a_component_beside_those_of_the_half_width(void **state)
{
    (void)state;
    struct budget budget;
    struct window_energy window = energy_of(1000, 3, 9, 4);
    energy_budget(&window, &(struct sensor_gain){.bound = 0.05, .source = "vendor"}, &budget);
    assert_int_equal(budget.count, 3);
    const struct budget_component *gain = component(&budget, "gain");
    near(gain->u, 0.05 / sqrt(3), 1e-12);
    near(gain->sensitivity, 1000, 1e-9);
    assert_int_equal(gain->type, BUDGET_B);
    assert_true(gain->known);
    assert_string_equal(gain->source, "vendor");
    assert_int_equal(component(&budget, "interpolation")->type, BUDGET_A);
    near(component(&budget, "interpolation")->df, 9, 0);
    assert_int_equal(component(&budget, "unseen_share")->type, BUDGET_B);
    near(budget_contribution(component(&budget, "unseen_share")), 4, 1e-12);
}

static void a_gain_that_nobody_states_is_unknown_and_no_zero(void **state)
{
    (void)state;
    struct budget budget;
    struct window_energy window = energy_of(1000, 3, INFINITY, 4);
    energy_budget(&window, &sensor_profile_find(&gpu_vendor_nvidia, "NVIDIA H200")->gain, &budget);
    assert_false(component(&budget, "gain")->known);
    energy_budget(&window, &sensor_gain_rapl, &budget);
    assert_false(component(&budget, "gain")->known);
}

/* The vendor states 5 % of Kepler alone. */
static void only_kepler_has_a_stated_gain(void **state)
{
    (void)state;
    near(sensor_profile_find(&gpu_vendor_nvidia, "Tesla K40m")->gain.bound, 0.05, 0);
    assert_non_null(strstr(sensor_profile_find(&gpu_vendor_nvidia, "Tesla K40m")->gain.source,
                           "nvmlDeviceGetPowerUsage"));
    static const char *const others[] = {"NVIDIA H200", "NVIDIA A100-SXM4-40GB", "Tesla T4",
                                         "NVIDIA B200"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        near(sensor_profile_find(&gpu_vendor_nvidia, others[i])->gain.bound, 0, 0);
        assert_non_null(sensor_profile_find(&gpu_vendor_nvidia, others[i])->gain.source);
    }
}

/* 3 and 4 J of two read-outs are 5 J; 5 % of 1000 J and 2 % of 500 J, should both err alike, are 60
 * J of 1500 J: 4 %. */
static void of_two_devices_read_outs_add_in_squares_and_gains_as_they_are(void **state)
{
    (void)state;
    struct window_energy a = energy_of(1000, 3, 9, 6), b = energy_of(500, 4, 16, 8);
    energy_budget_add_parts(&a.parts, &b.parts);
    near(a.parts.j[WINDOW_PART_INTERPOLATION], 5, 1e-12);
    near(a.parts.j[WINDOW_PART_UNSEEN], 10, 1e-12);
    near(a.parts.df, 625 / (81.0 / 9 + 256.0 / 16), 1e-9);
    struct sensor_gain five = {.bound = 0.05, .source = "x"}, two = {.bound = 0.02, .source = "y"},
                       none = {.source = "x"};
    struct sensor_gain both = energy_budget_add_gain(1000, &five, 500, &two);
    near(both.bound, 0.04, 1e-12);
    near(energy_budget_add_gain(1000, &five, 500, &none).bound, 0, 0);
}

/* Whatever the sensor, 1.96 times the root of the sum of the squares of all parts is the
 * half-width, and so is that of the components with their sensitivities. 100 W and 500 W change
 * every 0.7 s. */
static void the_parts_make_the_half_width(void **state)
{
    (void)state;
    static const char *const models[] = {"NVIDIA H200", "NVIDIA A100-SXM4-40GB", "NVIDIA L40",
                                         "Tesla K40m", "NVIDIA B200"};
    struct series series = {0};
    double energy_j = 0;
    for (int i = 0; i < 3000; i++) {
        double watts = (i / 70) % 2 ? 500 : 100;
        energy_j += watts * 0.01;
        if (i % 2 == 0)
            series_add_power(&series, (struct power_sample){i * 10 * NS_PER_MS, watts});
        if (i % 100 < 3)
            series_add_counter(&series, (struct counter_reading){i * 10 * NS_PER_MS,
                                                                 i * 10 * NS_PER_MS + NS_PER_MS,
                                                                 (uint64_t)(energy_j * 1000)});
    }
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct window_sensor sensor = window_sensor_gpu;
        const struct sensor_profile *profile = sensor_profile_find(&gpu_vendor_nvidia, models[i]);
        sensor_behaviour_apply(&profile->behaviour, &sensor);
        sensor.power_limit_w = 700;
        struct window_index *index = window_index_new(&series, &sensor);
        struct window_energy energy;
        struct budget budget;
        double squares = 0;
        window_index_energy(index, 3 * NS_PER_S + 123456789, 20 * NS_PER_S + 987654321, &energy);
        window_index_free(index);
        assert_true(energy.energy_j.valid && energy.half_width_j.valid);
        energy_budget(&energy, &profile->gain, &budget);
        bool aliases = energy.aliasing_bound_j.value > 0;
        for (size_t k = 0; k + 1 < budget.count; k++) {
            double contribution_j = budget_contribution(&budget.items[k]);
            assert_true(contribution_j > 0);
            squares += contribution_j * contribution_j;
        }
        near(1.96 * sqrt(squares), energy.half_width_j.value, 1e-9 * energy.half_width_j.value);
        assert_true(energy.parts.df >= 1 && energy.parts.df <= 50.1);
        assert_non_null(component(&budget, "averaging"));
        assert_int_equal(component(&budget, "unseen_share") != NULL,
                         profile->behaviour.looked_share < 1);
        assert_true(aliases || profile->behaviour.looked_share == 1);
        assert_int_equal(component(&budget, "lag") != NULL,
                         !profile->behaviour.told || profile->behaviour.share_unsure);
        assert_non_null(component(&budget, "interpolation"));
        assert_non_null(component(&budget, "counter_resolution"));
    }
    series_fini(&series);
}

/* The counter's step of 1 mJ at both edges: 0.001/√6 J, if the readings are no better than that. */
static void a_coarse_counter_has_its_step_in_the_budget(void **state)
{
    (void)state;
    struct series series = {0};
    struct window_sensor sensor = window_sensor_rapl;
    struct window_energy energy;
    for (int i = 0; i <= 100; i++)
        series_add_counter(&series,
                           (struct counter_reading){i * 100 * NS_PER_MS, i * 100 * NS_PER_MS,
                                                    (uint64_t)i * 10000});
    struct window_index *index = window_index_new(&series, &sensor);
    window_index_energy(index, 2 * NS_PER_S, 8 * NS_PER_S, &energy);
    window_index_free(index);
    near(energy.parts.j[WINDOW_PART_RESOLUTION], 0.001 / sqrt(6), 1e-9);
    series_fini(&series);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gain_is_a_component_beside_those_of_the_half_width),
        cmocka_unit_test(a_gain_that_nobody_states_is_unknown_and_no_zero),
        cmocka_unit_test(only_kepler_has_a_stated_gain),
        cmocka_unit_test(of_two_devices_read_outs_add_in_squares_and_gains_as_they_are),
        cmocka_unit_test(the_parts_make_the_half_width),
        cmocka_unit_test(a_coarse_counter_has_its_step_in_the_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
