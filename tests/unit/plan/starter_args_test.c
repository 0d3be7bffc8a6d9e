#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/text.h"
#include "plan/starter.h"

#include <string.h>

/* "name=value|value type; " of each, the words, the warnings; or the error. */
static char *parsed(const char *const *args, bool with_help)
{
    static const char help_text[] =
        "options:\n  --lr LR  (default: 0.1)\n  -e N, --epochs N  (default: 3)\n  --amp, --no-amp\n"
        "  --opt {a,b}\n  --tag TAG\n  --list L  (default: 'a,b')\n  --many X [X ...]\n  --pair X "
        "X\n";
    static const char *const types[] = {"unknown", "int", "float", "text", "choice", "switch"};
    struct script_help help;
    struct starter_args given;
    struct err err = {0};
    size_t count = 0;
    struct text out = {0};
    script_help_parse(help_text, sizeof help_text - 1, &help);
    while (args[count])
        count++;
    bool good = starter_args_parse((char *const *)(uintptr_t)args, count, with_help ? &help : NULL,
                                   &given, &err);
    for (size_t i = 0; good && i < given.count; i++) {
        AUTO_FREE char *words = strv_join(&given.values[i].words, "|");
        text_addf(&out, "%s=%s %s; ", given.values[i].name, words, types[given.values[i].type]);
    }
    AUTO_FREE char *words = strv_join(&given.words, " ");
    AUTO_FREE char *warnings = strv_join(&given.warnings, "! ");
    text_addf(&out, "%s%s%s", good ? words : err.text, good && *warnings ? "! " : "",
              good ? warnings : "");
    starter_args_fini(&given);
    script_help_fini(&help);
    return text_take(&out);
}

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void assert_parsed(const char *const *args, bool with_help, const char *expected)
{
    AUTO_FREE char *got = parsed(args, with_help);
    assert_string_equal(got, expected);
}

/* What tare would write in another way stays text. */
static void values_stay_as_they_are_written(void **state)
{
    (void)state;
    assert_parsed(ARGS("--lr", ".5,1E-3,+2,1."), true, "lr=.5|1E-3|+2|1. text; --lr {lr}");
    assert_parsed(ARGS("--epochs", "1..3,7"), true, "epochs=1|2|3|7 int; --epochs {epochs}");
    assert_parsed(ARGS("-e=1,1.5"), true, "epochs=1|1.5 text; -e={epochs}");
    assert_parsed(ARGS("--lr", "0.5,0.25"), true, "lr=0.5|0.25 float; --lr {lr}");
    assert_parsed(ARGS("--epochs", "-3..-1"), true, "epochs=-3|-2|-1 int; --epochs {epochs}");
    assert_parsed(ARGS("--no-amp", "--tag", "1.10,007"), true,
                  "tag=1.10|007 text; --no-amp --tag {tag}");
    assert_parsed(ARGS("--tag=a\\,b,c", "in", "--many", "1", "2", "--amp", "--lr", "1e3"), true,
                  "tag=a,b|c text; lr=1e3 text; --tag={tag} in --many 1 2 --amp --lr {lr}");
    assert_parsed(ARGS("--pair", "1", "2", "--lr"), true, "--pair 1 2 --lr");
    assert_parsed(ARGS("--lr", "1", "--lr", "2", "--tag", ""), true, "--lr 1 --lr 2 --tag ");
}

static void commas_within_brackets_and_quotes_part_no_values(void **state)
{
    (void)state;
    assert_parsed(ARGS("--l", "[64,64],[128,128]", "--m={'a':[1,2]}", "n=(1,2),'x,y',it's,don't"),
                  false,
                  "l=[64,64]|[128,128] text; m={'a':[1,2]} text; n=(1,2)|'x,y'|it's|don't text; "
                  "--l {l} --m={m} n={n}");
    assert_parsed(ARGS("--x", "[1,2", "p,q"), false, "x=[1|2 text; --x {x} p,q");
    assert_parsed(ARGS("--x", "[[1,2],(3,4)],[(5,6]"), false,
                  "x=[[1,2],(3,4)]|[(5,6] text; --x {x}");
}

/* Trying each bracket for itself doubles the time with each one: 60 would take years. */
static void open_brackets_take_no_time_that_doubles_with_each(void **state)
{
    (void)state;
    char brackets[61], word[80], expected[200];
    for (size_t i = 0; i < 60; i++)
        brackets[i] = "([{"[i % 3];
    brackets[60] = '\0';
    snprintf(word, sizeof word, "%s,1", brackets);
    snprintf(expected, sizeof expected, "x=%s|1 text; --x {x}", brackets);
    assert_parsed(ARGS("--x", word), false, expected);
}

static void words_with_a_key_are_axes_wherever_they_are(void **state)
{
    (void)state;
    assert_parsed(
        ARGS("model.lr=0.1,0.2", "+db@x=a,b", "--multirun", "seed=1..2", "http://x/?a=1,2"), false,
        "model.lr=0.1|0.2 float; db@x=a|b text; seed=1|2 int; model.lr={model.lr} +db@x={db@x} "
        "--multirun "
        "seed={seed} http://x/?a=1,2");
    assert_parsed(ARGS("--opts", "lr=1,2", "lr=3,4", "--", "--lr", "5,6"), false,
                  "lr=1|2 int; lr_2=3|4 int; --opts lr={lr} lr={lr_2} -- --lr 5,6");
}

/* As TensorFlow's HParams are written: --hparams KEY=VALUE,KEY=VALUE. */
static void a_key_in_each_value_belongs_to_the_value(void **state)
{
    (void)state;
    assert_parsed(ARGS("--hparams", "batch=16\\,steps=2,batch=32"), false,
                  "hparams=batch=16,steps=2|batch=32 text; --hparams {hparams}");
    assert_parsed(ARGS("--hparams=a=1,b=2"), false, "hparams=a=1|b=2 text; --hparams={hparams}");
    assert_parsed(ARGS("data=x,data=y"), false, "data=data=x|data=y text; {data}");
    assert_parsed(ARGS("--hparams", "a=1,2"), false, "a=1|2 int; --hparams a={a}");
}

static void names_with_a_meaning_of_their_own_are_changed(void **state)
{
    (void)state;
    assert_parsed(ARGS("--all", "1,2", "--dir", "a,b", "--id", "1,2", "--a{b", "1,2"), false,
                  "all_=1|2 int; dir_=a|b text; id_=1|2 int; a_b=1|2 int; --all {all_} --dir "
                  "{dir_} --id {id_} --a{b {a_b}");
}

static void hints_hide_no_word(void **state)
{
    (void)state;
    assert_parsed(
        ARGS("--lrr", "1", "--epo", "3", "-e5", "--zzz", "--opt=c"), true,
        "opt=c text; --lrr 1 --epo 3 -e5 --zzz --opt={opt}! --opt: the script's help lists a, b, "
        "not 'c'! "
        "the script's help does not list --lrr (did you mean '--lr'?), --zzz: passed as given");
    assert_parsed(ARGS("--list", "x,y", "--tag", "1-3"), true,
                  "list=x|y text; tag=1-3 text; --list {list} --tag {tag}! --list is an axis, "
                  "though its default (a,b) "
                  "has a comma: \\, is a comma within a value! --tag: 1-3 is passed as one value; "
                  "a range is 1..3");
}

static void what_cannot_be_meant_is_refused(void **state)
{
    (void)state;
    assert_parsed(ARGS("--lr", "\xff"), true,
                  "argument 2 of the script is not UTF-8, which settings are written in");
    assert_parsed(ARGS("--epochs", "9..99999999999999999999"), true,
                  "--epochs: 9..99999999999999999999: a range is made of integers, as 1..3; write "
                  "other values with "
                  "commas between");
    assert_parsed(ARGS("--epochs", "1-3"), true,
                  "--epochs takes an integer, and 1-3 is none; did you mean 1..3?");
    assert_parsed(ARGS("--seed", "1-3"), false,
                  "--seed takes an integer, and 1-3 is none; did you mean 1..3?");
    assert_parsed(ARGS("--seed", "3..1"), false, "--seed: the range 3..1 begins above its end");
    assert_parsed(ARGS("x=1,,2"), false,
                  "x: '1,,2' has an empty value between its commas; \\, is a comma within a value");
}

/* Of an option that is not known, the next word may be anything: it is recorded where its name says
 * that it takes one. */
static void without_a_help_only_axes_and_well_known_names_are_recorded(void **state)
{
    (void)state;
    assert_parsed(ARGS("--lr", "0.1", "--fast", "--tag", "x", "-v", "-q", "-1"), false,
                  "lr=0.1 float; --lr {lr} --fast --tag x -v -q -1");
    assert_parsed(ARGS("--amp=true,false", "--amp2", "yes,no"), false,
                  "amp=true|false text; amp2=yes|no text; --amp={amp} --amp2 {amp2}");
}

static void a_switch_is_an_axis_of_its_two_spellings(void **state)
{
    (void)state;
    assert_parsed(ARGS("x", "--amp=true,false", "y"), true, "amp=true|false switch; x {amp} y");
    assert_parsed(ARGS("x", "--amp", "true,false", "y"), true, "amp=true|false switch; x {amp} y");
    assert_parsed(ARGS("--amp=true"), true, "amp=true text; --amp={amp}");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_stay_as_they_are_written),
        cmocka_unit_test(commas_within_brackets_and_quotes_part_no_values),
        cmocka_unit_test(open_brackets_take_no_time_that_doubles_with_each),
        cmocka_unit_test(words_with_a_key_are_axes_wherever_they_are),
        cmocka_unit_test(a_key_in_each_value_belongs_to_the_value),
        cmocka_unit_test(names_with_a_meaning_of_their_own_are_changed),
        cmocka_unit_test(hints_hide_no_word),
        cmocka_unit_test(what_cannot_be_meant_is_refused),
        cmocka_unit_test(without_a_help_only_axes_and_well_known_names_are_recorded),
        cmocka_unit_test(a_switch_is_an_axis_of_its_two_spellings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
