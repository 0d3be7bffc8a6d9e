/* Which models and pairs settings ask for, and the settings that are written of them. */
#include "base/json_print.h"
#include "sharing/alone.h"
#include "sharing/choose.h"
#include "sharing/outcome.h"
#include "sharing/written.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include <string.h>

static const char registry_text[] =
    "{\"models\": {"
    "\"zoo\": {\"path\": \".\", \"train_script\": \"t.sh\", \"models\": [\"a\", \"b\"], "
    "\"supported_hyperparams\": {"
    "  \"epochs\": {\"flag\": \"-e\", \"type\": \"int\", \"default\": 30, \"range\": [1, 99]},"
    "  \"batch\": {\"flag\": \"-b\", \"type\": \"int\", \"default\": 8, \"range\": [1, 99]}}},"
    "\"farm\": {\"path\": \".\", \"train_script\": \"t.sh\", \"models\": [\"a\", \"default\"], "
    "\"supported_hyperparams\": {}}}}";

struct fixture {
    struct settings settings;
    struct registry registry;
    struct problems problems;
    struct feasibility study;
};

static void choose(struct fixture *fixture, const char *settings)
{
    *fixture = (struct fixture){0};
    registry_parse("/r.json", registry_text, strlen(registry_text), &fixture->registry,
                   &fixture->problems);
    assert_true(settings_parse("s.json", settings, strlen(settings), &fixture->settings,
                               &fixture->problems));
    feasibility_choose(&fixture->settings, &fixture->registry, &fixture->study);
}

static void done(struct fixture *fixture)
{
    feasibility_fini(&fixture->study);
    settings_fini(&fixture->settings);
    registry_fini(&fixture->registry);
    problems_fini(&fixture->problems);
}

#define SIDE(repo, model, params)                  \
    "{\"repo\": \"" repo "\", \"model\": \"" model \
    "\", \"mode\": \"default\", \"hyperparameters\": {" params "}}"
#define BACK(repo, model, params) \
    "{\"repo\": \"" repo "\", \"model\": \"" model "\", \"hyperparameters\": {" params "}}"

/* clang-format off */
static const char settings_text[] =
    "{\"experiment_name\": \"x\", \"seed\": 5, \"governor\": \"performance\", \"timeout\": 90, "
    "\"mode\": \"parallel\", \"experiments\": ["
    "{\"foreground\": " SIDE("zoo", "a", "\"epochs\": 1, \"batch\": 4") ", "
    "\"background\": " BACK("zoo", "b", "") ", \"note\": \"n\"},"
    "{\"foreground\": " SIDE("zoo", "b", "\"epochs\": 7") ", "
    "\"background\": " BACK("zoo", "a", "\"batch\": 4") "},"
    "{\"foreground\": " SIDE("zoo", "a", "\"batch\": 64") ", "
    "\"background\": " BACK("farm", "a", "") "},"
    "{\"foreground\": " SIDE("zoo", "a", "\"epochs\": 9, \"batch\": 64") ", "
    "\"background\": " BACK("farm", "a", "") "},"
    "{\"mode\": \"default\", \"repo\": \"farm\", \"model\": \"default\"}], "
    "\"tare\": {\"order\": \"blocks\", "
    "\"parallel\": {\"wait\": 3, \"limit\": 40, \"restart_delay\": 1}}}";
/* clang-format on */

static void a_model_counts_once_for_its_hyperparameters_whatever_its_epochs(void **state)
{
    (void)state;
    struct fixture f;
    choose(&f, settings_text);
    static const char *const names[] = {"zoo/a#1", "b", "zoo/a#2", "farm/a", "farm/default"};
    assert_int_equal(f.study.model_count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(f.study.models[i].name, names[i]);
    /* The third pair and the fourth differ in epochs alone. */
    assert_int_equal(f.study.pair_count, 3);
    assert_true(f.study.pairs[1].foreground == 1 && f.study.pairs[1].background == 0);
    assert_true(f.study.models[0].has_epochs && f.study.models[0].full_epochs == 30);
    assert_true(!f.study.models[3].has_epochs && f.study.models[3].full_epochs == 1);
    assert_true(f.study.timing.lead_low_s == 3 && f.study.timing.lead_high_s == 40 &&
                f.study.timing.restart_s == 1);
    done(&f);
}

static json_t *read_back(json_t *settings, struct settings *out)
{
    struct problems problems = {0};
    AUTO_TEXT struct text text = {0};
    json_print_pretty(settings, &text);
    assert_true(settings_parse("w.json", text_get(&text), text.length, out, &problems));
    problems_fini(&problems);
    return settings;
}

static void each_model_alone_is_one_epoch_without_a_second_try(void **state)
{
    (void)state;
    struct fixture f;
    struct settings back;
    choose(&f, settings_text);
    json_t *json =
        read_back(feasibility_alone_settings(&f.study, f.settings.doc.root, 3, false), &back);
    assert_int_equal(back.entry_count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_false(back.entries[i].parallel);
        assert_true(back.entries[i].runs == 3 && back.entries[i].max_retries == 0 &&
                    back.entries[i].timeout_s == 90);
        assert_string_equal(back.entries[i].governor, "performance");
    }
    const struct job_settings *job = &back.entries[0].foreground;
    assert_true(job->mode == MODE_DEFAULT && job->param_count == 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(job->params[i].value.integer,
                         strcmp(job->params[i].name, "epochs") == 0 ? 1 : 4);
    /* Results are told apart by their place. */
    assert_int_equal(back.order, ORDER_UNSAID);
    assert_true(back.has_seed && back.seed == 5 && back.parallel.wait_s == 3);
    json_decref(json);
    settings_fini(&back);
    done(&f);
}

static void pairs_run_only_when_both_ran_alone(void **state)
{
    (void)state;
    struct fixture f;
    struct settings back;
    choose(&f, settings_text);
    for (size_t i = 0; i < 3; i++)
        f.study.models[i].succeeded = true; /* not farm's */
    json_t *json = read_back(feasibility_pair_settings(&f.study, f.settings.doc.root), &back);
    assert_int_equal(back.entry_count, 2);
    assert_true(back.entries[0].parallel && back.entries[0].runs == 1);
    assert_string_equal(back.entries[1].foreground.model, "b");
    assert_string_equal(back.entries[1].background.model, "a");
    json_decref(json);
    settings_fini(&back);
    done(&f);
}

static void recommended_are_entries_as_they_were_without_the_one_epoch(void **state)
{
    (void)state;
    struct fixture f;
    choose(&f, settings_text);
    f.study.pairs[0].prediction =
        (struct pairs_prediction){.known = true, .risk = RISK_STABLE, .fits = true};
    f.study.pairs[1].prediction =
        (struct pairs_prediction){.known = true, .risk = RISK_USABLE, .fits = true};
    for (size_t i = 0; i < 3; i++)
        f.study.pairs[i].outcome =
            (struct pairs_outcome){.ran = true, .finished = true, .result = PAIRS_PROVEN};
    /* High risk, though it fits, and is proven. */
    f.study.pairs[2].prediction =
        (struct pairs_prediction){.known = true, .risk = RISK_HIGH, .fits = true};
    json_t *json = feasibility_recommended(&f.study, f.settings.doc.root),
           *entries = json_object_get(json, "experiments");
    assert_int_equal(json_array_size(entries), 2);
    const json_t *first = json_array_get(entries, 0), *second = json_array_get(entries, 1);
    assert_string_equal(json_get_text(first, "note"), "n");
    const json_t *params = json_get(json_get(first, "foreground"), "hyperparameters");
    assert_true(json_object_size(params) == 1 &&
                json_integer_value(json_object_get(params, "batch")) == 4);
    /* Seven epochs were asked for in earnest. */
    params = json_get(json_get(second, "foreground"), "hyperparameters");
    assert_int_equal(json_integer_value(json_object_get(params, "epochs")), 7);
    assert_string_equal(json_get_text(json, "experiment_name"), "x_recommended");
    json_decref(json);
    assert_false(pairs_is_recommended(&f.study.pairs[2]));
    static const enum pairs_result others[] = {PAIRS_NOT_RUN, PAIRS_FAILED, PAIRS_NOT_PROVEN};
    for (size_t i = 0; i < 3; i++) {
        f.study.pairs[1].outcome.result = others[i];
        assert_false(pairs_is_recommended(&f.study.pairs[1]));
    }
    done(&f);
}

static void all_pairs_have_the_longer_one_in_front(void **state)
{
    (void)state;
    struct fixture f;
    choose(&f, settings_text);
    for (size_t i = 0; i < 5; i++)
        f.study.models[i].seconds = (struct reading){(double)(i == 1 ? 9 : i), true};
    feasibility_pair_all(&f.study);
    assert_int_equal(f.study.pair_count, 10);
    for (size_t i = 0; i < 10; i++)
        assert_true(f.study.models[f.study.pairs[i].foreground].seconds.value >
                    f.study.models[f.study.pairs[i].background].seconds.value);
    done(&f);
}

static void a_limit_makes_a_model_of_its_own_and_stands_in_what_is_written(void **state)
{
    (void)state;
    struct fixture f;
    struct settings back;
    choose(
        &f,
        "{\"mode\": \"parallel\", \"gpu_memory_limit\": \"5GiB\", \"experiments\": "
        "[{\"foreground\": "
        "{\"repo\": \"farm\", \"model\": \"a\", \"mode\": \"default\"}, \"background\": {\"repo\": "
        "\"farm\", \"model\": \"a\", \"gpu_memory_limit\": \"12.5%\"}}]}");
    assert_int_equal(f.study.model_count, 2);
    json_t *json =
        read_back(feasibility_alone_settings(&f.study, f.settings.doc.root, 1, true), &back);
    assert_true(back.entries[0].foreground.gpu_limit.bytes == (uint64_t)5 << 30);
    assert_true(back.entries[1].foreground.gpu_limit.share == 0.125 &&
                back.entries[1].foreground.track_gpu_memory);
    json_decref(json);
    settings_fini(&back);
    f.study.models[0].succeeded = f.study.models[1].succeeded = true;
    json = read_back(feasibility_pair_settings(&f.study, f.settings.doc.root), &back);
    assert_true(back.entries[0].foreground.gpu_limit.bytes == (uint64_t)5 << 30);
    assert_true(back.entries[0].background.gpu_limit.share == 0.125);
    json_decref(json);
    settings_fini(&back);
    done(&f);
}

static json_t *measured(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    return json;
}

#define RUN(outcome) "{\"tare\": {\"outcome\": \"" outcome "\"}}"
#define NO_LIMIT     "\"gpu_memory_limit\": null"

static void what_was_measured_before_does_not_run_again_when_it_is_the_same(void **state)
{
    (void)state;
    struct fixture f;
    choose(&f, settings_text);
    /* Of zoo/a with a batch of 4 one run succeeded, one failed; of zoo/a with 64 there is another
     * limit; b had another hyperparameter; farm/a ran three times. */
    /* clang-format off */
    json_t *json = measured(
        "[{\"repo\": \"zoo\", \"model\": \"a\", "
        "\"hyperparameters\": {\"epochs\": 1, \"batch\": 4}, " NO_LIMIT ", "
        "\"runs\": [" RUN("failed") ", " RUN("succeeded") "]},"
        "{\"repo\": \"zoo\", \"model\": \"a\", "
        "\"hyperparameters\": {\"epochs\": 1, \"batch\": 64}, "
        "\"gpu_memory_limit\": \"5 B\", \"runs\": [" RUN("succeeded") "]},"
        "{\"repo\": \"zoo\", \"model\": \"b\", \"hyperparameters\": {\"epochs\": 1, \"batch\": 8}, "
        NO_LIMIT ", \"runs\": [" RUN("succeeded") "]},"
        "{\"repo\": \"farm\", \"model\": \"a\", \"hyperparameters\": {}, " NO_LIMIT ", "
        "\"runs\": [" RUN("succeeded") "," RUN("succeeded") "," RUN("succeeded") "]}, 7, "
        "{\"runs\": 3}]");
    /* clang-format on */
    assert_int_equal(feasibility_know(&f.study, json, 2), 1);
    json_decref(json);
    json_t *settings = feasibility_alone_settings(&f.study, f.settings.doc.root, 2, false);
    const json_t *entries = json_get(settings, "experiments");
    assert_int_equal(json_array_size(entries), 4);
    static const int runs[] = {1, 2, 2, 2};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(
            json_integer_value(json_get(json_array_get(entries, i), "runs_per_config")), runs[i]);
    json_decref(settings);
    done(&f);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_counts_once_for_its_hyperparameters_whatever_its_epochs),
        cmocka_unit_test(each_model_alone_is_one_epoch_without_a_second_try),
        cmocka_unit_test(pairs_run_only_when_both_ran_alone),
        cmocka_unit_test(recommended_are_entries_as_they_were_without_the_one_epoch),
        cmocka_unit_test(all_pairs_have_the_longer_one_in_front),
        cmocka_unit_test(a_limit_makes_a_model_of_its_own_and_stands_in_what_is_written),
        cmocka_unit_test(what_was_measured_before_does_not_run_again_when_it_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
