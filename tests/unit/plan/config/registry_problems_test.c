#include "expect.h"

#include "base/cleanup.h"
#include "plan/config/registry.h"

/* A repository that is right but for what stands behind its models, in line 2; a hyperparameter
 * alone in line 2. */
#define REPO(rest)                                                                                 \
    "{\"models\": {\"r\": {\"path\": \"p\", \"train_script\": \"t\", \"models\": [\"m\"]" rest "}" \
    "}"                                                                                            \
    "}"
#define PARAM(rest) REPO(", \"supported_hyperparams\": {\"x\":\n{" rest "}}")
#define AT_X        "$.models.r.supported_hyperparams.x"

static void the_root_is_an_object_with_models(void **state)
{
    (void)state;
    expect_registry("\"x\"", LINES("r:1:3: error: '[' or '{' expected near '\"x\"'"));
    expect_registry(
        "[]", LINES("r:1:1: error: expected an object (the registry), not an empty list (at $)"));
    expect_registry("{}", LINES("r:1:1: error: 'models' is missing: the repositories (at $)"));
    expect_registry(
        "{\"model\": {}}",
        LINES("r:1:2: warning: unknown key 'model'; did you mean 'models'? (at $.model)",
              "r:1:1: error: 'models' is missing: the repositories (at $)"));
    expect_registry("{\"models\": 3}",
                    LINES("r:1:12: error: 'models': expected an object, not 3 (at $.models)"));
    expect_registry("{\"models\": {}}",
                    LINES("r:1:12: error: 'models': there is no repository in it (at $.models)"));
    expect_registry(
        "{\"models\": {\"a\": 3}}",
        LINES("r:1:18: error: expected an object (a repository), not 3 (at $.models.a)"));
}

static void what_is_missing_is_told(void **state)
{
    (void)state;
    expect_registry(
        "{\"models\": {\"a b\":\n{}}}",
        LINES("r:2:1: error: 'path' is missing (at $.models[\"a b\"])",
              "r:2:1: error: 'train_script' is missing (at $.models[\"a b\"])",
              "r:2:1: error: 'models' is missing: a list of names (at $.models[\"a b\"])"));
}

static void wrong_types_in_a_repository_are_told_at_once(void **state)
{
    (void)state;
    expect_registry(
        "{\"models\": {\"r\": {\n\"path\": 1,\n\"train_script\": [],\n\"models\": "
        "\"m\",\n\"model_flag\": 2,\n"
        "\"python\": \"\",\n\"command_prefix\": \"nice\",\n\"path_prepend\": 4,\n\"env\": {\"1A\": "
        "\"x\"},\n"
        "\"exit_code\": \"ignore\",\n\"required_args\": {\"d\": 5},\n\"supported_hyperparams\": "
        "[],\n"
        "\"performance_metrics\": {\"log_patterns\": {\"a\": 1}}}}}",
        LINES(
            "r:2:9: error: 'path': expected a non-empty string, not 1 (at $.models.r.path)",
            "r:8:17: error: 'path_prepend': expected a string or a list of strings, not 4 (at "
            "$.models.r.path_prepend)",
            "r:10:14: error: 'exit_code': expected \"required\" or \"ignored\", not \"ignore\"; "
            "did you mean "
            "'ignored'? "
            "(at $.models.r.exit_code)",
            "r:3:17: error: 'train_script': expected a non-empty string, not an empty list "
            "(at $.models.r.train_script)",
            "r:5:15: error: 'model_flag': expected a non-empty string, not 2 (at "
            "$.models.r.model_flag)",
            "r:6:11: error: 'python': expected a non-empty string, not \"\" (at $.models.r.python)",
            "r:7:19: error: 'command_prefix': expected a list of strings, not \"nice\" (at "
            "$.models.r.command_prefix)",
            "r:9:9: error: 'env': '1A' is no name of an environment variable (letters, digits and "
            "_) "
            "(at $.models.r.env.1A)",
            "r:4:11: error: 'models': expected a list of 1 to 10000 names, not \"m\" (at "
            "$.models.r.models)",
            "r:12:26: error: 'supported_hyperparams': expected an object, not an empty list "
            "(at $.models.r.supported_hyperparams)",
            "r:11:24: error: 'd': expected a string or a list of strings, not 5 (at "
            "$.models.r.required_args.d)",
            "r:13:47: error: 'a': expected a regular expression, not 1 "
            "(at $.models.r.performance_metrics.log_patterns.a)"));
}

static void names_of_a_metric_are_checked(void **state)
{
    (void)state;
    expect_registry(
        REPO(", \"performance_metrics\": {\"log_patterns\": {\n\"a\": \"named: val_loss, "
             "eval/Acc@1\",\n\"b\": "
             "\"named:\",\n\"c\": \"named: loss (train)\",\n\"d\": \"named: "
             "a,b,c,d,e,f,g,h,i\",\n\"e\": "
             "\"named: 1\"}}"),
        LINES("r:3:6: error: 'b': expected names after 'named:', as 'named: val_loss, eval_loss' "
              "(at $.models.r.performance_metrics.log_patterns.b)",
              "r:4:6: error: 'c': expected names after 'named:', as 'named: val_loss, eval_loss' "
              "(at $.models.r.performance_metrics.log_patterns.c)",
              "r:5:6: error: 'd': more than 8 names after 'named:' "
              "(at $.models.r.performance_metrics.log_patterns.d)",
              "r:6:6: error: 'e': expected names after 'named:', as 'named: val_loss, eval_loss' "
              "(at $.models.r.performance_metrics.log_patterns.e)"));
}

static void unknown_keys_are_warnings_but_notes_are_not(void **state)
{
    (void)state;
    expect_registry(
        REPO(",\n\"pyton\": \"x\",\n\"zebra\": 1,\n\"note\": \"n\",\n\"_x\": "
             "1,\n\"performance_metrics\":\n"
             "{\"log_pattern\": {}}"),
        LINES("r:2:1: warning: unknown key 'pyton'; did you mean 'python'? (at $.models.r.pyton)",
              "r:3:1: warning: unknown key 'zebra' (at $.models.r.zebra)",
              "r:7:2: warning: unknown key 'log_pattern'; did you mean 'log_patterns'? "
              "(at $.models.r.performance_metrics.log_pattern)"));
}

static void names_are_plain(void **state)
{
    (void)state;
    expect_registry(
        "{\"models\": {\n\"a\\u0001\": {\"path\": \"p\", \"train_script\": \"t\",\n"
        "\"models\": [\"a/b\", \"\", \"c\",\n\"c\", 7]}, \"\": 3}}",
        LINES(
            "r:2:1: error: the repository's name holds a control character (at "
            "$.models[\"a\\u0001\"])",
            "r:3:19: error: the model's name is empty (at $.models[\"a\\u0001\"].models[1])",
            "r:4:1: error: 'models': duplicate value 'c' (at $.models[\"a\\u0001\"].models[3])",
            "r:4:6: error: 'models': expected a name, not 7 (at $.models[\"a\\u0001\"].models[4])",
            "r:4:11: error: the repository's name is empty (at $.models[\"\"])",
            "r:4:15: error: expected an object (a repository), not 3 (at $.models[\"\"])"));
}

static void every_mistake_in_marks_is_told(void **state)
{
    (void)state;
    expect_registry(
        REPO(",\n\"marks\": [\"epoch\"]"),
        LINES("r:2:10: error: 'marks': expected an object, not a list of 1 (at $.models.r.marks)"));
    expect_registry(
        REPO(",\n\"marks\": {\n\"an epoch\": \"x\",\n\"a\": 3,\n\"b\": \"\",\n\"c\": {},\n\"d\": "
             "{\"strat\": \"x\"},\n"
             "\"e\": {\"start\": 1, \"end\": []},\n\"fine\": \"x\"}"),
        LINES("r:3:1: error: 'an epoch' is no name of a mark: expected 1 to 64 letters, digits, "
              "'_', '-' and '.', the "
              "first a letter, a digit or '_' (at $.models.r.marks[\"an epoch\"])",
              "r:4:6: error: 'a': expected a regular expression or an object with 'start' and "
              "'end', not 3 "
              "(at $.models.r.marks.a)",
              "r:5:6: error: 'b': expected a regular expression, not \"\" (at $.models.r.marks.b)",
              "r:6:6: error: 'c': neither 'start' nor 'end': at least one of them is needed (at "
              "$.models.r.marks.c)",
              "r:7:7: warning: unknown key 'strat'; did you mean 'start'? (at "
              "$.models.r.marks.d.strat)",
              "r:7:6: error: 'd': neither 'start' nor 'end': at least one of them is needed (at "
              "$.models.r.marks.d)",
              "r:8:16: error: 'start': expected a regular expression, not 1 (at "
              "$.models.r.marks.e.start)",
              "r:8:26: error: 'end': expected a regular expression, not an empty list (at "
              "$.models.r.marks.e.end)"));
    expect_registry(
        REPO(",\n\"mark\": {\"epoch\": \"x\"}"),
        LINES("r:2:1: warning: unknown key 'mark'; did you mean 'marks'? (at $.models.r.mark)"));
}

static void interpreters_exclude_each_other(void **state)
{
    (void)state;
    expect_registry(REPO(",\n\"python\": \"a\",\n\"venv\": \"b\""),
                    LINES("r:3:1: error: 'python' and 'venv' exclude each other: at most one of "
                          "python, venv and conda_env "
                          "(at $.models.r.venv)"));
    expect_registry(REPO(",\n\"conda_env\": \"a\",\n\"venv\": \"b\""),
                    LINES("r:2:1: error: 'venv' and 'conda_env' exclude each other: at most one of "
                          "python, venv and conda_env "
                          "(at $.models.r.conda_env)"));
}

static void bad_patterns_are_told_with_the_character(void **state)
{
    (void)state;
    AUTO(problems_fini) struct problems problems = {0};
    AUTO(registry_fini) struct registry registry;
    static const char text[] =
        REPO(",\n\"success\": [\"fine\", \"ab(c\"],\n\"errors\": \"*x\",\n"
             "\"performance_metrics\": {\"log_patterns\": {\"a\": \"[z-a]\"}}");
    assert_false(registry_parse("r", text, strlen(text), &registry, &problems));
    assert_int_equal(problems.count, 3);
    static const struct {
        size_t line, column;
        const char *path, *start, *end;
    } rows[] = {
        /* pcre2test: "missing closing parenthesis" at offset 4, "quantifier does not follow a
         * repeatable item" at 0, "range out of order in character class" at 3; characters count
         * from 1 */
        {2, 21, "$.models.r.success[1]",
         "'success': bad regular expression: missing closing parenthesis", "at character 5"},
        {3, 11, "$.models.r.errors",
         "'errors': bad regular expression: quantifier does not follow a repeatable item", NULL},
        {4, 47, "$.models.r.performance_metrics.log_patterns.a",
         "'a': bad regular expression: range out of order in character class", NULL},
    };
    for (size_t i = 0; i < 3; i++) {
        const struct problem *problem = &problems.items[i];
        assert_int_equal(problem->place.line, rows[i].line);
        assert_int_equal(problem->place.column, rows[i].column);
        assert_string_equal(problem->path, rows[i].path);
        assert_memory_equal(problem->text, rows[i].start, strlen(rows[i].start));
        assert_non_null(strstr(problem->text, rows[i].end ? rows[i].end : "at character "));
    }
    assert_int_equal(registry.repos[0].success.count, 1);
    assert_int_equal(registry.repos[0].metric_count, 0);
}

static void a_hyperparameter_is_an_object_with_a_type(void **state)
{
    (void)state;
    expect_registry(REPO(", \"supported_hyperparams\": {\n\"x\": 3, \"all\":\n{\"type\": \"int\", "
                         "\"default\": 1, \"range\": "
                         "[1, 2]}}"),
                    LINES("r:2:6: error: expected an object (a hyperparameter), not 3 (at " AT_X
                          ")",
                          "r:2:9: error: a hyperparameter cannot be called 'all': \"mutate\": "
                          "\"all\" means every one "
                          "(at $.models.r.supported_hyperparams.all)"));
    expect_registry(PARAM("\"default\": 1"),
                    LINES("r:2:1: error: 'type' is missing: \"int\", \"float\", \"choice\", "
                          "\"bool\" or \"text\" (at " AT_X ")"));
    expect_registry(PARAM("\"type\": \"flaot\", \"default\": 1, \"range\": [1, 2]"),
                    LINES("r:2:10: error: 'type': expected \"int\", \"float\", \"choice\", "
                          "\"bool\" or \"text\", not "
                          "\"flaot\"; did you mean 'float'? "
                          "(at " AT_X ".type)"));
    expect_registry(
        PARAM("\"type\": \"int\", \"default\": 1, \"range\": [1, 2], \"flags\": \"-x\""),
        LINES("r:2:48: warning: unknown key 'flags'; did you mean 'flag'? (at " AT_X ".flags)"));
}

static void the_default_has_the_type(void **state)
{
    (void)state;
    expect_registry(PARAM("\"type\": \"int\", \"range\": null, \"default\": null"), LINES(NULL));
    expect_registry(PARAM("\"type\": \"text\", \"default\": \"a\""), LINES(NULL));
    expect_registry(
        PARAM(
            "\"type\": \"bool\", \"flag\": \"--x\", \"off_flag\": \"--no-x\", \"default\": false"),
        LINES(NULL));
    expect_registry(PARAM("\"type\": \"bool\", \"default\": 1"),
                    LINES("r:2:29: error: 'default': expected true, false or null (the type is "
                          "bool), not 1 (at " AT_X ".default)"));
    expect_registry(
        PARAM("\"type\": \"text\", \"default\": 1, \"off_flag\": \"-x\""),
        LINES("r:2:32: warning: 'off_flag' is not used here: the type is not 'bool' (at " AT_X
              ".off_flag)",
              "r:2:29: error: 'default': expected a string or null (the type is text), not 1 "
              "(at " AT_X ".default)"));
    expect_registry(PARAM("\"type\": \"int\", \"range\": [1, 2]"),
                    LINES("r:2:1: error: 'default' is missing (at " AT_X ")"));
    expect_registry(
        PARAM("\"type\": \"int\", \"range\": [1, 2], \"default\": 1.5"),
        LINES("r:2:45: error: 'default': expected an integer (the type is int), not 1.5 (at " AT_X
              ".default)"));
    expect_registry(
        PARAM("\"type\": \"float\", \"range\": [1, 2], \"default\": \"1\""),
        LINES("r:2:47: error: 'default': expected a number (the type is float), not \"1\" (at " AT_X
              ".default)"));
    expect_registry(PARAM("\"type\": \"choice\", \"choices\": [1], \"default\": {}"),
                    LINES("r:2:47: error: 'default': expected a number, a string, true, false or "
                          "null, not an empty object "
                          "(at " AT_X ".default)"));
    expect_registry(
        PARAM("\"type\": \"choice\", \"choices\": [\"adam\", \"sgd\"], \"default\": \"adan\""),
        LINES("r:2:59: warning: 'default': 'adan' is none of the choices; did you mean 'adam'? "
              "(at " AT_X ".default)"));
}

static void ranges_are_checked(void **state)
{
    (void)state;
#define RANGE(type, range, rest) \
    PARAM("\"default\": 3, \"type\": \"" type "\", \"range\": " range rest)
    expect_registry(PARAM("\"default\": 3, \"type\": \"int\""),
                    LINES("r:2:1: error: 'range' is missing: [low, high] (at " AT_X ")"));
    expect_registry(
        RANGE("int", "3", ""),
        LINES("r:2:40: error: 'range': expected [low, high], not 3 (at " AT_X ".range)"));
    expect_registry(
        RANGE("int", "[1, 2, 3]", ""),
        LINES("r:2:40: error: 'range': expected [low, high], not a list of 3 (at " AT_X ".range)"));
    expect_registry(RANGE("int", "[0.5, 2]", ""),
                    LINES("r:2:41: error: 'range': expected an integer (the type is int), not "
                          "0.5 (at " AT_X ".range[0])"));
    expect_registry(RANGE("int", "[1, 1e300]", ""),
                    LINES("r:2:44: error: 'range': expected an integer (the type is int), not "
                          "1e300 (at " AT_X ".range[1])"));
    /* 2^53 + 1: as a double it would be 2^53, which is allowed. */
    expect_registry(RANGE("int", "[1, 9007199254740992]", ""), LINES());
    expect_registry(RANGE("int", "[1, 9007199254740993]", ""),
                    LINES("r:2:44: error: 'range': expected an integer from -9007199254740992 to "
                          "9007199254740992 "
                          "(\"choices\" take larger ones), not 9007199254740993 (at " AT_X
                          ".range[1])"));
    expect_registry(
        RANGE("float", "[\"a\", null]", ""),
        LINES("r:2:43: error: 'range': expected a number, not \"a\" (at " AT_X ".range[0])",
              "r:2:48: error: 'range': expected a number, not null (at " AT_X ".range[1])"));
    expect_registry(
        RANGE("int", "[15, 5]", ""),
        LINES("r:2:40: error: 'range': expected [low, high], but 15.0 is more than 5.0 (at " AT_X
              ".range)"));
    expect_registry(RANGE("float", "[0, 1]", ", \"distribution\": \"log_uniform\""),
                    LINES("r:2:42: error: 'range': log_uniform needs a range above 0, but it "
                          "begins at 0.0; \"zero_probability\" "
                          "draws zeros (at " AT_X ".range)"));
    expect_registry(RANGE("float", "[-2.5, 1]", ", \"distribution\": \"log_uniform\""),
                    LINES("r:2:42: error: 'range': log_uniform needs a range above 0, but it "
                          "begins at -2.5 (at " AT_X ".range)"));
    expect_registry(RANGE("float", "[1, 1]", ""), LINES());
}

static void distributions_are_checked(void **state)
{
    (void)state;
#define NORMAL(rest) RANGE("int", "[1, 5]", ", \"distribution\": \"normal\",\n" rest)
    expect_registry(
        RANGE("int", "[1, 5]", ",\n\"distribution\": \"log-uniform\",\n\"zero_probability\": 1.5"),
        LINES("r:3:17: error: 'distribution': expected \"uniform\", \"log_uniform\" or \"normal\", "
              "not \"log-uniform\"; "
              "did you mean 'log_uniform'? (at " AT_X ".distribution)",
              "r:4:21: error: 'zero_probability': expected a number from 0.0 to 1.0, not 1.5 "
              "(at " AT_X ".zero_probability)"));
    expect_registry(
        NORMAL("\"mean\": 9"),
        LINES("r:3:9: error: 'mean': expected a number within the range (at " AT_X ".mean)"));
    expect_registry(NORMAL("\"deviation\": 0"),
                    LINES("r:3:14: error: 'deviation': expected a number above 0, not 0 (at " AT_X
                          ".deviation)"));
    expect_registry(
        NORMAL("\"deviation\": 1, \"std\": 1"),
        LINES("r:3:24: error: 'std' and 'deviation' mean the same: keep one of them (at " AT_X
              ".std)"));
    expect_registry(
        RANGE("int", "[1, 5]", ",\n\"mean\": 2,\n\"choices\": [1]"),
        LINES("r:4:1: warning: 'choices' is not used here: the type is not 'choice' (at " AT_X
              ".choices)",
              "r:3:1: warning: 'mean' is not used here: the distribution is not 'normal' (at " AT_X
              ".mean)"));
}

static void what_is_in_an_object_twice_is_told_with_both_places(void **state)
{
    (void)state;
    expect_registry(
        "{\"models\": {\"a\": {\"path\": \"/tmp\", \"models\": [\"m\"], \"train_script\": \"t\",\n"
        "\"env\": {\"A\": \"1\", \"A\": \"2\"}, \"note\": 1, \"note\": 2,\n"
        "\"required_args\": {\"x\": \"-x\", \"x\": \"-y\"},\n"
        "\"supported_hyperparams\": {\"p\": 1, \"p\": {\"flag\": \"-p\", \"type\": \"int\",\n"
        " \"range\": [1, 2], \"default\": 1, \"default\": 2}},\n"
        "\"marks\": {\"epoch\": {\"start\": \"a\", \"start\": \"b\"}, \"epoch\": {\"start\": "
        "\"a\", \"start\": "
        "\"b\"}},\n"
        "\"performance_metrics\": {\"log_patterns\": {\"acc\": \"a\", \"acc\": \"b\"}},\n"
        "\"oom_steps\": [{\"scale\": {\"p\": 0.5, \"p\": 0.5}}]}, \"b\": 1, \"b\": 2}}",
        LINES(
            "r:8:58: error: 'b' is in this object twice, at 8:50 and at 8:58: keep one of them (at "
            "$.models.b)",
            "r:2:19: error: 'A' is in this object twice, at 2:9 and at 2:19: keep one of them (at "
            "$.models.a.env.A)",
            "r:4:35: error: 'p' is in this object twice, at 4:27 and at 4:35: keep one of them (at "
            "$.models.a.supported_hyperparams.p)",
            "r:5:33: error: 'default' is in this object twice, at 5:19 and at 5:33: keep one of "
            "them (at "
            "$.models.a.supported_hyperparams.p.default)",
            "r:3:30: error: 'x' is in this object twice, at 3:19 and at 3:30: keep one of them (at "
            "$.models.a.required_args.x)",
            "r:7:54: error: 'acc' is in this object twice, at 7:42 and at 7:54: keep one of them "
            "(at "
            "$.models.a.performance_metrics.log_patterns.acc)",
            "r:6:50: error: 'epoch' is in this object twice, at 6:11 and at 6:50: keep one of them "
            "(at "
            "$.models.a.marks.epoch)",
            "r:6:74: error: 'start' is in this object twice, at 6:60 and at 6:74: keep one of them "
            "(at "
            "$.models.a.marks.epoch.start)",
            "r:8:36: error: 'p' is in this object twice, at 8:26 and at 8:36: keep one of them (at "
            "$.models.a.oom_steps[0].scale.p)",
            "r:8:63: error: expected an object (a repository), not 2 (at $.models.b)"));
}

static void choices_are_checked(void **state)
{
    (void)state;
#define CHOICE(rest) PARAM("\"default\": 1, \"type\": \"choice\",\n" rest)
    expect_registry(
        CHOICE("\"flag\": \"-x\""),
        LINES("r:2:1: error: 'choices' is missing: the values to draw from (at " AT_X ")"));
    expect_registry(CHOICE("\"choices\": []"),
                    LINES("r:3:12: error: 'choices': expected a list of 1 to 1000 values, not an "
                          "empty list (at " AT_X ".choices)"));
    expect_registry(CHOICE("\"choices\": [1, \"a\", 1.0, [], null, \"a\"]"),
                    LINES("r:3:21: error: 'choices': duplicate value 1.0 (at " AT_X ".choices[2])",
                          "r:3:26: error: 'choices': expected a number, a string, true, false or "
                          "null, not an empty list (at " AT_X ".choices[3])",
                          "r:3:36: error: 'choices': duplicate value \"a\" (at " AT_X
                          ".choices[5])"));
    expect_registry(
        CHOICE("\"choices\": [20240101, 20240102, 9223372036854775806, 9223372036854775807, 1]"),
        LINES());
    expect_registry(
        CHOICE("\"choices\": [20240101, 20240102, 20240101]"),
        LINES("r:3:33: error: 'choices': duplicate value 20240101 (at " AT_X ".choices[2])",
              "r:2:13: warning: 'default': '1' is none of the choices (at " AT_X ".default)"));
    expect_registry(
        CHOICE("\"choices\": [1, 2],\n\"range\": [1, 2],\n\"zero_probability\": 0.5"),
        LINES("r:4:1: warning: 'range' is not used here: the type is 'choice' (at " AT_X ".range)",
              "r:5:1: warning: 'zero_probability' is not used here: the type is 'choice' (at " AT_X
              ".zero_probability)"));
}

static void a_metric_is_a_pattern_or_an_object_with_its_goal(void **state)
{
    (void)state;
    static const char text[] =
        "{\"models\": {\"r\": {\"path\": \"p\", \"train_script\": \"t\", \"models\": [\"m\"],"
        "\"performance_metrics\": {\"log_patterns\": {\n"
        "\"a\": {\"pattern\": \"a (\\\\S+)\", \"goal\": \"maximise\"},\n"
        "\"b\": {\"goal\": \"minimize\"},\n"
        "\"c\": {\"pattern\": \"(\"},\n"
        "\"d\": {\"pattern\": \"d\", \"gaol\": \"minimize\"}}}}}}";
#define AT_METRIC "$.models.r.performance_metrics.log_patterns."
    expect_registry(text,
                    LINES("r:2:38: error: 'goal': expected \"minimize\" or \"maximize\", not "
                          "\"maximise\"; did you mean "
                          "'maximize'? (at " AT_METRIC "a.goal)",
                          "r:3:6: error: 'b': 'pattern' is missing (at " AT_METRIC "b)",
                          "r:4:18: error: 'c': bad regular expression: missing closing parenthesis "
                          "at character 2 "
                          "(at " AT_METRIC "c.pattern)",
                          "r:5:23: warning: unknown key 'gaol'; did you mean 'goal'? (at " AT_METRIC
                          "d.gaol)"));
}

static void what_is_right_is_read_beside_what_is_wrong(void **state)
{
    (void)state;
    static const char text[] =
        "{\"models\": {\"a\": 1, \"b\": {\"path\": \"p\", \"train_script\": \"t\", \"models\": "
        "[\"m\"],"
        "\"supported_hyperparams\": {\"x\": 1, \"y\": {\"type\": \"int\", \"default\": 4,"
        "\"range\": [1, 9]}}}}}";
    AUTO(problems_fini) struct problems problems = {0};
    AUTO(registry_fini) struct registry registry;
    assert_false(registry_parse("r", text, strlen(text), &registry, &problems));
    assert_int_equal(problems.errors, 2);
    assert_int_equal(registry.repo_count, 2);
    assert_string_equal(registry.repos[0].name, "a");
    assert_string_equal(registry.repos[0].train_script, "");
    assert_string_equal(repo_param(&registry.repos[1], "x")->name, "x");
    assert_true(repo_param(&registry.repos[1], "y")->high == 9);
}

static void a_file_that_is_not_there_is_reported(void **state)
{
    (void)state;
    AUTO(problems_fini) struct problems problems = {0};
    AUTO(registry_fini) struct registry registry;
    assert_false(registry_read("/nonexistent/r.json", &registry, &problems));
    assert_int_equal(problems.errors, 1);
    assert_string_equal(problems.items[0].file, "/nonexistent/r.json");
    assert_non_null(strstr(problems.items[0].text, "No such file or directory"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_root_is_an_object_with_models),
        cmocka_unit_test(what_is_missing_is_told),
        cmocka_unit_test(wrong_types_in_a_repository_are_told_at_once),
        cmocka_unit_test(names_of_a_metric_are_checked),
        cmocka_unit_test(unknown_keys_are_warnings_but_notes_are_not),
        cmocka_unit_test(names_are_plain),
        cmocka_unit_test(every_mistake_in_marks_is_told),
        cmocka_unit_test(interpreters_exclude_each_other),
        cmocka_unit_test(bad_patterns_are_told_with_the_character),
        cmocka_unit_test(a_hyperparameter_is_an_object_with_a_type),
        cmocka_unit_test(the_default_has_the_type),
        cmocka_unit_test(ranges_are_checked),
        cmocka_unit_test(distributions_are_checked),
        cmocka_unit_test(what_is_in_an_object_twice_is_told_with_both_places),
        cmocka_unit_test(choices_are_checked),
        cmocka_unit_test(a_metric_is_a_pattern_or_an_object_with_its_goal),
        cmocka_unit_test(what_is_right_is_read_beside_what_is_wrong),
        cmocka_unit_test(a_file_that_is_not_there_is_reported),
    };
    return cmocka_run_group_tests_name("registry problems", tests, NULL, NULL);
}
