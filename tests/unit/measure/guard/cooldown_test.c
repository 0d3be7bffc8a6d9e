#include "measure/guard/look.h"

#include "scene.h"

#include <math.h>

static const struct guard_known known = {{0, true}, {78, true}, {30, true}};

/* How many looks, half a second apart, until it has settled; power and temperature fall to 78 W and
 * 30 degrees as on an H200 after full load: idle power after 3 s, final temperature after 8 s. */
static int looks_to_settle(const struct guard_known *of)
{
    struct cooldown cooldown;
    cooldown_begin(&cooldown);
    for (int i = 0; i < 100; i++) {
        double at_s = i / 2.0;
        struct gpu_readings readings = scene_idle();
        scene_set(&readings, GPU_POWER_INSTANT_W, 78 + fmax(0, 46 - 15.5 * at_s));
        scene_set(&readings, GPU_TEMPERATURE_C, floor(30.5 + 10 * exp(-at_s / 3)));
        struct guard_look look = scene_look((int64_t)(at_s * 1e9), &readings, NULL, 0);
        if (cooldown_look(&cooldown, of, &look))
            return i;
    }
    return -1;
}

static void it_has_settled_when_power_and_temperature_are_what_they_were(void **state)
{
    (void)state;
    /* floor(30.5 + 10 exp(-t / 3)) is 31 from t = 3 ln(10 / 1.5) = 5.69 s on: the looks at 6.0
     * and 6.5 s. */
    assert_int_equal(looks_to_settle(&known), 13);
}

static void where_nothing_is_known_it_has_settled_when_nothing_falls(void **state)
{
    (void)state;
    struct guard_known nothing = {0};
    int looks = looks_to_settle(&nothing);
    assert_true(looks > 6 && looks < 40);
}

static void a_gpu_that_tells_nothing_never_settles(void **state)
{
    (void)state;
    struct cooldown cooldown;
    struct guard_look look = {.device = "GPU 0"};
    cooldown_begin(&cooldown);
    for (int i = 0; i < 10; i++)
        assert_false(cooldown_look(&cooldown, &known, &look));
}

static void the_pause_is_fixed_or_as_long_as_needed_within_its_bounds(void **state)
{
    (void)state;
    struct cooldown_settings fixed = {COOLDOWN_FIXED, 5, 300},
                             adaptive = {COOLDOWN_ADAPTIVE, 5, 300};
    assert_int_equal(cooldown_decide(&fixed, 60, 59, true, false, 1), COOLDOWN_GOES_ON);
    assert_int_equal(cooldown_decide(&fixed, 60, 60, false, false, 1), COOLDOWN_OVER);
    assert_int_equal(cooldown_decide(&adaptive, 60, 4, true, false, 1), COOLDOWN_GOES_ON);
    assert_int_equal(cooldown_decide(&adaptive, 60, 5, true, false, 1), COOLDOWN_OVER);
    assert_int_equal(cooldown_decide(&adaptive, 60, 299, false, false, 1), COOLDOWN_GOES_ON);
    assert_int_equal(cooldown_decide(&adaptive, 60, 300, false, false, 1), COOLDOWN_AT_LIMIT);
    /* Without a sensor the pause is what the settings say. */
    assert_int_equal(cooldown_decide(&adaptive, 60, 59, false, true, 1), COOLDOWN_GOES_ON);
    assert_int_equal(cooldown_decide(&adaptive, 60, 60, false, true, 1), COOLDOWN_OVER);
    /* Scaled. */
    assert_int_equal(cooldown_decide(&fixed, 60, 6, false, false, 0.1), COOLDOWN_OVER);
    assert_int_equal(cooldown_decide(&adaptive, 60, 0.5, true, false, 0.1), COOLDOWN_OVER);
}

static void net_energy_is_gross_less_the_mean_of_both_baselines(void **state)
{
    (void)state;
    struct idle_window before = {true, 2, 77, 0.3, 0}, after = {true, 2, 79, 0.4, 0};
    struct idle_net net = idle_net_of(&before, &after, (struct reading){50000, true},
                                      (struct reading){10, true}, 100);
    assert_true(net.energy_j.valid && fabs(net.energy_j.value - (50000 - 78 * 100)) < 1e-9);
    /* Read-out: sqrt(0.3^2 + 0.4^2) / 2 = 0.25 W; drift: 0.95 * 2 / 2 = 0.95 W; times 100 s; with
     * the 10 J of the gross. */
    assert_true(fabs(net.half_width_j.value - sqrt(10 * 10 + 25 * 25 + 95 * 95)) < 1e-9);
}

static void without_both_proofs_there_is_no_net_energy(void **state)
{
    (void)state;
    struct idle_window good = {true, 2, 77, 0.3, 0}, bad = {false, 2, 77, 0.3, 0};
    struct reading gross = {50000, true}, half = {10, true}, none = {0};
    assert_false(idle_net_of(&bad, &good, gross, half, 100).energy_j.valid);
    assert_false(idle_net_of(&good, &bad, gross, half, 100).energy_j.valid);
    assert_false(idle_net_of(&good, &good, none, half, 100).energy_j.valid);
    assert_true(idle_net_of(&good, &good, gross, none, 100).energy_j.valid);
    assert_false(idle_net_of(&good, &good, gross, none, 100).half_width_j.valid);
}

static void a_window_that_still_falls_is_not_even(void **state)
{
    (void)state;
    struct idle_window even = {true, 2, 78, 0.2, -4}, falling = {true, 2, 90, 0.2, -12};
    assert_true(idle_is_even(&even));
    assert_false(idle_is_even(&falling));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_has_settled_when_power_and_temperature_are_what_they_were),
        cmocka_unit_test(where_nothing_is_known_it_has_settled_when_nothing_falls),
        cmocka_unit_test(a_gpu_that_tells_nothing_never_settles),
        cmocka_unit_test(the_pause_is_fixed_or_as_long_as_needed_within_its_bounds),
        cmocka_unit_test(net_energy_is_gross_less_the_mean_of_both_baselines),
        cmocka_unit_test(without_both_proofs_there_is_no_net_energy),
        cmocka_unit_test(a_window_that_still_falls_is_not_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
