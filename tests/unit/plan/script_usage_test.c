/* The options in argparse's usage, as Python 3.8 to 3.13 print it. */
#include "plan/script_usage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static const char text[] = "usage: train.py [--lr LR] --optimizer {sgd,adam}\n"
                           "                [--sizes SIZES [SIZES ...]] [--amp | --no-amp]\n"
                           "                [--fast | --slow | --level N] [-e EPOCHS]\n"
                           "                data [more ...]\n"
                           "train.py: error: unrecognized arguments: --help\n";

static void every_option_of_the_usage_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *flag;
        bool is_switch, many;
    } expected[] = {
        {"--lr", false, false},    {"--optimizer", false, false}, {"--sizes", false, true},
        {"--amp", true, false},    {"--fast", true, false},       {"--slow", true, false},
        {"--level", false, false}, {"-e", false, false},
    };
    struct script_help help;
    script_usage_parse(text, strlen(text), &help);
    assert_int_equal(help.count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < help.count; i++) {
        assert_string_equal(help.options[i].flag, expected[i].flag);
        assert_int_equal(help.options[i].type == SCRIPT_SWITCH, expected[i].is_switch);
        assert_int_equal(help.options[i].many, expected[i].many);
    }
    assert_int_equal(help.options[1].type, SCRIPT_CHOICE);
    assert_string_equal(help.options[1].choices.items[1], "adam");
    assert_string_equal(help.options[3].off, "--no-amp");
    script_help_fini(&help);
}

static void other_output_has_no_usage(void **state)
{
    (void)state;
    static const char *const others[] = {"", "usage:", "epoch 1 --lr 0.1\n", "Usage: x [OPTIONS]\n",
                                         "usage: x\n\n  --lr LR  rate\n"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct script_help help;
        script_usage_parse(others[i], strlen(others[i]), &help);
        assert_int_equal(help.count, 0);
        script_help_fini(&help);
    }
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_of_the_usage_is_read),
        cmocka_unit_test(other_output_has_no_usage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
