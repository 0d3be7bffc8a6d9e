/* One option of a help text: its type, choices and default (script_option.c). */
#include "plan/script_help.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static struct script_option option;

static void describe(const char *name, const char *metavar, const char *help)
{
    option = (struct script_option){.name = (char *)(uintptr_t)name};
    script_option_describe(&option, metavar, help);
}

static void forget(void)
{
    strv_fini(&option.choices);
    free(option.initial);
    free(option.help);
}

/* choices: joined by '|'; initial "-": none. */
static void assert_option(const char *metavar, const char *help, enum script_type type,
                          const char *choices, const char *initial)
{
    describe("x", metavar, help);
    AUTO_FREE char *joined = strv_join(&option.choices, "|");
    if (option.type != type || strcmp(joined, choices) != 0 ||
        strcmp(option.initial ? option.initial : "-", initial) != 0)
        fail_msg("%s, %s: %d, %s, %s", metavar, help, (int)option.type, joined, option.initial);
    forget();
}

static void metavars_say_the_type(void **state)
{
    (void)state;
    assert_option("", "", SCRIPT_SWITCH, "", "-");
    assert_option("INTEGER", "", SCRIPT_INT, "", "-");
    assert_option("int", "", SCRIPT_INT, "", "-");
    assert_option("<float>", "", SCRIPT_FLOAT, "", "-");
    assert_option("FLOAT RANGE [0<=x<=1]", "", SCRIPT_FLOAT, "", "-");
    assert_option("PATH", "", SCRIPT_TEXT, "", "-");
    assert_option("LR", "", SCRIPT_UNKNOWN, "", "-");
    assert_option("{a, 'b',\"c\",a}", "", SCRIPT_CHOICE, "a|b|c", "-");
    assert_option("[sgd|adam]", "", SCRIPT_CHOICE, "sgd|adam", "-");
    assert_option("<sgd|adam>", "", SCRIPT_CHOICE, "sgd|adam", "-");
    assert_option("{}", "", SCRIPT_UNKNOWN, "", "-");
    assert_option("{", "", SCRIPT_UNKNOWN, "", "-");
}

static void defaults_are_found_in_their_forms(void **state)
{
    (void)state;
    assert_option("X", "rate (default: 0.1)", SCRIPT_FLOAT, "", "0.1");
    assert_option("X", "rate [default: 1e-3; required]", SCRIPT_FLOAT, "", "1e-3");
    assert_option("X", "rate, default=5", SCRIPT_INT, "", "5");
    assert_option("X", "defaults to 7.", SCRIPT_INT, "", "7");
    assert_option("X", "the default is: 8,", SCRIPT_INT, "", "8");
    assert_option("X", "(default: 'a b')", SCRIPT_TEXT, "", "a b");
    assert_option("X", "(default: (0.9, 0.99))", SCRIPT_TEXT, "", "(0.9, 0.99)");
    assert_option("X", "(default: None)", SCRIPT_UNKNOWN, "", "-");
    assert_option("X", "(default: )", SCRIPT_UNKNOWN, "", "-");
    assert_option("X", "the default optimizer", SCRIPT_UNKNOWN, "", "-");
    assert_option("X", "(default: 0.1", SCRIPT_UNKNOWN, "", "-"); /* without an end */
    assert_option("X", "default default default=3", SCRIPT_INT, "", "3");
    assert_option("X", "(default: 9223372036854775808)", SCRIPT_FLOAT, "", "9223372036854775808");
}

static void a_switch_has_true_or_false(void **state)
{
    (void)state;
    assert_option("", "(default: False)", SCRIPT_SWITCH, "", "False");
    assert_option("", "(default: 0)", SCRIPT_SWITCH, "", "False");
    assert_option("", "(default: on)", SCRIPT_SWITCH, "", "True");
    option = (struct script_option){.name = (char[]){"amp"}, .off = (char[]){"--no-amp"}};
    script_option_describe(&option, "", "[default: no-amp]");
    assert_string_equal(option.initial, "False");
    forget();
}

static void absl_says_the_type_in_words(void **state)
{
    (void)state;
    assert_option("X", "rate; (a number)", SCRIPT_FLOAT, "", "-");
    assert_option("X", "size; (a positive integer)", SCRIPT_INT, "", "-");
    assert_option("X", "names; (a comma separated list)", SCRIPT_TEXT, "", "-");
    assert_option("X", "integer", SCRIPT_UNKNOWN, "", "-");
}

static void names_are_a_hint_where_nothing_else_is_said(void **state)
{
    (void)state;
    describe("Learning_Rate", "LEARNING_RATE", "");
    assert_int_equal(option.type, SCRIPT_FLOAT);
    forget();
    describe("epochs", "N", "(default: 5.5)");
    assert_int_equal(option.type, SCRIPT_INT);
    forget();
    describe("epochs", "FLOAT", "");
    assert_int_equal(option.type, SCRIPT_FLOAT);
    forget();
    assert_null(script_hint("learning"));
    assert_true(script_hint("LR")->log);
    assert_false(script_hint("dropout")->log);
}

static void several_values_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *metavar;
        bool many;
    } rows[] = {{"X [X ...]", true},      {"X Y", true},
                {"{a,b} {a,b}", true},    {"{a b}", false},
                {"INTEGER RANGE", false}, {"INTEGER [0<=x]", false},
                {"TEXT...", true},        {"X", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        describe("x", rows[i].metavar, "");
        if (option.many != rows[i].many)
            fail_msg("%s", rows[i].metavar);
        forget();
    }
}

static void the_help_is_short_and_without_the_default(void **state)
{
    (void)state;
    describe("x", "X", "learning rate (default: 0.1)  [required]");
    assert_string_equal(option.help, "learning rate");
    assert_true(option.needed);
    forget();
    AUTO_TEXT struct text lengthy = {0};
    for (int i = 0; i < 150; i++)
        text_add(&lengthy, "\xc3\xa9"); /* two bytes each */
    describe("x", "X", text_get(&lengthy));
    assert_int_equal(strlen(option.help), 200);
    assert_false(option.needed);
    forget();
}

static void choices_are_bounded(void **state)
{
    (void)state;
    AUTO_TEXT struct text many = {0};
    text_add(&many, "{");
    for (int i = 0; i < 500; i++)
        text_addf(&many, "c%d,", i);
    for (int i = 0; i < 300; i++)
        text_add(&many, "x");
    text_add(&many, "}");
    describe("x", text_get(&many), "");
    assert_int_equal(option.choices.count, 200);
    forget();
}

static void flags_become_names_of_hyperparameters(void **state)
{
    (void)state;
    AUTO_FREE char *rate = script_param_name("--learning-rate");
    AUTO_FREE char *all = script_param_name("--all");
    AUTO_FREE char *letter = script_param_name("-b");
    assert_string_equal(rate, "learning_rate");
    assert_string_equal(all, "all_");
    assert_string_equal(letter, "b");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metavars_say_the_type),
        cmocka_unit_test(defaults_are_found_in_their_forms),
        cmocka_unit_test(a_switch_has_true_or_false),
        cmocka_unit_test(absl_says_the_type_in_words),
        cmocka_unit_test(names_are_a_hint_where_nothing_else_is_said),
        cmocka_unit_test(several_values_are_known),
        cmocka_unit_test(the_help_is_short_and_without_the_default),
        cmocka_unit_test(choices_are_bounded),
        cmocka_unit_test(flags_become_names_of_hyperparameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
