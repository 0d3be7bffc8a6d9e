/* What is read of the help texts of argparse, click, Typer and absl, as their versions of 2023 to
 * 2026 write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/text.h"
#include "plan/starter.h"

#include <string.h>

/* A line an option: "name flag[ off] type default", "!" where it is needed, "+" where it takes
 * several, and its choices. */
static char *read_of(const char *help_text)
{
    static const char *const types[] = {"unknown", "int", "float", "text", "choice", "switch"};
    struct script_help help;
    struct text out = {0};
    script_help_parse(help_text, strlen(help_text), &help);
    for (size_t i = 0; i < help.count; i++) {
        const struct script_option *option = &help.options[i];
        AUTO_FREE char *choices = strv_join(&option->choices, "|");
        text_addf(&out, "%s %s%s%s %s %s%s%s%s%s\n", option->name, option->flag,
                  option->off ? " " : "", option->off ? option->off : "", types[option->type],
                  option->initial ? option->initial : "-", option->needed ? " !" : "",
                  option->many ? " +" : "", *choices ? " " : "", choices);
    }
    script_help_fini(&help);
    return text_take(&out);
}

static void assert_read(const char *help_text, const char *expected)
{
    AUTO_FREE char *got = read_of(help_text);
    assert_string_equal(got, expected);
}

static void argparse_with_wrapped_usage_and_help(void **state)
{
    (void)state;
    assert_read("usage: ap.py [-h] [-b N] [--lr LR] [--opt {sgd,adam}] [--amp | --no-amp]\n"
                "             [--sizes SIZES [SIZES ...]] --name NAME [--seed SEED]\n"
                "             data\n"
                "\n"
                "Train a network. See --nothing of it here.\n"
                "\n"
                "positional arguments:\n"
                "  data                  the folder\n"
                "\n"
                "options:\n"
                "  -h, --help            show this help message and exit\n"
                "  -b N, --batch-size N  input batch size (default: 64)\n"
                "  --lr LR               learning rate (default: 1e-3)\n"
                "  --opt {sgd,adam}      optimizer (default: sgd)\n"
                "  --amp, --no-amp       mixed precision (default: False)\n"
                "  --sizes SIZES [SIZES ...]\n"
                "                        sizes (default: [64, (1, 2)])\n"
                "  --name NAME           a name (default: None)\n"
                "  --seed SEED\n"
                "  -v, --verbose\n"
                "\n"
                "model:\n"
                "  --a-very-long-option A_VERY_LONG_OPTION\n"
                "                        the default way is none, with\n"
                "                        --words of others (default:\n"
                "                        0.5)\n",
                "batch_size --batch-size int 64\n"
                "lr --lr float 1e-3\n"
                "opt --opt choice sgd sgd|adam\n"
                "amp --amp --no-amp switch False\n"
                "sizes --sizes text [64, (1, 2)] +\n"
                "name --name unknown - !\n"
                "seed --seed int -\n"
                "verbose --verbose switch -\n"
                "a_very_long_option --a-very-long-option float 0.5\n");
}

/* Since 3.13 a value's name stands behind the last spelling only. */
static void argparse_of_python_3_13(void **state)
{
    (void)state;
    assert_read("usage: t.py [-h] [-b N]\n\noptions:\n  -h, --help          show this help message "
                "and exit\n"
                "  -b, --batch-size N  how many (default: 8)\n  -1, --one           no option: it "
                "begins with a digit\n",
                "batch_size --batch-size int 8\n");
}

static void click_with_ranges_switches_and_what_is_needed(void **state)
{
    (void)state;
    assert_read("Usage: cl.py [OPTIONS] OUT\n\nOptions:\n"
                "  --lr FLOAT                Learning rate.  [default: 0.1]\n"
                "  -s, --seed INTEGER RANGE  [default: 0; 0<=x<=10]\n"
                "  --opt [sgd|adam]          Optimizer  [default: sgd]\n"
                "  --amp / --no-amp          Use amp  [default: no-amp]\n"
                "  --data PATH               Data  [required]\n"
                "  --quiet\n"
                "  --help                    Show this message and exit.\n",
                "lr --lr float 0.1\nseed --seed int 0\nopt --opt choice sgd sgd|adam\namp --amp "
                "--no-amp switch False\n"
                "data --data text - !\nquiet --quiet switch -\n");
}

static void typer_in_a_box_of_rich_or_of_ascii(void **state)
{
    (void)state;
    static const char expected[] = "data --data text - !\nlr --lr float 0.1\nopt --opt choice sgd "
                                   "sgd|adam\namp --amp --no-amp switch False\n";
    assert_read("\n Usage: train.py [OPTIONS]\n\n"
                "╭─ Options ───────────────────────────────────────────────────────╮\n"
                "│ *  --data   -d            TEXT        Where the  │\n"
                "│                                       data is.   │\n"
                "│                                       [required] │\n"
                "│    --lr                   FLOAT       [default:  │\n"
                "│                                       0.1]       │\n"
                "│    --opt                  [sgd|adam]  [default: sgd] │\n"
                "│    --amp        --no-amp              Mixed [default: no-amp] │\n"
                "│    --help                             Show this message and exit. │\n"
                "╰──────────────────────────────────────────────────────────────────╯\n",
                expected);
    assert_read(" Usage: train.py [OPTIONS]\n\n"
                "+- Options ---------------------------------------+\n"
                "| *  --data   -d            TEXT        [required] |\n"
                "|    --lr                   FLOAT       [default: 0.1] |\n"
                "|    --opt                  [sgd|adam]  [default: sgd] |\n"
                "|    --amp        --no-amp              [default: no-amp] |\n"
                "+-------------------------------------------------+\n",
                expected);
}

static void absl_without_the_flags_of_libraries(void **state)
{
    (void)state;
    static const char text[] =
        "Trains.\nflags:\n\ntrain.py:\n"
        "  --[no]amp: Use mixed precision.\n    (default: 'false')\n"
        "  -b,--batch_size: Batch size.\n    (default: '64')\n    (an integer)\n"
        "  --opt: <sgd|adam>: Optimizer.\n    (default: 'sgd')\n"
        "  --layers: Sizes.\n    (default: '64,64')\n    (a comma separated list)\n"
        "\nabsl.logging:\n  --verbosity: Logging.\n    (default: '-1')\n    (an integer)\n"
        "\nown.module:\n  --depth: Depth.\n    (default: '3')\n    (an integer)\n"
        "\nTry --helpfull to get a list of all flags.\n";
    struct script_help help;
    assert_read(text, "amp --amp --noamp switch False\nbatch_size --batch_size int 64\nopt --opt "
                      "choice sgd sgd|adam\n"
                      "layers --layers text 64,64\ndepth --depth int 3\n");
    script_help_parse(text, sizeof text - 1, &help);
    assert_true(help.more);
    script_help_fini(&help);
}

static void what_is_no_help_has_no_options(void **state)
{
    (void)state;
    assert_read("", "");
    assert_read("epoch 1 loss 0.5\nepoch 2 loss - 0.25\nTraceback (most recent call last):\n  File "
                "\"a\", line 1\n",
                "");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(argparse_with_wrapped_usage_and_help),
        cmocka_unit_test(argparse_of_python_3_13),
        cmocka_unit_test(click_with_ranges_switches_and_what_is_needed),
        cmocka_unit_test(typer_in_a_box_of_rich_or_of_ascii),
        cmocka_unit_test(absl_without_the_flags_of_libraries),
        cmocka_unit_test(what_is_no_help_has_no_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
