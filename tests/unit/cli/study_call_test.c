#include "cli/study_call.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/mem.h"
#include "base/strv.h"
#include "session/command.h"
#include "tare_build.h"

#include <string.h>

/* The program's table of commands, of which the library's help speaks. */
const struct cli_command *const cli_commands[] = {NULL};

/* The words of line are separated by blanks. expected NULL: it is not a call of the script. */
static void assert_call(const char *line, bool needs_flags, const char *expected)
{
    AUTO_STRV struct strv words = {0};
    AUTO_FREE char *copy = mem_strdup(line);
    for (char *rest = copy, *word; (word = strsep(&rest, " "));)
        strv_add(&words, word);
    AUTO_FREE char *found = study_call_translate(words.items, words.count, needs_flags);
    if (!found != !expected || (found && strcmp(found, expected) != 0))
        fail_msg("%s: %s", line, found);
}

static void calls_of_the_script_become_calls_of_this_program(void **state)
{
    (void)state;
    assert_call("mutation.py -ec a.json", true, TARE_NAME " -ec a.json");
    assert_call("python3 ./mutation.py -ec a.json", true, TARE_NAME " -ec a.json");
    assert_call("/usr/bin/python3.11 -u /opt/x/mutation.py --repo r", true, TARE_NAME " --repo r");
    assert_call("nohup env CUDA_VISIBLE_DEVICES=0 nice -n python mutation.py -l", true,
                TARE_NAME " -l");
    assert_call("sudo python3 mutation.py --experiment-config=a.json", true,
                "sudo " TARE_NAME " --experiment-config=a.json");
}

static void words_are_quoted_for_a_shell(void **state)
{
    (void)state;
    assert_call("mutation.py -r a;b", true, TARE_NAME " -r 'a;b'");
    assert_call("mutation.py -r $(x)", true, TARE_NAME " -r '$(x)'");
}

static void without_arguments_the_settings_are_proposed(void **state)
{
    (void)state;
    assert_call("python3 mutation.py", false, TARE_NAME " -ec SETTINGS.json");
    assert_call("python3 mutation.py", true, NULL);
}

static void other_programs_are_not_calls_of_it(void **state)
{
    (void)state;
    assert_call("train.py -ec a.json", true, NULL);
    assert_call("bash mutation.py -ec a.json", true, NULL);
    assert_call("python3 train.py mutation.py -ec", true, NULL);
    assert_call("python3 mutation.py.bak -ec a", true, NULL);
    assert_call("python3 xmutation.py -ec a", true, NULL);
    assert_call("python3", false, NULL);
    assert_call("python3 mutation.py --lr 1", true, NULL); /* another script of that name */
    assert_call("python3 mutation.py -ecx a", true, NULL);
    assert_call("python3 mutation.py --lr 1", false, TARE_NAME " --lr 1");
    assert_null(study_call_translate(NULL, 0, false));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_the_script_become_calls_of_this_program),
        cmocka_unit_test(words_are_quoted_for_a_shell),
        cmocka_unit_test(without_arguments_the_settings_are_proposed),
        cmocka_unit_test(other_programs_are_not_calls_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
