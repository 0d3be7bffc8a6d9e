/* What a command line means. The expectations of the study's flags were taken from Python 3.11's
 * argparse with the same options: the study's command lines must mean the same here. */
#include "cli/options.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/text.h"

#include <string.h>

static const char *const layers[] = {"auto", "sweep", NULL};

static const struct cli_option rows[] = {
    {.short_name = "-ec", .long_name = "--experiment-config", .argument = "FILE", .type = CLI_FILE},
    {.short_name = "-r", .long_name = "--repo", .argument = "REPO", .type = CLI_TEXT},
    {.short_name = "-m", .long_name = "--model", .argument = "MODEL", .type = CLI_TEXT},
    {.short_name = "-mt", .long_name = "--mutate", .argument = "NAMES", .type = CLI_TEXT},
    {.short_name = "-n", .long_name = "--runs", .argument = "RUNS", .type = CLI_INT},
    {.short_name = "-mr",
     .long_name = "--max-retries",
     .argument = "N",
     .type = CLI_INT,
     .low = 0,
     .high = 1000},
    {.short_name = "-c", .long_name = "--config", .argument = "FILE", .type = CLI_FILE},
    {.short_name = "-s", .long_name = "--seed", .argument = "SEED", .type = CLI_INT},
    {.short_name = "-l", .long_name = "--list"},
    {.short_name = "-S", .long_name = "--strict"},
    {.long_name = "--resume", .argument = "DIR", .type = CLI_FOLDER},
    {.short_name = "-q", .long_name = "--quiet"},
    {.long_name = "--containment",
     .argument = "LAYER",
     .type = CLI_CHOICE,
     .choices = layers,
     .default_text = "auto"},
    {.long_name = "--grace",
     .argument = "TIME",
     .type = CLI_DURATION,
     .low = 0,
     .high = 3600,
     .default_text = "10"},
    {.short_name = "-k", .long_name = "--check", .type = CLI_FLAG, .choices = layers},
};

enum { ROWS = sizeof rows / sizeof *rows, CONTAINMENT = 12, GRACE = 13, WORDS_MAX = 16 };

static const struct cli_command study = {.name = "study",
                                         .options = rows,
                                         .option_count = ROWS,
                                         .operand_max = 1,
                                         .operand_name = "SETTINGS.json"};

static const struct cli_command wrapper = {.name = "wrapper",
                                           .options = rows,
                                           .option_count = ROWS,
                                           .operand_max = SIZE_MAX,
                                           .stops_at_operand = true};

const struct cli_command *const cli_commands[] = {&study, NULL};

/* The words of line, split at blanks, in place. */
static size_t split(char *line, char *words[WORDS_MAX])
{
    size_t count = 0;
    for (char *word = strtok(line, " "); word && count < WORDS_MAX; word = strtok(NULL, " "))
        words[count++] = word;
    return count;
}

/* What was understood, as "--runs=5 --list file.json", or "error: ...", or "help". */
static char *understood(const struct cli_command *command, const char *line)
{
    AUTO_TEXT struct text copy = {0};
    char *words[WORDS_MAX];
    struct cli_call call;
    struct err err = {0};
    struct text out = {0};
    bool help;
    text_add(&copy, line);
    text_add(&copy, "");
    size_t count = copy.data ? split(copy.data, words) : 0;
    bool ok = options_parse(command, words, count, &call, &help, &err);
    if (!ok)
        text_addf(&out, "error: %s", err.text);
    else if (help)
        text_add(&out, "help");
    for (size_t i = 0; ok && !help && i < ROWS; i++) {
        if (!call.values[i].given)
            continue;
        text_addf(&out, "%s%s", out.length ? " " : "", rows[i].long_name);
        if (rows[i].type == CLI_INT)
            text_addf(&out, "=%lld", (long long)call.values[i].integer);
        else if (rows[i].type == CLI_DURATION)
            text_addf(&out, "=%gs", call.values[i].seconds);
        else if (rows[i].type != CLI_FLAG || call.values[i].text)
            text_addf(&out, "=%s", call.values[i].text);
    }
    for (size_t i = 0; ok && !help && i < call.operands.count; i++)
        text_addf(&out, "%s[%s]", out.length ? " " : "", call.operands.items[i]);
    options_fini(&call);
    return text_take(&out);
}

struct expectation {
    const char *line, *meaning;
};

static void assert_all(const struct cli_command *command, const struct expectation *all,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *meaning = understood(command, all[i].line);
        if (strcmp(meaning, all[i].meaning) != 0)
            print_message("# command line: %s\n", all[i].line);
        assert_string_equal(meaning, all[i].meaning);
    }
}

#define ASSERT_ALL(command, all) assert_all(command, all, sizeof(all) / sizeof *(all))

static void study_flags_mean_what_they_meant(void **state)
{
    (void)state;
    static const struct expectation all[] = {
        {"-ec a.json", "--experiment-config=a.json"},
        {"-ec=a.json", "--experiment-config=a.json"},
        {"--experiment-config a.json", "--experiment-config=a.json"},
        {"--experiment-config=a.json", "--experiment-config=a.json"},
        {"-n 5", "--runs=5"},
        {"-n5", "--runs=5"},
        {"-n=5", "--runs=5"},
        {"-mr 3", "--max-retries=3"},
        {"-mr=3", "--max-retries=3"},
        {"-mt a,b", "--mutate=a,b"},
        {"-mt=all", "--mutate=all"},
        {"-m x -mt all", "--model=x --mutate=all"},
        {"f.json -n 3", "--runs=3 [f.json]"},
        {"-n 3 f.json", "--runs=3 [f.json]"},
        {"-ec a -ec b", "--experiment-config=b"},
    };
    ASSERT_ALL(&study, all);
}

static void a_flag_with_choices_takes_none_or_one_of_them(void **state)
{
    (void)state;
    static const struct expectation all[] = {
        {"--check", "--check"},
        {"--check auto", "--check [auto]"},
        {"--check=sweep f.json", "--check=sweep [f.json]"},
        {"--che=sweep", "--check=sweep"},
        {"-lk f.json", "--list --check [f.json]"},
        {"--check=none", "error: --check: 'none' is none of auto, sweep"},
        {"--list=yes", "error: --list takes no value, but got 'yes'"},
    };
    ASSERT_ALL(&study, all);
}

/* argparse takes "-mr3" as -m with "r3": a one-letter option glued to its value goes before a
 * longer one. */
static void glued_values_follow_argparse(void **state)
{
    (void)state;
    static const struct expectation all[] = {
        {"-mr3", "--model=r3"},
        {"-mta", "--model=ta"},
        {"-lS", "--list --strict"},
        {"-lSq", "--list --strict --quiet"},
        {"-lSn5", "--runs=5 --list --strict"},
        {"-lx", "error: -l takes no value, but got 'x'"},
        {"-lS5", "error: -S takes no value, but got '5'"},
        {"-q=1", "error: -q takes no value, but got '1'"},
        {"--quiet=1", "error: --quiet takes no value, but got '1'"},
        {"-l=", "error: -l takes no value, but got ''"},
    };
    ASSERT_ALL(&study, all);
}

static void beginnings_of_options_are_enough_while_they_are_unambiguous(void **state)
{
    (void)state;
    static const struct expectation all[] = {
        {"--exp a.json", "--experiment-config=a.json"},
        {"--exp=a.json", "--experiment-config=a.json"},
        {"-e a.json", "--experiment-config=a.json"},
        {"--res x", "--resume=x"},
        {"--rep x", "--repo=x"},
        {"--conf x", "--config=x"},
        {"--cont sweep", "--containment=sweep"},
        {"--mo x", "--model=x"},
        {"--re x", "error: ambiguous option: --re could match --repo, --resume"},
        {"--con x", "error: ambiguous option: --con could match --config, --containment"},
        {"--m x", "error: ambiguous option: --m could match --model, --mutate, --max-retries"},
    };
    ASSERT_ALL(&study, all);
}

static void negative_numbers_and_a_lone_dash_are_values(void **state)
{
    (void)state;
    static const struct expectation all[] = {
        {"-s -5", "--seed=-5"},
        {"-s=-5", "--seed=-5"},
        {"-m -1.5", "--model=-1.5"},
        {"-m -.5", "--model=-.5"},
        {"-m -", "--model=-"},
        {"-", "[-]"},
        {"-- -n", "[-n]"},
        {"-n 3 -- -x", "--runs=3 [-x]"},
        {"-m -1.", "error: -m needs a value: MODEL"},
    };
    ASSERT_ALL(&study, all);
}

static void mistakes_name_the_option_and_the_value(void **state)
{
    (void)state;
    static const struct expectation all[] = {
        {"-n", "error: -n needs a value: RUNS"},
        {"-n --list", "error: -n needs a value: RUNS"},
        {"-s -x", "error: -s needs a value: SEED"},
        {"--seed=", "error: --seed: '' is not an integer"},
        {"-s 1.5", "error: -s: '1.5' is not an integer"},
        {"-n5x", "error: -n: '5x' is not an integer"},
        {"-n 99999999999999999999", "error: -n: '99999999999999999999' is not an integer"},
        {"-mr 1001", "error: -mr: 1001 is not within 0 .. 1000"},
        {"-mr -1", "error: -mr: -1 is not within 0 .. 1000"},
        {"--cont foo", "error: --containment: 'foo' is none of auto, sweep"},
        {"--see 5x", "error: --seed: '5x' is not an integer"},
        {"-z", "error: unknown option -z"},
        {"--bogus", "error: unknown option --bogus"},
        {"--modle x", "error: unknown option --modle; did you mean '--model'?"},
        {"a b", "error: unexpected argument 'b'"},
    };
    ASSERT_ALL(&study, all);
}

static void help_counts_before_later_mistakes_and_not_before_earlier_ones(void **state)
{
    (void)state;
    static const struct expectation all[] = {
        {"-h", "help"},         {"--help", "help"}, {"--hel", "help"},
        {"-h --bogus", "help"}, {"-qh", "help"},    {"--bogus -h", "error: unknown option --bogus"},
    };
    ASSERT_ALL(&study, all);
}

static void a_wrapped_command_keeps_its_own_options(void **state)
{
    (void)state;
    static const struct expectation all[] = {
        {"-q python -n 5 --list", "--quiet [python] [-n] [5] [--list]"},
        {"-- -q x", "[-q] [x]"},
        {"-q -- python -- -h", "--quiet [python] [--] [-h]"},
        {"python -- x", "[python] [--] [x]"},
        {"-n 2 ./train.sh -h", "--runs=2 [./train.sh] [-h]"},
    };
    ASSERT_ALL(&wrapper, all);
}

static void defaults_are_parsed_like_values_but_not_given(void **state)
{
    (void)state;
    struct cli_call call;
    struct err err = {0};
    bool help;
    assert_true(options_parse(&study, NULL, 0, &call, &help, &err));
    assert_false(help);
    assert_false(call.values[GRACE].given);
    assert_true(call.values[GRACE].seconds == 10.0);
    assert_false(call.values[CONTAINMENT].given);
    assert_string_equal(call.values[CONTAINMENT].text, "auto");
    assert_null(call.values[0].text);
    options_fini(&call);
}

static void durations_take_units_and_bounds(void **state)
{
    (void)state;
    static const struct expectation all[] = {
        {"--grace 1.5s", "--grace=1.5s"},
        {"--grace 2m", "--grace=120s"},
        {"--grace 500ms", "--grace=0.5s"},
        {"--grace 2h", "error: --grace: 2h is not within 0 .. 3600 seconds"},
    };
    ASSERT_ALL(&study, all);
}

static void a_missing_operand_is_named(void **state)
{
    (void)state;
    static const struct cli_command needs = {
        .name = "needs", .operand_min = 1, .operand_max = 1, .operand_name = "DIR"};
    struct cli_call call;
    struct err err = {0};
    bool help;
    assert_false(options_parse(&needs, NULL, 0, &call, &help, &err));
    assert_string_equal(err.text, "DIR is missing");
    options_fini(&call);
}

static void a_row_that_repeats_keeps_every_value_in_order(void **state)
{
    (void)state;
    static const struct cli_option again[] = {
        {.short_name = "-w",
         .long_name = "--what-if",
         .argument = "CONF",
         .type = CLI_TEXT,
         .repeats = true},
        {.long_name = "--cap", .argument = "SIZE", .type = CLI_TEXT}};
    static const struct cli_command command = {
        .name = "again", .options = again, .option_count = 2};
    char line[] = "--what-if a:1 --cap 1 -w b:2 --what-if= --cap=2", *words[WORDS_MAX];
    size_t count = split(line, words);
    struct cli_call call;
    bool help;
    assert_true(options_parse(&command, words, count, &call, &help, NULL));
    assert_int_equal(call.values[0].all.count, 3);
    assert_string_equal(call.values[0].all.items[0], "a:1");
    assert_string_equal(call.values[0].all.items[1], "b:2");
    assert_string_equal(call.values[0].all.items[2], "");
    assert_int_equal(call.values[1].all.count, 0);
    assert_string_equal(call.values[1].text, "2"); /* of the others the last one counts */
    options_fini(&call);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(study_flags_mean_what_they_meant),
        cmocka_unit_test(a_flag_with_choices_takes_none_or_one_of_them),
        cmocka_unit_test(a_row_that_repeats_keeps_every_value_in_order),
        cmocka_unit_test(glued_values_follow_argparse),
        cmocka_unit_test(beginnings_of_options_are_enough_while_they_are_unambiguous),
        cmocka_unit_test(negative_numbers_and_a_lone_dash_are_values),
        cmocka_unit_test(mistakes_name_the_option_and_the_value),
        cmocka_unit_test(help_counts_before_later_mistakes_and_not_before_earlier_ones),
        cmocka_unit_test(a_wrapped_command_keeps_its_own_options),
        cmocka_unit_test(defaults_are_parsed_like_values_but_not_given),
        cmocka_unit_test(durations_take_units_and_bounds),
        cmocka_unit_test(a_missing_operand_is_named),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
