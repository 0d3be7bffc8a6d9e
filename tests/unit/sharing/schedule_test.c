/* Schedules of measured models: by hand, and against the rule written down again. */
#include "sharing/choose.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/rng.h"
#include "sharing/schedule.h"

#include <math.h>
#include <string.h>

static const double GIB = 1073741824;

/* A model of feasibility.json: one epoch of so many seconds, twenty in earnest. */
static char *model(const char *name, double gib, double seconds, double utilisation)
{
    long long bytes = (long long)(gib * GIB);
    return mem_printf(
        "{\"name\": \"%s\", \"repo\": \"zoo\", \"model\": \"%s\", \"hyperparameters\": {\"b\": 1}, "
        "\"one_epoch\": "
        "true, "
        "\"epochs\": 20, \"ran\": true, \"succeeded\": true, \"margin_bytes\": 0, \"seconds\": %g, "
        "\"utilisation_percent\": %g, \"curve\": {\"peak_bytes\": %lld, \"step_s\": 1.0, "
        "\"bytes\": [%lld]}}",
        name, name, seconds, utilisation, bytes, bytes);
}

static void read_text(struct feasibility *study, const char *text, bool good)
{
    struct err err = {0};
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    assert_true(schedule_read(study, json, &err) == good);
    assert_true(good || err.text[0]);
    json_decref(json);
}

static void four(struct feasibility *study, const char *pairs)
{
    AUTO_FREE char *a = model("a", 1, 10, 50);
    AUTO_FREE char *b = model("b", 2, 10, 30);
    AUTO_FREE char *c = model("c", 5, 6, 90);
    AUTO_FREE char *d = model("d", 7.9, 2, 20);
    AUTO_FREE char *text =
        mem_printf("{\"models\": [%s, %s, %s, %s], \"pairs\": [%s]}", a, b, c, d, pairs);
    *study = (struct feasibility){0};
    read_text(study, text, true);
    assert_int_equal(study->model_count, 4);
}

/* Both ways it was as fast as is assumed. */
#define PROVEN(a, b)                                   \
    "{\"foreground\": \"" a "\", \"background\": \"" b \
    "\", \"outcome\": \"proven\", \"real\": {\"finished\": true}}"

static const bool all[] = {true, true, true, true, true, true};

static void what_does_not_slow_down_runs_in_pairs(void **state)
{
    (void)state;
    struct feasibility study;
    struct schedule schedule;
    four(&study, PROVEN("a", "b") "," PROVEN("a", "c") "," PROVEN("b", "c") "," PROVEN("a", "d"));
    assert_true(schedule_seconds(&study.models[0]) == 200);
    schedule_make(&study, all, 8 * GIB, 1.5, &schedule);
    /* a and b: 80 % together, no slower: 200 s for 400. a and c would take 1.4 times 200 s. d is
     * too large for company. */
    assert_int_equal(schedule.count, 3);
    assert_true(schedule.steps[0].foreground == 0 && schedule.steps[0].background == 1);
    assert_true(schedule.steps[0].seconds == 200 && schedule.steps[0].saved_s == 200 &&
                !schedule.steps[0].measured);
    assert_true(schedule.alone_seconds == 200 + 200 + 120 + 40 &&
                schedule.seconds == 200 + 120 + 40);
    assert_true(schedule.pairs == 1 && schedule.measured == 0);
    schedule_fini(&schedule);
    /* On a GPU of 3 GiB a and b would have all of it: more than 94 %. */
    schedule_make(&study, all, 3 * GIB, 1.5, &schedule);
    assert_true(schedule.pairs == 0 && schedule.seconds == schedule.alone_seconds);
    schedule_fini(&schedule);
    feasibility_fini(&study);
}

static void what_was_measured_counts_and_what_failed_is_not_tried_again(void **state)
{
    (void)state;
    struct feasibility study;
    struct schedule schedule;
    /* a beside b failed; b in front of c: 1.1 and 1.2 times slower: 220 s. */
    four(&study, "{\"foreground\": \"a\", \"background\": \"b\", \"real\": {\"finished\": true, "
                 "\"background_failed\": true}},"
                 "{\"foreground\": \"b\", \"background\": \"c\", \"outcome\": \"proven\", "
                 "\"real\": {\"finished\": true, "
                 "\"foreground_slowdown\": 1.1, "
                 "\"background_slowdown\": 1.2}}");
    schedule_make(&study, all, 8 * GIB, 1.5, &schedule);
    assert_true(schedule.pairs == 1 && schedule.measured == 1);
    const struct schedule_step *step = &schedule.steps[0];
    assert_true(step->foreground == 1 && step->background == 2 && step->measured);
    assert_true(fabs(step->seconds - 220) < 1e-9 && fabs(step->saved_s - 100) < 1e-9);
    json_t *json = schedule_settings(&study, &schedule);
    const json_t *entries = json_get(json, "experiments");
    assert_int_equal(json_array_size(entries), 3);
    const json_t *pair = json_array_get(entries, 0);
    assert_string_equal(json_get_text(json_get(pair, "foreground"), "model"), "b");
    assert_string_equal(json_get_text(json_get(pair, "background"), "model"), "c");
    json_decref(json);
    schedule_fini(&schedule);
    feasibility_fini(&study);
}

static void what_is_not_proven_runs_alone_and_is_named(void **state)
{
    (void)state;
    struct feasibility study;
    struct schedule schedule;
    /* a and b fit, and would save 200 s; b and c were tried, and nothing failed. */
    four(&study,
         "{\"foreground\": \"b\", \"background\": \"c\", \"outcome\": \"not proven\", \"real\": "
         "{\"finished\": true, \"foreground_slowdown\": 1, \"background_slowdown\": 1}}");
    schedule_make(&study, all, 8 * GIB, 1.5, &schedule);
    assert_true(schedule.pairs == 0 && schedule.seconds == schedule.alone_seconds);
    /* a and c would save 320 - 280 s. */
    assert_int_equal(schedule.unproven_count, 3);
    static const size_t expected[][2] = {{0, 1}, {0, 2}, {1, 2}};
    for (size_t i = 0; i < 3; i++)
        assert_true(schedule.unproven[i].foreground == expected[i][0] &&
                    schedule.unproven[i].background == expected[i][1]);
    schedule_fini(&schedule);
    feasibility_fini(&study);
}

/* The rule by the book: take the longest one left, try each other one left, keep the shortest
 * pair. */
static double pair_greedily(double pair[5][5], const double *alone)
{
    bool used[5] = {0};
    double seconds = 0;
    for (int step = 0; step < 5; step++) {
        int longest = -1, partner = -1;
        for (int i = 0; i < 5; i++)
            if (!used[i] && (longest < 0 || alone[i] > alone[longest]))
                longest = i;
        if (longest < 0)
            break;
        used[longest] = true;
        double most = 0;
        for (int i = 0; i < 5; i++) {
            double both = i < longest ? pair[i][longest] : pair[longest][i];
            if (!used[i] && both > 0 && alone[i] + alone[longest] - both > most) {
                most = alone[i] + alone[longest] - both;
                partner = i;
            }
        }
        if (partner >= 0)
            used[partner] = true;
        seconds += alone[longest] + (partner >= 0 ? alone[partner] : 0) - most;
    }
    return seconds;
}

static void the_longest_model_left_gets_the_partner_that_saves_most(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    static const size_t ways[10][2] = {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 2},
                                       {1, 3}, {1, 4}, {2, 3}, {2, 4}, {3, 4}};
    struct rng rng;
    rng_seed(&rng, 5);
    for (int round = 0; round < 200; round++) {
        AUTO_TEXT struct text text = {0};
        double gib[5], seconds[5], use[5], alone[5], pair[5][5] = {{0}};
        text_add(&text, "{\"pairs\": [");
        for (size_t i = 0; i < 10; i++)
            text_addf(&text,
                      "%s{\"foreground\": \"%s\", \"background\": \"%s\", \"outcome\": \"proven\", "
                      "\"real\": "
                      "{\"finished\": true}}",
                      i ? "," : "", names[ways[i][0]], names[ways[i][1]]);
        text_add(&text, "], \"models\": [");
        for (size_t i = 0; i < 5; i++) {
            gib[i] = 1 + (double)rng_below(&rng, 6);
            seconds[i] = 1 + (double)rng_below(&rng, 50);
            use[i] = (double)rng_below(&rng, 101);
            alone[i] = 20 * seconds[i];
            AUTO_FREE char *one = model(names[i], gib[i], seconds[i], use[i]);
            text_addf(&text, "%s%s", i ? "," : "", one);
        }
        text_add(&text, "]}");
        for (size_t i = 0; i < 5; i++)
            for (size_t j = i + 1; j < 5; j++)
                if (gib[i] + gib[j] <= 0.94 * 8)
                    pair[i][j] = fmax(alone[i], alone[j]) * fmax(1, (use[i] + use[j]) / 100);
        struct feasibility study = {0};
        struct schedule schedule;
        read_text(&study, text_get(&text), true);
        schedule_make(&study, all, 8 * GIB, 1.5, &schedule);
        assert_true(fabs(schedule.seconds - pair_greedily(pair, alone)) < 1e-6);
        assert_true(schedule.seconds <= schedule.alone_seconds);
        schedule_fini(&schedule);
        feasibility_fini(&study);
    }
}

static void a_later_study_replaces_a_model_and_adds_others(void **state)
{
    (void)state;
    struct feasibility study;
    four(&study, "");
    AUTO_FREE char *a = model("a", 3, 30, 10);
    AUTO_FREE char *e = model("e", 1, 1, 10);
    AUTO_FREE char *text = mem_printf("{\"models\": [%s, %s], \"pairs\": [{\"foreground\": \"e\", "
                                      "\"background\": \"a\", \"real\": "
                                      "{\"finished\": true}}]}",
                                      e, a);
    read_text(&study, text, true);
    assert_int_equal(study.model_count, 6);
    assert_false(study.models[0].succeeded);
    assert_true(study.models[5].succeeded && study.models[5].curve.peak_bytes == 3 * GIB);
    assert_true(study.models[5].seconds.value == 30);
    assert_true(study.pair_count == 1 && study.pairs[0].foreground == 4 &&
                study.pairs[0].background == 5);
    feasibility_fini(&study);
}

static void what_is_no_study_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{}", "{\"models\": 1, \"pairs\": []}", "{\"models\": [{}], \"pairs\": []}",
        "{\"models\": [], \"pairs\": [{\"foreground\": \"x\", \"background\": \"y\"}]}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct feasibility study = {0};
        read_text(&study, bad[i], false);
        feasibility_fini(&study);
    }
}

static void a_limit_under_which_it_was_measured_holds_in_the_schedule(void **state)
{
    (void)state;
    struct feasibility study = {0};
    struct schedule schedule;
    AUTO_FREE char *a = model("a", 1, 10, 50);
    AUTO_FREE char *text =
        mem_printf("{\"models\": [{\"gpu_memory_limit\": \"5 GiB\", %s], \"pairs\": []}", a + 1);
    AUTO_FREE char *bad =
        mem_printf("{\"models\": [{\"gpu_memory_limit\": \"5 GiX\", %s], \"pairs\": []}", a + 1);
    read_text(&study, bad, false);
    feasibility_fini(&study);
    read_text(&study, text, true);
    schedule_make(&study, all, 8 * GIB, 1.5, &schedule);
    json_t *json = schedule_settings(&study, &schedule);
    assert_string_equal(
        json_get_text(json_array_get(json_get(json, "experiments"), 0), "gpu_memory_limit"),
        "5368709120 B");
    json_decref(json);
    schedule_fini(&schedule);
    feasibility_fini(&study);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_slow_down_runs_in_pairs),
        cmocka_unit_test(what_was_measured_counts_and_what_failed_is_not_tried_again),
        cmocka_unit_test(what_is_not_proven_runs_alone_and_is_named),
        cmocka_unit_test(the_longest_model_left_gets_the_partner_that_saves_most),
        cmocka_unit_test(a_later_study_replaces_a_model_and_adds_others),
        cmocka_unit_test(what_is_no_study_is_refused),
        cmocka_unit_test(a_limit_under_which_it_was_measured_holds_in_the_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
