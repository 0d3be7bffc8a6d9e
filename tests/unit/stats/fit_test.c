/* What a training should take, by the others of its kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/rng.h"
#include "stats/fit.h"

#include <math.h>

static const struct stats_noise noise = {0.025 * 0.025 * 4, 4};

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g is not %.17g within %g", value, expected, tolerance);
}

/* 20 s to start and 10 s an epoch: one of 50 epochs is predicted by those of 1 to 8, and one that
 * took a fifth longer shows. */
static void a_start_up_and_a_time_for_each_epoch_are_told_apart(void **state)
{
    (void)state;
    double y[9], epochs[9];
    bool use[9];
    struct stats_prediction out[9];
    for (int i = 0; i < 9; i++) {
        epochs[i] = i < 8 ? i + 1 : 50;
        y[i] = 20 + 10 * epochs[i];
        use[i] = true;
    }
    y[3] *= 1.2;
    struct stats_fit_input in = {.count = 9, .y = y, .units = epochs, .use = use};
    stats_fit_predict(&in, noise, out);
    for (int i = 0; i < 9; i++) {
        assert_true(out[i].valid);
        if (i != 3)
            near(out[i].excess, 0, 0.08);
    }
    near(out[3].excess, log(1.2), 0.02);
    assert_true(out[8].sigma > out[4].sigma); /* farther off than the others */
}

static void one_that_is_known_to_be_disturbed_predicts_nobody(void **state)
{
    (void)state;
    double y[] = {100, 100, 100, 300};
    bool use[] = {true, true, true, false};
    struct stats_prediction out[4];
    struct stats_fit_input in = {.count = 4, .y = y, .use = use};
    stats_fit_predict(&in, noise, out);
    for (int i = 0; i < 3; i++)
        near(out[i].excess, 0, 0.002);
    near(out[3].excess, log(3), 0.002);
}

static void one_other_is_too_few(void **state)
{
    (void)state;
    double y[] = {100, 101};
    bool use[] = {true, true};
    struct stats_prediction out[2];
    stats_fit_predict(&(struct stats_fit_input){.count = 2, .y = y, .use = use}, noise, out);
    assert_false(out[0].valid || out[1].valid);
}

/* Of repeats with 3 % of noise the excess is within two of its standard deviations as often as it
 * should be: about 95 of 100. */
static void its_standard_deviation_is_what_it_says(void **state)
{
    (void)state;
    struct rng rng;
    int within = 0, all = 0;
    double stretch = 0;
    rng_seed(&rng, 11);
    for (int round = 0; round < 400; round++) {
        double y[8];
        bool use[8];
        struct stats_prediction out[8];
        for (int i = 0; i < 8; i++) {
            y[i] = 60 * exp(0.03 * rng_normal(&rng));
            use[i] = true;
        }
        stats_fit_predict(&(struct stats_fit_input){.count = 8, .y = y, .use = use}, noise, out);
        for (int i = 0; i < 8; i++, all++) {
            within += fabs(out[i].excess) <= 2 * out[i].sigma;
            stretch += out[i].sigma / out[i].noise;
        }
    }
    near((double)within / all, 0.95, 0.03);
    near(stretch / all, sqrt(1 + 1.0 / 7), 0.01); /* its own noise, and that of the mean of 7 */
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_up_and_a_time_for_each_epoch_are_told_apart),
        cmocka_unit_test(one_that_is_known_to_be_disturbed_predicts_nobody),
        cmocka_unit_test(one_other_is_too_few),
        cmocka_unit_test(its_standard_deviation_is_what_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
