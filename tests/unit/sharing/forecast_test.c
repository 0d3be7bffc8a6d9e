/* How long a study will take: what is known of its trainings beforehand, and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "plan/expected.h"
#include "plan/space.h"
#include "sharing/feasibility.h"

#include <stdlib.h>
#include <string.h>

/* Models a, b and c of one epoch; a in front of b, b in front of c. The background waits 30 s and
 * holds 5. */
struct fixture {
    struct feasibility study;
    struct pairs_model models[3];
    struct pairs_pair pairs[2];
    struct expected earlier;
};

static void begin(struct fixture *f)
{
    static char repo[] = "zoo", epochs[] = "epochs", names[][2] = {"a", "b", "c"};
    *f = (struct fixture){
        .pairs = {{.foreground = 0, .background = 1}, {.foreground = 1, .background = 2}}};
    for (size_t i = 0; i < 3; i++)
        f->models[i] = (struct pairs_model){.repo = repo, .model = names[i], .epochs_name = epochs};
    f->study = (struct feasibility){.models = f->models,
                                    .model_count = 3,
                                    .pairs = f->pairs,
                                    .pair_count = 2,
                                    .timing = {.lead_low_s = 30},
                                    .hold_s = 5};
}

/* A run of so many epochs took so long. */
static void ran(struct fixture *f, const char *model, bool parallel, double seconds, double epochs)
{
    char *context = space_context("zoo", model, parallel);
    expected_add(&f->earlier, context, seconds, (struct reading){epochs, true});
    free(context);
}

static struct forecast made(const struct fixture *f, int repeats, bool all_pairs)
{
    const struct forecast_options options = {&f->earlier, repeats, all_pairs, 60};
    struct forecast out;
    forecast_make(&f->study, &options, &out);
    return out;
}

static void is(struct reading seconds, double expected)
{
    if (!seconds.valid || seconds.value != expected)
        fail_msg("%g, not %g", seconds.valid ? seconds.value : -1, expected);
}

static void without_any_duration_the_time_is_not_known(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    struct forecast forecast = made(&f, 1, false);
    assert_int_equal(forecast.alone.count, 3);
    assert_int_equal(forecast.pairs.count, 2);
    assert_false(forecast.alone.seconds.valid || forecast.pairs.seconds.valid ||
                 forecast.seconds.valid);
}

/* Twelve of 410 s and eleven pauses of 60 s: 93 minutes. */
static void the_studys_twelve_pairs_take_93_minutes(void **state)
{
    (void)state;
    struct fixture f;
    struct pairs_pair pairs[12];
    begin(&f);
    for (size_t i = 0; i < 12; i++)
        pairs[i] =
            (struct pairs_pair){.foreground = i % 3, .background = (i + 1) % 3, .expected_s = 410};
    f.study.pairs = pairs;
    f.study.pair_count = 12;
    struct forecast forecast = made(&f, 1, false);
    is(forecast.pairs.seconds, 93 * 60);
    assert_false(forecast.alone.seconds.valid || forecast.seconds.valid);
}

static void earlier_runs_say_how_long_an_epoch_takes(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    ran(&f, "a", false, 100, 10);
    ran(&f, "b", false, 40, 2);
    struct forecast forecast = made(&f, 2, false);
    /* a 10 s, b 20 s, c their mean of 15: each twice, with five pauses. */
    assert_int_equal(forecast.alone.known, 4);
    is(forecast.alone.seconds, 2 * (10 + 20 + 15) + 5 * 60);
    /* 35 s until the foreground starts. */
    is(forecast.pairs.seconds, 10 + 35 + 20 + 35 + 60);
    is(forecast.seconds, 390 + 160);
    /* Of a beside another training more is known. */
    ran(&f, "a", true, 12, 1);
    is(made(&f, 2, false).pairs.seconds, 12 + 35 + 20 + 35 + 60);
    expected_fini(&f.earlier);
}

static void what_was_measured_goes_over_what_was_expected(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    f.pairs[0].expected_s = 1000;
    f.models[0].ran = f.models[0].succeeded = f.models[1].ran = f.models[2].ran = true;
    f.models[1].succeeded = true;
    f.models[0].seconds = (struct reading){7, true};
    struct forecast forecast = made(&f, 0, false);
    assert_int_equal(forecast.alone.count, 0);
    /* c failed alone, so b in front of it does not run. */
    assert_int_equal(forecast.pairs.count, 1);
    is(forecast.pairs.seconds, 7 + 35);
    is(forecast.seconds, 42);
}

static void models_of_an_earlier_study_take_no_time_alone_and_tell_of_their_pairs(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    f.models[0].known =
        json_loads("[{\"tare\": {\"attempts\": [{\"duration_seconds\": 8}]}}]", 0, NULL);
    ran(&f, "b", false, 20, 1);
    struct forecast forecast = made(&f, 1, false);
    /* b and, by its mean, c. */
    assert_int_equal(forecast.alone.count, 2);
    is(forecast.alone.seconds, 20 + 20 + 60);
    is(forecast.pairs.seconds, 8 + 35 + 20 + 35 + 60);
    /* Every pair: a and b, a and c, b and c, the longer one in front; of c nothing is known. */
    forecast = made(&f, 1, true);
    assert_int_equal(forecast.pairs.count, 3);
    is(forecast.pairs.seconds, 20 + 35 + 8 + 35 + 20 + 35 + 2 * 60);
    json_decref(f.models[0].known);
    expected_fini(&f.earlier);
}

static void it_is_read_again_as_it_was_written(void **state)
{
    (void)state;
    struct forecast forecast = {{2, 1, {100.5, true}}, {3, 0, {0, false}}, {0, false}}, again;
    json_t *json = forecast_json(&forecast);
    forecast_from_json(json, &again);
    assert_int_equal(again.alone.count, 2);
    assert_int_equal(again.alone.known, 1);
    is(again.alone.seconds, 100.5);
    assert_int_equal(again.pairs.count, 3);
    assert_false(again.pairs.seconds.valid || again.seconds.valid);
    json_decref(json);
    forecast_from_json(NULL, &again);
    assert_true(again.alone.count == 0 && !again.seconds.valid);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_any_duration_the_time_is_not_known),
        cmocka_unit_test(the_studys_twelve_pairs_take_93_minutes),
        cmocka_unit_test(earlier_runs_say_how_long_an_epoch_takes),
        cmocka_unit_test(what_was_measured_goes_over_what_was_expected),
        cmocka_unit_test(models_of_an_earlier_study_take_no_time_alone_and_tell_of_their_pairs),
        cmocka_unit_test(it_is_read_again_as_it_was_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
