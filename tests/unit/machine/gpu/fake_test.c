/* The fake driver's truth: the closed forms against sums worked out by hand and against plain
 * numerical integration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "scenario.h"

#include "tests/unit/near.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define S INT64_C(1000000000)

static struct fake_scenario scenario;

static const struct fake_gpu *read_text(const char *text)
{
    char path[] = "/tmp/fake-test.XXXXXX", why[256] = "";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    bool good = fake_scenario_read(path, &scenario, why);
    unlink(path);
    assert_true(good);
    return &scenario.gpus[0];
}

static void energy_of_steps_is_the_sum_of_their_rectangles(void **state)
{
    (void)state;
    const struct fake_gpu *gpu =
        read_text("origin_ns 5000000000\nidle_w 100\nstep 1000 300\nstep 3000 50\n");
    assert_near(fake_energy_j(gpu, 5 * S, 9 * S), 100 * 1 + 300 * 2 + 50 * 1, 1e-9);
    assert_near(fake_energy_j(gpu, 55 * S / 10, 65 * S / 10), 50 + 150, 1e-9);
    assert_near(fake_energy_j(gpu, 0, 5 * S), 500, 1e-9); /* it idled before */
    assert_near(fake_power_w(gpu, 7 * S), 300, 1e-9);
}

static void settling_follows_the_exponential(void **state)
{
    (void)state;
    const struct fake_gpu *gpu = read_text("idle_w 100\nsettle_ms 500\nstep 0 500\n");
    assert_near(fake_power_w(gpu, S / 2), 352.8482235, 1e-6); /* 500 - 400 / e */
    assert_near(fake_energy_j(gpu, 0, S), 327.0670567, 1e-6); /* 500 - 200 (1 - 1 / e^2) */
}

static void energy_and_temperature_agree_with_plain_integration(void **state)
{
    (void)state;
    const struct fake_gpu *gpu = read_text("idle_w 77\nsettle_ms 700\nambient_c 20\nkelvin_per_w "
                                           "0.03\nthermal_ms 2500\nstep 500 690\nstep 2600 "
                                           "300\nstep 2900 80\nstep 5000 650\n");
    double energy = 0, temperature = 20 + 0.03 * 77;
    const int64_t dt = S / 10000;
    for (int64_t t = 0; t < 8 * S; t += dt) {
        double power = fake_power_w(gpu, t + dt / 2);
        energy += power * 1e-4;
        temperature += (20 + 0.03 * power - temperature) / 2.5 * 1e-4;
        if ((t + dt) % (S / 2) == 0) {
            assert_near(fake_energy_j(gpu, 0, t + dt), energy, 0.05);
            assert_near(fake_temperature_c(gpu, t + dt), temperature, 0.01);
        }
    }
    assert_true(energy > 77 * 8);
}

static void the_counter_changes_at_its_updates_only(void **state)
{
    (void)state;
    const struct fake_gpu *gpu =
        read_text("seed 11\nidle_w 200\nupdate_ms 100\nupdate_jitter_ms 3\ncounter_start_mj 7\n");
    int64_t update = fake_update_ns(gpu, 10 * S);
    assert_true(update <= 10 * S && update > 10 * S - 110000000);
    for (int i = 0; i < 50; i++) {
        int64_t before = fake_update_ns(gpu, update - 1), step = update - before;
        assert_true(step >= 94000000 && step <= 106000000);
        assert_int_equal(fake_counter_mj(gpu, update - 1), fake_counter_mj(gpu, before));
        /* 200 W: 200 mJ a millisecond, cut to whole ones */
        double added = (double)(fake_counter_mj(gpu, update) - fake_counter_mj(gpu, before));
        assert_true(fabs(added - (double)step / 1e6 * 200) <= 1);
        update = before;
    }
}

static void samples_come_about_every_17_ms(void **state)
{
    (void)state;
    const struct fake_gpu *gpu = read_text("seed 4\n");
    int64_t last = fake_sample_number(gpu, 100 * S);
    assert_true(fake_sample_ns(gpu, last) <= 100 * S && fake_sample_ns(gpu, last + 1) > 100 * S);
    for (int64_t i = last - 118; i <= last; i++) {
        int64_t step = fake_sample_ns(gpu, i) - fake_sample_ns(gpu, i - 1);
        assert_true(step >= 14000000 && step <= 20000000);
    }
}

static void gpus_have_phases_of_their_own(void **state)
{
    (void)state;
    read_text("gpus 2\nseed 1\n");
    assert_int_not_equal(fake_update_ns(&scenario.gpus[0], 10 * S),
                         fake_update_ns(&scenario.gpus[1], 10 * S));
}

static void a_line_that_is_not_understood_is_an_error(void **state)
{
    (void)state;
    char path[] = "/tmp/fake-test.XXXXXX", why[256] = "";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "gpus 1\nidel_w 3\n", 16), 16);
    close(fd);
    assert_false(fake_scenario_read(path, &scenario, why));
    unlink(path);
    assert_string_equal(why, "scenario line 2");
}

static void a_scaled_scenario_happens_sooner_and_draws_the_same(void **state)
{
    (void)state;
    const char *text = "origin_ns 1000000000\nidle_w 100\nsettle_ms 500\nthermal_ms "
                       "2000\nkelvin_per_w 0.03\nambient_c 20\n"
                       "step 2000 500\nstep 6000 200\nxid 3000 79\ncounter_reset_ms 8000\n"
                       "fault nvmlInit hang from_ms=4000 until_ms=5000\n";
    const struct fake_gpu *gpu = read_text(text);
    double power_w = fake_power_w(gpu, 5 * S), temperature_c = fake_temperature_c(gpu, 5 * S);
    double energy_j = fake_energy_j(gpu, S, 9 * S);
    fake_scenario_scale(&scenario, 0.25);
    assert_near(fake_power_w(gpu, 2 * S), power_w, 1e-9); /* 4 s after the origin have become 1 s */
    assert_near(fake_temperature_c(gpu, 2 * S), temperature_c, 1e-9);
    assert_near(fake_energy_j(gpu, S, 3 * S), energy_j / 4, 1e-6);
    assert_near(gpu->xids[0].t_s, 0.75, 1e-12);
    assert_near(scenario.faults[0].from_s, 1, 1e-12);
    assert_near(scenario.faults[0].until_s, 1.25, 1e-12);
    assert_near(gpu->update_ms, 100, 0);
    assert_near(gpu->sample_ms, 17, 0);
    assert_true(fake_counter_mj(gpu, 29 * S / 10) > 1000000); /* the reset comes at 1 + 8 / 4 s */
    assert_true(fake_counter_mj(gpu, 35 * S / 10) < 1000000);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energy_of_steps_is_the_sum_of_their_rectangles),
        cmocka_unit_test(settling_follows_the_exponential),
        cmocka_unit_test(energy_and_temperature_agree_with_plain_integration),
        cmocka_unit_test(the_counter_changes_at_its_updates_only),
        cmocka_unit_test(samples_come_about_every_17_ms),
        cmocka_unit_test(a_scaled_scenario_happens_sooner_and_draws_the_same),
        cmocka_unit_test(gpus_have_phases_of_their_own),
        cmocka_unit_test(a_line_that_is_not_understood_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
