#include "expect.h"

#include "base/cleanup.h"
#include "plan/config/settings.h"

#include <unistd.h>

static bool has_errors(const char *const *lines)
{
    for (; *lines; lines++)
        if (strstr(*lines, "error: "))
            return true;
    return false;
}

static void expect(const char *text, const char *const *lines)
{
    AUTO(problems_fini) struct problems problems = {0};
    AUTO(settings_fini) struct settings settings;
    bool good = settings_parse("s", text, strlen(text), &settings, &problems);
    expect_problems(&problems, lines);
    assert_int_equal(good, !has_errors(lines));
}

/* One experiment that is right but for what stands behind its model, in line 2. */
#define ENTRY(rest) "{\"experiments\": [\n{\"repo\": \"r\", \"model\": \"m\"" rest "}]}"
#define RIGHT       "\"experiments\": [{\"repo\": \"r\", \"model\": \"m\"}]"

static void what_is_no_json_is_reported_with_its_place(void **state)
{
    (void)state;
    AUTO(problems_fini) struct problems problems = {0};
    AUTO(settings_fini) struct settings settings;
    assert_false(settings_parse("s", "{\n  \"a\": ]\n}", 12, &settings, &problems));
    assert_int_equal(problems.count, 1);
    assert_string_equal(problems.items[0].file, "s");
    assert_int_equal(problems.items[0].place.line, 2);
    assert_non_null(strstr(problems.items[0].text, "unexpected token"));
    assert_int_equal(settings.entry_count, 0);
}

/* As in the study's own files: a comment before the keys and one behind them. */
static void a_key_that_is_ignored_may_be_repeated(void **state)
{
    (void)state;
    expect("{\"comment\": \"a\", \"comment\": \"b\", \"purpose\": 1, \"purpose\": 2,\n"
           " \"experiments\": [\n"
           "  {\"comment\": \"first\", \"repo\": \"r\", \"model\": \"m\", \"comment\": {\"repo\": "
           "1, \"repo\": 2}},\n"
           "  {\"comment\": \"only a comment\", \"comment\": \"again\"}]}",
           LINES());
}

static void a_key_that_counts_and_is_repeated_is_told_with_both_places_beside_all_other_mistakes(
    void **state)
{
    (void)state;
    expect(
        "{\"mode\": \"default\",\n"
        " \"mode\": \"mutation\", \"max_retries\": -1, \"comment\": 1, \"comment\": 2,\n"
        " \"experiments\": [\n"
        "  {\"repo\": \"r\", \"model\": \"m\", \"hyperparameters\": {\"lr\": 1, \"epochs\": 2, "
        "\"lr\": []}},\n"
        "  {\"repo\": \"r\", \"model\": 7, \"repo\": \"s\", \"repo\": \"t\"}],\n"
        " \"tare\": {\"environment\": {\"A\": \"1\",\n  \"A\": \"2\"}, \"preflight\": {}, "
        "\"preflight\": {}}}",
        LINES("s:2:37: error: 'max_retries': expected an integer from 0 to 1000, not -1 (at "
              "$.max_retries)",
              "s:2:2: error: 'mode' is in this object twice, at 1:2 and at 2:2: keep one of them "
              "(at $.mode)",
              "s:7:3: error: 'A' is in this object twice, at 6:27 and at 7:3: keep one of them (at "
              "$.tare.environment.A)",
              "s:7:31: error: 'preflight' is in this object twice, at 7:14 and at 7:31: keep one "
              "of them (at "
              "$.tare.preflight)",
              "s:4:73: error: 'lr' is in this object twice, at 4:51 and at 4:73: keep one of them "
              "(at "
              "$.experiments[0].hyperparameters.lr)",
              "s:4:79: error: 'lr': expected a number, a string, true, false or null, not an empty "
              "list (at "
              "$.experiments[0].hyperparameters.lr)",
              "s:5:42: error: 'repo' is in this object twice, at 5:4 and at 5:42: keep one of them "
              "(at "
              "$.experiments[1].repo)",
              "s:5:26: error: 'model': expected a non-empty string, not 7 (at "
              "$.experiments[1].model)"));
}

static void a_file_that_is_not_there_is_reported(void **state)
{
    (void)state;
    AUTO(problems_fini) struct problems problems = {0};
    AUTO(settings_fini) struct settings settings;
    assert_false(settings_read("/nonexistent/folder/s.json", &settings, &problems));
    assert_int_equal(problems.errors, 1);
    assert_string_equal(problems.items[0].file, "/nonexistent/folder/s.json");
    assert_non_null(strstr(problems.items[0].text, "No such file or directory"));
}

static void hostile_depth_is_an_error_like_any_other(void **state)
{
    (void)state;
    static char text[200001];
    memset(text, '[', sizeof text - 1);
    AUTO(problems_fini) struct problems problems = {0};
    AUTO(settings_fini) struct settings settings;
    assert_false(settings_parse("s", text, sizeof text - 1, &settings, &problems));
    assert_int_equal(problems.errors, 1);
    assert_non_null(strstr(problems.items[0].text, "maximum parsing depth reached"));
}

static void the_root_is_an_object_with_experiments(void **state)
{
    (void)state;
    expect("[1, 2]",
           LINES("s:1:1: error: expected an object (the settings), not a list of 2 (at $)"));
    expect("{}", LINES("s:1:1: error: 'experiments' is missing: a list of what to run (at $)"));
    expect("{\"experiment\": []}",
           LINES("s:1:2: warning: unknown key 'experiment'; did you mean 'experiments'? (at "
                 "$.experiment)",
                 "s:1:1: error: 'experiments' is missing: a list of what to run (at $)"));
    expect("{\"experiments\": {}}", LINES("s:1:17: error: 'experiments': expected a list of "
                                          "objects, not an empty object (at $.experiments)"));
    expect(
        "{\"experiments\": []}",
        LINES(
            "s:1:17: error: 'experiments': nothing to run: the list is empty (at $.experiments)"));
    expect("{\"experiments\": [{\"comment\": \"c\"}]}",
           LINES("s:1:17: error: 'experiments': nothing to run: every entry is a comment (at "
                 "$.experiments)"));
    expect("{\"experiments\": [\n7]}",
           LINES("s:2:1: error: expected an object (an experiment), not 7 (at $.experiments[0])"));
}

static void every_wrong_type_at_the_top_is_told_at_once(void **state)
{
    (void)state;
    expect("{\n"
           "\"experiment_name\": 1,\n"
           "\"mode\": \"mutaton\",\n"
           "\"runs_per_config\": 2.5,\n"
           "\"max_retries\": -1,\n"
           "\"governor\": \"perfomance\",\n"
           "\"timeout\": \"soon\",\n"
           "\"seed\": 9007199254740992,\n"
           "\"use_deduplication\": \"yes\",\n"
           "\"historical_csvs\": [\"a.csv\", 3],\n"
           "\"tare\": 5,\n" RIGHT "}",
           LINES("s:2:20: error: 'experiment_name': expected a non-empty string, not 1 (at "
                 "$.experiment_name)",
                 "s:3:9: error: 'mode': expected \"mutation\", \"nonparallel\", \"default\", "
                 "\"grid\", \"list\", "
                 "\"parallel\" or "
                 "\"mixed\", not \"mutaton\"; did you mean 'mutation'? (at $.mode)",
                 "s:4:20: error: 'runs_per_config': expected an integer from 0 to 1000000, not 2.5 "
                 "(at $.runs_per_config)",
                 "s:5:16: error: 'max_retries': expected an integer from 0 to 1000, not -1 (at "
                 "$.max_retries)",
                 "s:7:12: error: 'timeout': expected seconds or a duration such as \"90s\", "
                 "\"10m\" or \"2h\", at most 366 "
                 "days, not \"soon\" (at $.timeout)",
                 "s:8:9: error: 'seed': expected an integer from 0 to 9007199254740991, not "
                 "9007199254740992 "
                 "(at $.seed)",
                 "s:9:22: error: 'use_deduplication': expected true or false, not \"yes\" (at "
                 "$.use_deduplication)",
                 "s:10:30: error: 'historical_csvs': expected a string or a list of strings, not 3 "
                 "(at $.historical_csvs[1])",
                 "s:6:13: warning: 'governor': 'perfomance' is no governor of Linux; did you mean "
                 "'performance'? "
                 "(at $.governor)",
                 "s:11:9: error: 'tare': expected an object, not 5 (at $.tare)"));
}

static void keys_at_the_wrong_level_are_pointed_home(void **state)
{
    (void)state;
    expect(
        "{\n\"hyperparameters\": {},\n\"timing\": {},\n" RIGHT "}",
        LINES("s:2:1: warning: 'hyperparameters' is not used here: it belongs into an entry of "
              "'experiments' "
              "(at $.hyperparameters)",
              "s:3:1: warning: 'timing' is not used here: it belongs under 'tare' (at $.timing)"));
    expect(ENTRY(",\n\"tare\": {},\n\"seed\": 1"),
           LINES("s:3:1: warning: 'tare' is not used here: it belongs at the top of the file (at "
                 "$.experiments[0].tare)",
                 "s:4:1: warning: 'seed' is not used here: the seed of the plan is at the top of "
                 "the file, the seed "
                 "of a training under 'hyperparameters' (at $.experiments[0].seed)"));
}

static void a_key_that_looks_misspelt_is_a_warning(void **state)
{
    (void)state;
    expect(ENTRY(",\n\"hyperparamters\": {},\n\"mutat\": 1,\n\"priority\": 2"),
           LINES("s:3:1: warning: unknown key 'hyperparamters'; did you mean 'hyperparameters'? "
                 "(at $.experiments[0].hyperparamters)",
                 "s:4:1: warning: unknown key 'mutat'; did you mean 'mutate'? (at "
                 "$.experiments[0].mutat)"));
}

static void the_key_tare_makes_no_key_outside_it_an_error(void **state)
{
    (void)state;
    expect(ENTRY(",\n\"mutat\": 1}],\n\"runs_per_confg\": 2, \"tare\": {}, \"x\": [{"),
           LINES("s:4:1: warning: unknown key 'runs_per_confg'; did you mean 'runs_per_config'? "
                 "(at $.runs_per_confg)",
                 "s:3:1: warning: unknown key 'mutat'; did you mean 'mutate'? (at "
                 "$.experiments[0].mutat)"));
}

static void an_entry_of_misspelt_keys_is_no_comment(void **state)
{
    (void)state;
    expect(
        "{\"experiments\": [\n{\"rep\": \"r\", \"modle\": \"m\"}]}",
        LINES("s:2:2: warning: unknown key 'rep'; did you mean 'repo'? (at $.experiments[0].rep)",
              "s:2:14: warning: unknown key 'modle'; did you mean 'model'? (at "
              "$.experiments[0].modle)",
              "s:2:1: error: 'repo' is missing (at $.experiments[0])",
              "s:2:1: error: 'model' is missing (at $.experiments[0])"));
}

static void an_entry_that_only_might_be_a_comment_is_told(void **state)
{
    (void)state;
    expect("{\"experiments\": [\n{\"repository\": \"r\", \"mdl\": \"m\"},\n{\"_why\": 1, \"x\": "
           "2},\n{},\n"
           "{\"repo\": \"r\", \"model\": \"m\"}]}",
           LINES("s:2:1: warning: left out as a comment: none of its keys (repository, mdl) is "
                 "known (at "
                 "$.experiments[0])"));
}

static void what_was_meant_by_a_missing_key_is_asked(void **state)
{
    (void)state;
    expect("{\"experiments\": [\n{\"Repository\": \"r\", \"model\": \"m\"}]}",
           LINES("s:2:1: error: 'repo' is missing; is 'Repository' meant? (at $.experiments[0])"));
}

static void an_entry_names_a_repository_and_a_model(void **state)
{
    (void)state;
    expect(
        "{\"experiments\": [\n{\"mode\": \"default\"},\n{\"repo\": 3, \"model\": \"\"}]}",
        LINES(
            "s:2:1: error: 'repo' is missing (at $.experiments[0])",
            "s:2:1: error: 'model' is missing (at $.experiments[0])",
            "s:3:10: error: 'repo': expected a non-empty string, not 3 (at $.experiments[1].repo)",
            "s:3:22: error: 'model': expected a non-empty string, not \"\" (at "
            "$.experiments[1].model)"));
}

static void in_a_mixed_file_every_entry_says_its_mode(void **state)
{
    (void)state;
    expect("{\"mode\": \"mixed\", \"experiments\": [\n{\"repo\": \"r\", \"model\": \"m\"}]}",
           LINES("s:2:1: error: 'mode' is missing: the file's mode is \"mixed\", so each "
                 "experiment says its own "
                 "(at $.experiments[0])"));
}

static void wrong_values_in_an_entry_are_told(void **state)
{
    (void)state;
    expect(
        ENTRY(",\n\"mode\": \"mixed\",\n\"runs_per_config\": \"3\",\n\"max_retries\": "
              "1001,\n\"timeout\": -1,\n"
              "\"governor\": \"\""),
        LINES("s:3:9: error: 'mode': expected \"mutation\", \"nonparallel\", \"default\", "
              "\"grid\", \"list\" or "
              "\"parallel\", not "
              "\"mixed\" (at $.experiments[0].mode)",
              "s:4:20: error: 'runs_per_config': expected an integer from 0 to 1000000, not \"3\" "
              "(at $.experiments[0].runs_per_config)",
              "s:5:16: error: 'max_retries': expected an integer from 0 to 1000, not 1001 "
              "(at $.experiments[0].max_retries)",
              "s:7:13: error: 'governor': expected a non-empty string, not \"\" (at "
              "$.experiments[0].governor)",
              "s:6:12: error: 'timeout': expected seconds or a duration such as \"90s\", \"10m\" "
              "or \"2h\", at most 366 "
              "days, not -1 (at $.experiments[0].timeout)"));
}

static void hyperparameters_are_plain_values(void **state)
{
    (void)state;
    expect(
        ENTRY(",\n\"hyperparameters\": {\n\"a\": [1, 2],\n\"b c\": [],\n\"d\": {\"e\": 1}}"),
        LINES("s:4:6: error: 'a': expected a number, a string, true, false or null, not a list of "
              "2; several "
              "values are an axis of \"mode\": \"grid\" (at $.experiments[0].hyperparameters.a)",
              "s:5:8: error: 'b c': expected a number, a string, true, false or null, not an empty "
              "list "
              "(at $.experiments[0].hyperparameters[\"b c\"])",
              "s:6:6: error: 'd': expected a number, a string, true, false or null, not an object "
              "(at $.experiments[0].hyperparameters.d)"));
    expect(ENTRY(",\n\"hyperparameters\": [1]"),
           LINES("s:3:20: error: 'hyperparameters': expected an object, not a list of 1; a list of "
                 "points is "
                 "for \"mode\": \"list\" (at $.experiments[0].hyperparameters)"));
}

static void grids_lists_and_seeds_are_checked(void **state)
{
    (void)state;
    expect(
        ENTRY(",\n\"mode\": \"grid\",\n\"mutate\": \"all\",\n\"hyperparameters\": {\n\"a\": "
              "[],\n\"b\": [1, [2]],\n"
              "\"c\": {}}"),
        LINES(
            "s:6:6: error: 'a': an axis with no value (at $.experiments[0].hyperparameters.a)",
            "s:7:10: error: 'b': expected a number, a string, true, false or null, not a list of 1 "
            "(at $.experiments[0].hyperparameters.b[1])",
            "s:8:6: error: 'c': expected a number, a string, true, false or null, not an empty "
            "object "
            "(at $.experiments[0].hyperparameters.c)",
            "s:4:1: error: 'mutate' is for mode \"mutation\": nothing is drawn in mode \"grid\" "
            "(at $.experiments[0].mutate)"));
    expect(ENTRY(",\n\"mode\": \"list\",\n\"hyperparameters\": {\"a\": 1},\n\"seeds\": 0"),
           LINES("s:4:20: error: 'hyperparameters': mode \"list\" needs a list of objects, each a "
                 "point, not an object "
                 "(at $.experiments[0].hyperparameters)",
                 "s:5:10: error: 'seeds': expected an integer from 1 to 1000000, or a list of at "
                 "most 10000 integers, "
                 "not 0 (at $.experiments[0].seeds)"));
    expect(
        ENTRY(
            ",\n\"mode\": \"list\",\n\"hyperparameters\": [1, {\"a\": [1]}],\n\"seeds\": [1, 2.5]"),
        LINES(
            "s:4:21: error: 'hyperparameters': expected an object (a point), not 1 "
            "(at $.experiments[0].hyperparameters[0])",
            "s:4:30: error: 'a': expected a number, a string, true, false or null, not a list of "
            "1; each point has "
            "one value of it (at $.experiments[0].hyperparameters[1].a)",
            "s:5:14: error: 'seeds': expected an integer, not 2.5 (at $.experiments[0].seeds[1])"));
    expect(ENTRY(",\n\"mode\": \"list\""),
           LINES("s:2:1: error: 'hyperparameters': mode \"list\" needs a list of objects, each a "
                 "point, not nothing "
                 "(at $.experiments[0])"));
}

static void what_to_mutate_is_checked(void **state)
{
    (void)state;
    expect(ENTRY(",\n\"mutate\": []"),
           LINES("s:3:11: error: 'mutate': expected \"all\", a name, or a list of names, not "
                 "an empty list (at $.experiments[0].mutate)"));
    expect(ENTRY(",\n\"mutate\": true"),
           LINES("s:3:11: error: 'mutate': expected \"all\", a name, or a list of names, "
                 "not true (at $.experiments[0].mutate)"));
    expect(ENTRY(",\n\"mutate\": [\"lr\", 5, \"\", \"lr\"]"),
           LINES("s:3:18: error: 'mutate': expected a name, not 5 (at $.experiments[0].mutate[1])",
                 "s:3:21: error: 'mutate': a name is empty (at $.experiments[0].mutate[2])",
                 "s:3:25: warning: 'mutate': 'lr' is named twice (at $.experiments[0].mutate[3])"));
    expect(ENTRY(",\n\"mutate\": \"lr,,seed\""),
           LINES("s:3:11: error: 'mutate': a name is empty (at $.experiments[0].mutate)"));
    expect(ENTRY(",\n\"mutate\": \"lr\",\n\"mutate_params\": \"lr\""),
           LINES("s:4:1: error: 'mutate_params' and 'mutate' mean the same: keep one of them "
                 "(at $.experiments[0].mutate_params)"));
}

static void what_has_no_effect_is_a_warning(void **state)
{
    (void)state;
    expect(ENTRY(",\"mode\": \"default\",\n\"mutate\": [\"lr\"],\n\"background\": {}"),
           LINES("s:4:1: warning: 'background' is not used here: the mode is not 'parallel' "
                 "(at $.experiments[0].background)",
                 "s:3:1: warning: 'mutate' is not used here: the mode is 'default' (at "
                 "$.experiments[0].mutate)"));
}

static void a_parallel_entry_needs_both_sides(void **state)
{
    (void)state;
    expect(ENTRY(", \"mode\": \"parallel\",\n\"mutate\": \"all\""),
           LINES("s:3:1: warning: 'mutate' is not used here: a parallel experiment says it under "
                 "'foreground' "
                 "(at $.experiments[0].mutate)",
                 "s:2:1: error: 'foreground' is missing: a parallel experiment has a foreground "
                 "and a background "
                 "(at $.experiments[0])",
                 "s:2:1: error: 'background' is missing: a parallel experiment has a foreground "
                 "and a background "
                 "(at $.experiments[0])"));
    expect("{\"experiments\": [{\"foreground\": 1,\n\"background\": {}}]}",
           LINES("s:1:33: error: 'foreground': expected an object, not 1 (at "
                 "$.experiments[0].foreground)",
                 "s:2:15: error: 'repo' is missing (at $.experiments[0].background)",
                 "s:2:15: error: 'model' is missing (at $.experiments[0].background)"));
}

static void the_sides_of_a_parallel_entry_are_checked(void **state)
{
    (void)state;
    expect("{\"experiments\": [{\"mode\": \"parallel\",\n"
           "\"foreground\": {\"repo\": \"r\", \"model\": \"m\",\n\"mode\": "
           "\"parallel\",\n\"timeout\": 3,\n\"mutaet\": "
           "1},\n"
           "\"background\": {\"repo\": \"r\", \"model\": \"m\",\n\"mode\": "
           "\"mutation\",\n\"mutate\": \"all\",\n"
           "\"runs_per_config\": 2}}]}",
           LINES("s:3:9: error: 'mode': expected \"mutation\", \"nonparallel\", \"default\", "
                 "\"grid\" or \"list\", not "
                 "\"parallel\"; did you mean 'nonparallel'? (at $.experiments[0].foreground.mode)",
                 "s:4:1: warning: 'timeout' is not used here: it belongs beside 'foreground', in "
                 "the entry itself "
                 "(at $.experiments[0].foreground.timeout)",
                 "s:5:1: warning: unknown key 'mutaet'; did you mean 'mutate'? "
                 "(at $.experiments[0].foreground.mutaet)",
                 "s:8:1: warning: 'mutate' is not used here: a background is never mutated "
                 "(at $.experiments[0].background.mutate)",
                 "s:9:1: warning: 'runs_per_config' is not used here: it belongs beside "
                 "'foreground', in the entry itself "
                 "(at $.experiments[0].background.runs_per_config)",
                 "s:7:1: warning: 'mode' is not used here: a background is never mutated "
                 "(at $.experiments[0].background.mode)"));
}

static void under_tare_every_unknown_key_is_an_error(void **state)
{
    (void)state;
    expect("{" RIGHT
           ", \"tare\": {\n\"timings\": {},\n\"zebra\": 1,\n\"timing\": {\n\"beforeretry\": 1},\n"
           "\"limits\": {\n\"wall_time\": 1}}}",
           LINES("s:2:1: error: unknown key 'timings'; did you mean 'timing'? (at $.tare.timings)",
                 "s:3:1: error: unknown key 'zebra' (at $.tare.zebra)",
                 "s:5:1: error: unknown key 'beforeretry'; did you mean 'before_retry'? "
                 "(at $.tare.timing.beforeretry)",
                 "s:7:1: error: unknown key 'wall_time' (at $.tare.limits.wall_time)"));
}

static void wrong_values_of_the_guard_are_told(void **state)
{
    (void)state;
    expect(
        "{" RIGHT ", \"tare\": {\n\"preflight\": {\"policy\": \"wiat\", \"utilisation\": 101},\n"
        "\"cooldown\": {\"mode\": \"fixed\", \"min\": 10, \"max\": 2}}}",
        LINES("s:2:25: error: 'policy': expected \"wait\", \"refuse\" or \"go-on\", not \"wiat\"; "
              "did you mean "
              "'wait'? (at $.tare.preflight.policy)",
              "s:2:48: error: 'utilisation': expected a number from 0.0 to 100.0, not 101 "
              "(at $.tare.preflight.utilisation)",
              "s:3:13: error: 'cooldown': min (10 s) is more than max (2 s) (at $.tare.cooldown)"));
}

static void wrong_values_under_tare_are_told(void **state)
{
    (void)state;
    expect(
        "{" RIGHT ", \"tare\": {\n\"order\": \"block\",\n\"log_cap\": \"1 gig\",\n\"timing\": [],\n"
        "\"limits\": {\"memory\": -1, \"cpu_time\": 31622401},\n"
        "\"environment\": {\"A-B\": \"x\", \"C\": 1, \"\": \"y\"}}}",
        LINES("s:2:10: error: 'order': expected \"file\", \"blocks\" or \"longest-first\", not "
              "\"block\"; did you mean "
              "'blocks'? "
              "(at $.tare.order)",
              "s:3:12: error: 'log_cap': expected bytes or a size such as \"500 MB\" or \"1GiB\", "
              "at most 2^53 bytes, "
              "not \"1 gig\" (at $.tare.log_cap)",
              "s:6:17: error: 'environment': 'A-B' is no name of an environment variable (letters, "
              "digits and _) "
              "(at $.tare.environment.A-B)",
              "s:6:34: error: 'C': expected a string, not 1 (at $.tare.environment.C)",
              "s:6:37: error: 'environment': '' is no name of an environment variable (letters, "
              "digits and _) "
              "(at $.tare.environment[\"\"])",
              "s:4:11: error: 'timing': expected an object, not an empty list (at $.tare.timing)",
              "s:5:38: error: 'cpu_time': expected seconds or a duration such as \"90s\", \"10m\" "
              "or \"2h\", at most "
              "366 days, not 31622401 (at $.tare.limits.cpu_time)",
              "s:5:22: error: 'memory': expected bytes or a size such as \"500 MB\" or \"1GiB\", "
              "at most 2^53 bytes, "
              "not -1 (at $.tare.limits.memory)"));
}

static void long_values_are_shown_shortened_at_a_whole_character(void **state)
{
    (void)state;
    /* 58 letters, then characters of two bytes: with the opening quote the cut at 60 bytes would
     * fall into the middle of one: 1 + 58 + 1. */
    expect("{\"governor\": [], " RIGHT ", \"mode\": "
           "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\u00e4\u00e4\u00e4\"}",
           LINES("s:1:72: error: 'mode': expected \"mutation\", \"nonparallel\", \"default\", "
                 "\"grid\", \"list\", "
                 "\"parallel\" or \"mixed\", not "
                 "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa... (at $.mode)",
                 "s:1:14: error: 'governor': expected a non-empty string, not an empty list (at "
                 "$.governor)"));
}

static void what_is_right_is_read_beside_what_is_wrong(void **state)
{
    (void)state;
    static const char text[] =
        "{\"seed\": \"x\", \"max_retries\": 9, \"experiments\": [{\"repo\": \"r\"}, 3,"
        "{\"repo\": \"q\", \"model\": \"m\", \"runs_per_config\": 4}]}";
    AUTO(problems_fini) struct problems problems = {0};
    AUTO(settings_fini) struct settings settings;
    assert_false(settings_parse("s", text, strlen(text), &settings, &problems));
    assert_int_equal(problems.errors, 3);
    assert_false(settings.has_seed);
    assert_int_equal(settings.entry_count, 2);
    assert_string_equal(settings.entries[0].foreground.model, "");
    assert_int_equal(settings.entries[1].index, 2);
    assert_int_equal(settings.entries[1].runs, 4);
    assert_int_equal(settings.entries[1].max_retries, 9);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_json_is_reported_with_its_place),
        cmocka_unit_test(a_key_that_is_ignored_may_be_repeated),
        cmocka_unit_test(
            a_key_that_counts_and_is_repeated_is_told_with_both_places_beside_all_other_mistakes),
        cmocka_unit_test(a_file_that_is_not_there_is_reported),
        cmocka_unit_test(hostile_depth_is_an_error_like_any_other),
        cmocka_unit_test(the_root_is_an_object_with_experiments),
        cmocka_unit_test(every_wrong_type_at_the_top_is_told_at_once),
        cmocka_unit_test(keys_at_the_wrong_level_are_pointed_home),
        cmocka_unit_test(a_key_that_looks_misspelt_is_a_warning),
        cmocka_unit_test(the_key_tare_makes_no_key_outside_it_an_error),
        cmocka_unit_test(an_entry_of_misspelt_keys_is_no_comment),
        cmocka_unit_test(an_entry_that_only_might_be_a_comment_is_told),
        cmocka_unit_test(what_was_meant_by_a_missing_key_is_asked),
        cmocka_unit_test(an_entry_names_a_repository_and_a_model),
        cmocka_unit_test(in_a_mixed_file_every_entry_says_its_mode),
        cmocka_unit_test(wrong_values_in_an_entry_are_told),
        cmocka_unit_test(hyperparameters_are_plain_values),
        cmocka_unit_test(grids_lists_and_seeds_are_checked),
        cmocka_unit_test(what_to_mutate_is_checked),
        cmocka_unit_test(what_has_no_effect_is_a_warning),
        cmocka_unit_test(a_parallel_entry_needs_both_sides),
        cmocka_unit_test(the_sides_of_a_parallel_entry_are_checked),
        cmocka_unit_test(under_tare_every_unknown_key_is_an_error),
        cmocka_unit_test(wrong_values_of_the_guard_are_told),
        cmocka_unit_test(wrong_values_under_tare_are_told),
        cmocka_unit_test(long_values_are_shown_shortened_at_a_whole_character),
        cmocka_unit_test(what_is_right_is_read_beside_what_is_wrong),
    };
    return cmocka_run_group_tests_name("settings problems", tests, NULL, NULL);
}
