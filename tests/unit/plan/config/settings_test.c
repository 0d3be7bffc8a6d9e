#include "expect.h"

#include "base/cleanup.h"
#include "plan/config/settings.h"

/* Parses settings that must be without any problem. */
static struct settings parse_good(const char *text)
{
    struct settings settings;
    AUTO(problems_fini) struct problems problems = {0};
    bool good = settings_parse("s.json", text, strlen(text), &settings, &problems);
    expect_problems(&problems, LINES());
    assert_true(good);
    return settings;
}

static void what_is_not_said_has_its_default(void **state)
{
    (void)state;
    AUTO(settings_fini)
    struct settings settings =
        parse_good("{\"experiments\": [{\"repo\": \"r\", \"model\": \"m\"}]}");
    assert_string_equal(settings.file, "s.json");
    assert_null(settings.name);
    assert_false(settings.deduplicate);
    assert_int_equal(settings.historical_csvs.count, 0);
    assert_false(settings.has_seed);
    assert_true(settings.timing.between_runs_s == PAUSE_UNSAID);
    assert_true(settings.timing.between_configurations_s == PAUSE_UNSAID);
    assert_true(settings.timing.before_retry_s == PAUSE_UNSAID);
    assert_int_equal(settings.guard.cooldown.mode, COOLDOWN_UNSAID);
    assert_true(settings.timing.stop_grace_s == 10);
    assert_int_equal(settings.order, ORDER_UNSAID);
    assert_true(settings.limits.job.cpu_time_s == 0);
    assert_int_equal(settings.limits.job.memory_bytes, 0);
    assert_int_equal(settings.limits.log_bytes, 1073741824);
    assert_int_equal(settings.environment.count, 0);
    assert_int_equal(settings.entry_count, 1);
    const struct entry_settings *entry = &settings.entries[0];
    assert_int_equal(entry->index, 0);
    assert_string_equal(entry->json_path, "$.experiments[0]");
    assert_false(entry->parallel);
    assert_int_equal(entry->runs, 1);
    assert_int_equal(entry->max_retries, 2);
    assert_null(entry->governor);
    assert_true(entry->timeout_s == 0);
    assert_int_equal(entry->foreground.mode, MODE_MUTATION);
    assert_string_equal(entry->foreground.repo, "r");
    assert_string_equal(entry->foreground.model, "m");
    assert_string_equal(entry->foreground.json_path, "$.experiments[0]");
    assert_int_equal(entry->foreground.mutate.count, 0);
    assert_int_equal(entry->foreground.param_count, 0);
}

static void null_counts_as_not_said(void **state)
{
    (void)state;
    AUTO(settings_fini)
    struct settings settings = parse_good(
        "{\"governor\": null, \"seed\": null, \"timeout\": null, \"tare\": null, \"experiments\": ["
        "{\"repo\": \"r\", \"model\": \"m\", \"mutate\": null, \"hyperparameters\": null, "
        "\"mode\": null}]}");
    assert_null(settings.entries[0].governor);
    assert_false(settings.has_seed);
    assert_int_equal(settings.entries[0].foreground.mode, MODE_MUTATION);
}

static void the_top_of_the_file_is_read(void **state)
{
    (void)state;
    AUTO(settings_fini)
    struct settings settings =
        parse_good("{\"experiment_name\": \"n\", \"mode\": \"default\", \"runs_per_config\": 4, "
                   "\"max_retries\": 0,"
                   "\"governor\": \"powersave\", \"timeout\": \"2h\", \"seed\": 9007199254740991, "
                   "\"use_deduplication\": true,"
                   "\"historical_csvs\": [\"a.csv\", \"b/c.csv\"], \"experiments\": [{\"repo\": "
                   "\"r\", \"model\": \"m\"}]}");
    assert_string_equal(settings.name, "n");
    assert_true(settings.deduplicate);
    assert_int_equal(settings.historical_csvs.count, 2);
    assert_string_equal(settings.historical_csvs.items[1], "b/c.csv");
    assert_true(settings.has_seed);
    assert_int_equal(settings.seed, 9007199254740991);
    const struct entry_settings *entry = &settings.entries[0];
    assert_int_equal(entry->runs, 4);
    assert_int_equal(entry->max_retries, 0);
    assert_string_equal(entry->governor, "powersave");
    assert_true(entry->timeout_s == 7200);
    assert_int_equal(entry->foreground.mode, MODE_DEFAULT);
}

static void what_an_entry_says_goes_over_the_top_of_the_file(void **state)
{
    (void)state;
    AUTO(settings_fini)
    struct settings settings =
        parse_good("{\"mode\": \"mutation\", \"runs_per_config\": 4, \"max_retries\": 5, "
                   "\"governor\": \"powersave\", "
                   "\"timeout\": 60,"
                   "\"experiments\": [{\"repo\": \"r\", \"model\": \"m\", \"mode\": \"default\", "
                   "\"runs_per_config\": 0,"
                   "\"max_retries\": 1, \"governor\": \"performance\", \"timeout\": 0}]}");
    const struct entry_settings *entry = &settings.entries[0];
    assert_int_equal(entry->runs, 0);
    assert_int_equal(entry->max_retries, 1);
    assert_string_equal(entry->governor, "performance");
    assert_true(entry->timeout_s == 0);
    assert_int_equal(entry->foreground.mode, MODE_DEFAULT);
}

static void runs_come_from_the_experiment_then_the_foreground_then_the_file(void **state)
{
    (void)state;
#define SIDES(runs)                                                \
    "\"foreground\": {\"repo\": \"r\", \"model\": \"m\"" runs "}," \
    "\"background\": {\"repo\": \"r\", \"model\": \"m\"}"
    AUTO(settings_fini)
    struct settings settings = parse_good(
        "{\"mode\": \"parallel\", \"runs_per_config\": 7, \"experiments\": ["
        "{" SIDES(", \"runs_per_config\": 3") ", \"runs_per_config\": 2},"
                                              "{" SIDES(", \"runs_per_config\": 3") "},"
                                                                                    "{" SIDES(
                                                                                        "") "}]}");
    assert_int_equal(settings.entry_count, 3);
    assert_int_equal(settings.entries[0].runs, 2);
    assert_int_equal(settings.entries[1].runs, 3);
    assert_int_equal(settings.entries[2].runs, 7);
}

static void a_parallel_entry_has_two_sides_and_its_outer_names_are_ignored(void **state)
{
    (void)state;
    AUTO(settings_fini)
    struct settings settings = parse_good(
        "{\"experiments\": [{\"repo\": \"placeholder\", \"model\": 7, \"mode\": \"parallel\","
        "\"foreground\": {\"repo\": \"f\", \"model\": \"fm\", \"mode\": \"mutation\", \"mutate\": "
        "[\"lr\"],"
        "\"hyperparameters\": {\"epochs\": 3}},"
        "\"background\": {\"repo\": \"b\", \"model\": \"bm\", \"hyperparameters\": {\"lr\": 0.5, "
        "\"x\": \"y\"}}}]}");
    const struct entry_settings *entry = &settings.entries[0];
    assert_true(entry->parallel);
    assert_string_equal(entry->foreground.repo, "f");
    assert_string_equal(entry->foreground.model, "fm");
    assert_string_equal(entry->foreground.json_path, "$.experiments[0].foreground");
    assert_int_equal(entry->foreground.mode, MODE_MUTATION);
    assert_int_equal(entry->foreground.mutate.count, 1);
    assert_string_equal(entry->foreground.mutate.items[0], "lr");
    assert_int_equal(entry->foreground.param_count, 1);
    assert_string_equal(entry->background.repo, "b");
    assert_string_equal(entry->background.model, "bm");
    assert_string_equal(entry->background.json_path, "$.experiments[0].background");
    assert_int_equal(entry->background.mode, MODE_DEFAULT);
    assert_int_equal(entry->background.param_count, 2);
    assert_string_equal(entry->background.params[0].name, "lr");
    assert_true(entry->background.params[0].value.real == 0.5);
    assert_string_equal(entry->background.params[1].value.text, "y");
}

static void an_entry_with_two_sides_is_parallel_also_when_it_does_not_say_so(void **state)
{
    (void)state;
    AUTO(settings_fini)
    struct settings settings =
        parse_good("{\"mode\": \"mixed\", \"experiments\": [{" SIDES("") "}]}");
    assert_true(settings.entries[0].parallel);
}

static void hyperparameters_keep_their_kinds_and_their_order(void **state)
{
    (void)state;
    AUTO(settings_fini)
    struct settings settings =
        parse_good("{\"experiments\": [{\"repo\": \"r\", \"model\": \"m\", \"mode\": \"default\", "
                   "\"hyperparameters\": "
                   "{\"z\": 12, \"a\": 1e-7, \"opt\": \"adam\", \"amp\": true, \"clip\": null}}]}");
    const struct job_settings *job = &settings.entries[0].foreground;
    assert_int_equal(job->param_count, 5);
    assert_string_equal(job->params[0].name, "z");
    assert_int_equal(job->params[0].value.kind, VALUE_INT);
    assert_int_equal(job->params[0].value.integer, 12);
    assert_string_equal(job->params[1].name, "a");
    assert_int_equal(job->params[1].value.kind, VALUE_FLOAT);
    assert_true(job->params[1].value.real == 1e-7);
    assert_string_equal(job->params[2].value.text, "adam");
    assert_int_equal(job->params[3].value.kind, VALUE_BOOL);
    assert_true(job->params[3].value.truth);
    assert_int_equal(job->params[4].value.kind, VALUE_NULL);
}

static void mutate_is_a_list_a_name_names_with_commas_or_all(void **state)
{
    (void)state;
    AUTO(settings_fini)
    struct settings settings =
        parse_good("{\"experiments\": ["
                   "{\"repo\": \"r\", \"model\": \"m\", \"mutate\": [\"lr\", \"seed\"]},"
                   "{\"repo\": \"r\", \"model\": \"m\", \"mutate\": \"lr\"},"
                   "{\"repo\": \"r\", \"model\": \"m\", \"mutate\": \"lr, seed\"},"
                   "{\"repo\": \"r\", \"model\": \"m\", \"mutate\": \"all\"},"
                   "{\"repo\": \"r\", \"model\": \"m\", \"mutate_params\": [\"seed\"], \"mode\": "
                   "\"nonparallel\"}]}");
    static const char *const wanted[] = {"lr+seed", "lr", "lr+seed", "all", "seed"};
    assert_int_equal(settings.entry_count, 5);
    for (size_t i = 0; i < 5; i++) {
        AUTO_FREE char *names = strv_join(&settings.entries[i].foreground.mutate, "+");
        assert_string_equal(names, wanted[i]);
        assert_int_equal(settings.entries[i].foreground.mode, MODE_MUTATION);
    }
}

static void entries_of_comments_are_left_out_and_free_keys_are_free(void **state)
{
    (void)state;
    AUTO(settings_fini)
    struct settings settings = parse_good(
        "{\"version\": \"4.7\", \"notes\": [\"x\"], \"merge_info\": {\"a\": 1}, \"experiments\": ["
        "{\"comment\": \"first part\"},"
        "{},"
        "{\"repo\": \"r\", \"model\": \"m\", \"note\": \"n\", \"baseline_runs\": 0, \"priority\": "
        "3},"
        "{\"note\": \"n\", \"estimated_hours\": 3.5}]}");
    assert_int_equal(settings.entry_count, 1);
    assert_int_equal(settings.entries[0].index, 2);
    assert_string_equal(settings.entries[0].json_path, "$.experiments[2]");
}

static void the_additions_under_tare_are_read(void **state)
{
    (void)state;
    AUTO(settings_fini)
    struct settings settings =
        parse_good("{\"experiments\": [{\"repo\": \"r\", \"model\": \"m\"}], \"tare\": {"
                   "\"timing\": {\"between_runs\": 1, \"between_configurations\": \"500ms\", "
                   "\"before_retry\": \"2m\","
                   "\"stop_grace\": 2.5}, \"order\": \"blocks\", \"log_cap\": \"500 MB\","
                   "\"limits\": {\"cpu_time\": \"1h\", \"memory\": \"2GiB\"}, \"environment\": "
                   "{\"A\": \"1\", \"_b2\": "
                   "\"x y=z\"}}}");
    assert_true(settings.timing.between_runs_s == 1);
    assert_true(settings.timing.between_configurations_s == 0.5);
    assert_true(settings.timing.before_retry_s == 120);
    assert_true(settings.timing.stop_grace_s == 2.5);
    assert_int_equal(settings.order, ORDER_BLOCKS);
    assert_int_equal(settings.limits.log_bytes, 500000000);
    assert_true(settings.limits.job.cpu_time_s == 3600);
    assert_int_equal(settings.limits.job.memory_bytes, 2147483648);
    assert_int_equal(settings.environment.count, 2);
    assert_string_equal(settings.environment.items[0], "A=1");
    assert_string_equal(settings.environment.items[1], "_b2=x y=z");
}

static void the_guard_is_read_from_preflight_and_cooldown(void **state)
{
    (void)state;
    AUTO(settings_fini)
    struct settings settings =
        parse_good("{\"experiments\": [{\"repo\": \"r\", \"model\": \"m\"}], \"tare\": {"
                   "\"preflight\": {\"policy\": \"go-on\", \"wait\": \"2m\", \"baseline\": 0, "
                   "\"memory\": \"1GiB\","
                   "\"utilisation\": 12.5, \"temperature_band\": 3, \"temperature_max\": 55, "
                   "\"memory_wait\": 4},"
                   "\"cooldown\": {\"mode\": \"adaptive\", \"min\": 1, \"max\": \"1m\"}}}");
    const struct preflight_settings *preflight = &settings.guard.preflight;
    assert_int_equal(preflight->policy, PREFLIGHT_GO_ON);
    assert_true(preflight->wait_s == 120);
    assert_true(preflight->baseline_s == 0);
    assert_true(preflight->memory_bytes == UINT64_C(1) << 30);
    assert_true(preflight->utilisation_percent == 12.5);
    assert_true(preflight->band_c == 3);
    assert_true(preflight->temperature_c == 55);
    assert_true(preflight->memory_wait_s == 4);
    assert_int_equal(settings.guard.cooldown.mode, COOLDOWN_ADAPTIVE);
    assert_true(settings.guard.cooldown.min_s == 1);
    assert_true(settings.guard.cooldown.max_s == 60);
}

static void the_background_waits_as_long_as_it_is_told(void **state)
{
    (void)state;
    AUTO(settings_fini)
    struct settings told =
        parse_good("{\"experiments\": [{\"repo\": \"r\", \"model\": \"m\"}], \"tare\": {"
                   "\"parallel\": {\"wait\": \"1m\", \"hold\": 2.5, \"limit\": \"5m\", "
                   "\"restart_delay\": 0}}}");
    assert_true(told.parallel.wait_s == 60);
    assert_true(told.parallel.hold_s == 2.5);
    assert_true(told.parallel.limit_s == 300);
    assert_true(told.parallel.restart_delay_s == 0);
    AUTO(settings_fini)
    struct settings untold = parse_good("{\"experiments\": [{\"repo\": \"r\", \"model\": \"m\"}]}");
    assert_true(untold.parallel.wait_s == 30);
    assert_true(untold.parallel.hold_s == 5);
    assert_true(untold.parallel.limit_s == 120);
    assert_true(untold.parallel.restart_delay_s == 2);
}

static void a_log_cap_of_0_is_none(void **state)
{
    (void)state;
    AUTO(settings_fini)
    struct settings settings = parse_good(
        "{\"experiments\": [{\"repo\": \"r\", \"model\": \"m\"}], \"tare\": {\"log_cap\": 0}}");
    assert_int_equal(settings.limits.log_bytes, 0);
}

static void flags_make_one_entry(void **state)
{
    (void)state;
    AUTO(settings_fini) struct settings settings;
    const struct settings_changes changes = {.has_runs = true, .runs = 5};
    settings_from_flags("examples", "mnist", "lr,seed", &changes, &settings);
    assert_null(settings.file);
    assert_int_equal(settings.entry_count, 1);
    const struct entry_settings *entry = &settings.entries[0];
    assert_string_equal(entry->foreground.repo, "examples");
    assert_string_equal(entry->foreground.model, "mnist");
    assert_int_equal(entry->foreground.mode, MODE_MUTATION);
    assert_int_equal(entry->foreground.mutate.count, 2);
    assert_string_equal(entry->foreground.mutate.items[1], "seed");
    assert_int_equal(entry->runs, 5);
    assert_int_equal(entry->max_retries, 2);
    assert_true(settings.timing.between_runs_s == PAUSE_UNSAID);
    assert_false(settings.has_tare);
}

static void flags_without_mutation_are_mode_default(void **state)
{
    (void)state;
    AUTO(settings_fini) struct settings settings;
    settings_from_flags("r", "m", NULL, &(struct settings_changes){0}, &settings);
    assert_int_equal(settings.entries[0].foreground.mode, MODE_DEFAULT);
    assert_int_equal(settings.entries[0].foreground.mutate.count, 0);
}

static void the_document_made_of_flags_is_a_settings_file_that_says_the_same(void **state)
{
    (void)state;
    AUTO(settings_fini) struct settings flags;
    const struct settings_changes changes = {.has_runs = true,
                                             .runs = 3,
                                             .has_max_retries = true,
                                             .max_retries = 0,
                                             .governor = "powersave",
                                             .cooldown = "adaptive"};
    settings_from_flags("r", "m", "all", &changes, &flags);
    AUTO(settings_fini) struct settings settings = parse_good(flags.doc.text);
    assert_int_equal(settings.entries[0].max_retries, 0);
    assert_string_equal(settings.entries[0].governor, "powersave");
    assert_int_equal(settings.guard.cooldown.mode, COOLDOWN_ADAPTIVE);
    assert_int_equal(settings.entry_count, 1);
    assert_string_equal(settings.entries[0].foreground.repo, "r");
    assert_string_equal(settings.entries[0].foreground.mutate.items[0], "all");
    assert_int_equal(settings.entries[0].runs, 3);
}

static void a_problem_with_flags_names_no_place(void **state)
{
    (void)state;
    AUTO(settings_fini) struct settings settings;
    settings_from_flags("nowhere", "m", NULL, &(struct settings_changes){0}, &settings);
    AUTO(problems_fini) struct problems problems = {0};
    problems_add(&problems, SEVERITY_ERROR, &settings.doc, settings.entries[0].foreground.json_path,
                 "no 'nowhere'");
    expect_problems(&problems, LINES("error: no 'nowhere'"));
}

static void names_that_are_no_utf8_stay_what_they_are(void **state)
{
    (void)state;
    AUTO(settings_fini) struct settings settings;
    const struct settings_changes changes = {.has_runs = true, .runs = 2, .governor = "\xfe"};
    settings_from_flags("\xff", "", "a,,b", &changes, &settings);
    assert_string_equal(settings.entries[0].governor, "\xfe");
    assert_int_equal(settings.entry_count, 1);
    assert_string_equal(settings.entries[0].foreground.repo, "\xff");
    assert_string_equal(settings.entries[0].foreground.model, "");
    assert_int_equal(settings.entries[0].runs, 2);
}

static void modes_have_the_names_of_the_files(void **state)
{
    (void)state;
    assert_string_equal(mode_name(MODE_MUTATION), "mutation");
    assert_string_equal(mode_name(MODE_DEFAULT), "default");
    assert_string_equal(mode_name(MODE_PARALLEL), "parallel");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_said_has_its_default),
        cmocka_unit_test(null_counts_as_not_said),
        cmocka_unit_test(the_top_of_the_file_is_read),
        cmocka_unit_test(what_an_entry_says_goes_over_the_top_of_the_file),
        cmocka_unit_test(runs_come_from_the_experiment_then_the_foreground_then_the_file),
        cmocka_unit_test(a_parallel_entry_has_two_sides_and_its_outer_names_are_ignored),
        cmocka_unit_test(an_entry_with_two_sides_is_parallel_also_when_it_does_not_say_so),
        cmocka_unit_test(hyperparameters_keep_their_kinds_and_their_order),
        cmocka_unit_test(mutate_is_a_list_a_name_names_with_commas_or_all),
        cmocka_unit_test(entries_of_comments_are_left_out_and_free_keys_are_free),
        cmocka_unit_test(the_additions_under_tare_are_read),
        cmocka_unit_test(the_guard_is_read_from_preflight_and_cooldown),
        cmocka_unit_test(the_background_waits_as_long_as_it_is_told),
        cmocka_unit_test(a_log_cap_of_0_is_none),
        cmocka_unit_test(flags_make_one_entry),
        cmocka_unit_test(flags_without_mutation_are_mode_default),
        cmocka_unit_test(the_document_made_of_flags_is_a_settings_file_that_says_the_same),
        cmocka_unit_test(a_problem_with_flags_names_no_place),
        cmocka_unit_test(names_that_are_no_utf8_stay_what_they_are),
        cmocka_unit_test(modes_have_the_names_of_the_files),
    };
    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
