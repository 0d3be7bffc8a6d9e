#include "report/live/layout.h"
#include "report/live/training.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct reading NONE = {0};

static void marks_data(struct training *training, json_t *data, double t_s)
{
    struct event event = {.type = EVENT_MARK, .data = data};
    AUTO(event_facts_fini) struct event_facts facts;
    event_facts_read(&event, &facts);
    training_mark(training, &facts, (int64_t)(t_s * 1e9));
}

static void draws_data(struct training *training, json_t *data, double t_s)
{
    struct event event = {.type = EVENT_METRIC, .data = data};
    AUTO(event_facts_fini) struct event_facts facts;
    event_facts_read(&event, &facts);
    training_bars(training, &facts, (int64_t)(t_s * 1e9));
}

static void marks(struct training *training, const char *name, const char *label, const char *at,
                  double t_s)
{
    json_t *data = json_pack("{s:s, s:s?, s:s}", "name", name, "label", label, "at", at);
    marks_data(training, data, t_s);
    json_decref(data);
}

/* bars: "[name, done, total, restarts], ..."; total 0: none; the last is the latest. */
static void draws(struct training *training, const char *bars, double t_s)
{
    char text[500];
    snprintf(text, sizeof text, "[%s]", bars);
    json_t *rows = json_loads(text, 0, NULL), *list = json_array(), *row;
    size_t i;
    assert_non_null(rows);
    json_array_foreach(rows, i, row)
    {
        json_t *total = json_array_get(row, 2);
        json_array_append_new(
            list,
            json_pack("{s:O, s:O, s:o, s:O, s:b}", "name", json_array_get(row, 0), "done",
                      json_array_get(row, 1), "total",
                      json_number_value(total) > 0 ? json_incref(total) : json_null(), "restarts",
                      json_array_get(row, 3), "latest", i + 1 == json_array_size(rows)));
    }
    json_t *data = json_pack("{s:s, s:o}", "sensor", "bars", "bars", list);
    draws_data(training, data, t_s);
    json_decref(data);
    json_decref(rows);
}

static void assert_shows(const struct training *training, const char *expected)
{
    AUTO_TEXT struct text text = {0};
    training_add(training, 10, true, &text);
    assert_string_equal(text_get(&text), expected);
}

static void assert_json(const struct training *training, const char *expected)
{
    json_t *json = training_json(training);
    char *text = json ? json_dumps(json, JSON_REAL_PRECISION(6)) : NULL;
    assert_string_equal(text ? text : "nothing", expected);
    free(text);
    json_decref(json);
}

static void a_training_is_told_as_json_too(void **state)
{
    (void)state;
    struct training training;
    training_begin(&training, (struct reading){4, true});
    assert_json(&training, "nothing");
    marks(&training, "epoch", "0", "start", 0);
    marks(&training, "epoch", "2", "start", 1);
    assert_json(&training, "{\"name\": \"epoch\", \"at\": 3.0, \"of\": 4.0, \"share\": 0.5}");
    training_begin(&training, NONE);
    draws(&training, "[\"Train\", 25, 100, 0]", 2);
    assert_json(&training, "{\"name\": \"Train\", \"at\": 25.0, \"of\": 100.0, \"share\": 0.25}");
    draws(&training, "[\"Steps\", 7, 0, 0]", 3);
    assert_json(&training, "{\"name\": \"Steps\", \"at\": 7.0, \"of\": null, \"share\": null}");
}

static void assert_left(const struct training *training, double now_s, double expected_s)
{
    double left_s;
    assert_true(training_left(training, (int64_t)(now_s * 1e9), &left_s));
    assert_true(fabs(left_s - expected_s) < 1e-6);
}

static void assert_no_time(const struct training *training, double now_s)
{
    double left_s;
    assert_false(training_left(training, (int64_t)(now_s * 1e9), &left_s));
}

static void marks_count_epochs_of_what_the_hyperparameter_says(void **state)
{
    (void)state;
    struct training training;
    training_begin(&training, (struct reading){20, true});
    assert_shows(&training, "");
    marks(&training, "epoch", NULL, "start", 100);
    assert_shows(&training, "epoch 1/20 [..........] 0 %");
    assert_no_time(&training, 130);
    marks(&training, "epoch", NULL, "end", 160);
    assert_shows(&training, "epoch 1/20 [..........] 5 %");
    marks(&training, "epoch", NULL, "start", 160);
    marks(&training, "epoch", NULL, "end", 220);
    marks(&training, "epoch", NULL, "start", 220);
    marks(&training, "validation", NULL, "start", 225); /* what else is marked is no epoch */
    assert_shows(&training, "epoch 3/20 [#.........] 10 %");
    assert_left(&training, 220, 18 * 60);
    assert_left(&training, 250, 18 * 60 - 30);
    assert_left(&training, 5000, 0);
}

static void labels_number_epochs_from_one_or_from_zero(void **state)
{
    (void)state;
    struct training training;
    training_begin(&training, (struct reading){4, true});
    marks(&training, "epoch", "0", "start", 0);
    assert_shows(&training, "epoch 1/4 [..........] 0 %");
    marks(&training, "epoch", "2", "start", 20);
    assert_shows(&training, "epoch 3/4 [#####.....] 50 %");
    training_begin(&training, (struct reading){4, true});
    marks(&training, "epoch", "1", "start", 0);
    assert_shows(&training, "epoch 1/4 [..........] 0 %");
    training_begin(&training, NONE);
    marks(&training, "epoch", "3/12", "start", 0); /* "Epoch [3/12]" */
    assert_shows(&training, "epoch 3/12 [#.........] 16 %");
    training_begin(&training, NONE);
    marks(&training, "epoch", "warm-up", "start", 0); /* no number: they are counted */
    assert_shows(&training, "epoch 1");
    /* What comes before the first epoch gives way to it. */
    training_begin(&training, NONE);
    marks(&training, "load", NULL, "start", 0);
    assert_shows(&training, "load 1");
    marks(&training, "train_epoch", "7", "start", 0);
    assert_shows(&training, "train_epoch 7");
}

static void a_bar_of_one_epoch_is_part_of_the_whole(void **state)
{
    (void)state;
    struct training training;
    training_begin(&training, NONE);
    draws(&training, "[\"Epoch 3/10\", 50, 100, 2]", 0);
    assert_shows(&training, "epoch 3/10 [##........] 25 %");
    /* As Lightning counts: from 0, and how many is a hyperparameter. */
    training_begin(&training, (struct reading){4, true});
    draws(&training, "[\"Epoch 0\", 50, 100, 0]", 10);
    assert_shows(&training, "epoch 1/4 [#.........] 12 %");
    draws(&training, "[\"Epoch 1\", 0, 100, 1]", 20);
    assert_shows(&training, "epoch 2/4 [##........] 25 %");
    draws(&training, "[\"Epoch 1\", 100, 100, 1], [\"Validation\", 3, 10, 0]", 30);
    assert_shows(&training, "epoch 2/4 [#####.....] 50 %");
    assert_left(&training, 30, 20 * (1 - 0.5) / (0.5 - 0.125));
    /* So fast that the first was never told. */
    training_begin(&training, (struct reading){4, true});
    json_t *late =
        json_pack("{s:[{s:s, s:s, s:f, s:f, s:i, s:b}]}", "bars", "name", "Epoch 2", "first",
                  "Epoch 0", "done", 50.0, "total", 100.0, "restarts", 2, "latest", 1);
    draws_data(&training, late, 0);
    json_decref(late);
    assert_shows(&training, "epoch 3/4 [######....] 62 %");
    /* Nobody says how many. */
    training_begin(&training, NONE);
    draws(&training, "[\"Epoch 4\", 50, 100, 4]", 0);
    assert_shows(&training, "epoch 4 [#####.....] 50 %");
    assert_no_time(&training, 100);
}

static void nested_bars_are_epochs_and_steps_within(void **state)
{
    (void)state;
    struct training training;
    training_begin(&training, NONE);
    draws(&training, "[\"Epochs\", 0, 3, 0], [\"train\", 0, 4, 0]", 0);
    assert_shows(&training, "epoch 1/3 [..........] 0 %");
    draws(&training, "[\"Epochs\", 0, 3, 0], [\"train\", 3, 4, 0]", 3);
    assert_shows(&training, "epoch 1/3 [##........] 25 %");
    /* A validation within it begins at 0: what was reached stays. */
    draws(&training, "[\"Epochs\", 0, 3, 0], [\"train\", 4, 4, 0], [\"val\", 0, 2, 0]", 4);
    assert_shows(&training, "epoch 1/3 [##........] 25 %");
    draws(&training, "[\"train\", 4, 4, 0], [\"val\", 2, 2, 0], [\"Epochs\", 1, 3, 0]", 5);
    assert_shows(&training, "epoch 2/3 [###.......] 33 %");
    assert_left(&training, 5, 10);
    draws(&training, "[\"Epochs\", 3, 3, 0]", 15);
    assert_shows(&training, "epoch 3/3 [##########] 100 %");
    assert_no_time(&training, 15); /* the bar is full, and the training goes on */
}

static void a_bar_that_begins_again_is_of_an_epoch_one_that_does_not_of_all(void **state)
{
    (void)state;
    struct training training;
    training_begin(&training, (struct reading){5, true});
    draws(&training, "[\"\", 450, 1000, 0]", 10);
    assert_shows(&training, "450/1000 [####......] 45 %");
    draws(&training, "[\"\", 460, 1000, 0]", 20);
    assert_left(&training, 20, 540);
    draws(&training, "[\"\", 500, 1000, 1]", 30);
    assert_shows(&training, "epoch 2/5 [###.......] 30 %");
    assert_no_time(&training, 30); /* the rate was of something else */
    training_begin(&training, NONE);
    draws(&training, "[\"steps\", 100, 200, 1]", 0);
    assert_shows(&training, "steps 100/200 [#####.....] 50 %");
    assert_no_time(&training, 100);
    training_begin(&training, NONE);
    draws(&training, "[\"read\", 7, 0, 0]", 0);
    assert_shows(&training, "read 7");
}

static void what_was_loaded_first_says_nothing_of_the_training(void **state)
{
    (void)state;
    struct training training;
    training_begin(&training, NONE);
    draws(&training, "[\"Loading weights\", 2, 4, 0]", 0);
    draws(&training, "[\"Loading weights\", 4, 4, 0]", 10);
    assert_no_time(&training, 20);
    draws(&training, "[\"Loading weights\", 4, 4, 0], [\"\", 0, 100, 0]", 30);
    assert_shows(&training, "0/100 [..........] 0 %");
    draws(&training, "[\"Loading weights\", 4, 4, 0], [\"\", 1, 100, 0]", 40);
    assert_left(&training, 40, 990);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_training_is_told_as_json_too),
        cmocka_unit_test(marks_count_epochs_of_what_the_hyperparameter_says),
        cmocka_unit_test(labels_number_epochs_from_one_or_from_zero),
        cmocka_unit_test(a_bar_of_one_epoch_is_part_of_the_whole),
        cmocka_unit_test(nested_bars_are_epochs_and_steps_within),
        cmocka_unit_test(a_bar_that_begins_again_is_of_an_epoch_one_that_does_not_of_all),
        cmocka_unit_test(what_was_loaded_first_says_nothing_of_the_training),
    };
    return cmocka_run_group_tests_name("training", tests, NULL, NULL);
}
