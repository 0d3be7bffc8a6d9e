#include "cli/options.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/shell_words.h"

#include <string.h>

static void every_command_has_a_group_and_those_of_a_group_stand_together(void **state)
{
    (void)state;
    enum cli_group last = CLI_GROUP_NONE;
    for (size_t i = 0; cli_commands[i]; i++) {
        if (cli_commands[i]->group <= CLI_GROUP_NONE || cli_commands[i]->group < last)
            fail_msg("%s has no group, or stands behind the next one", cli_commands[i]->name);
        assert_string_not_equal(cli_group_names[cli_commands[i]->group], "");
        last = cli_commands[i]->group;
    }
    assert_int_equal(last, CLI_GROUP_CLUSTER);
}

static void is_understood(const struct cli_command *command, const char *example)
{
    struct err err = {0};
    AUTO_STRV struct strv words = {0};
    struct cli_call call;
    bool help;
    if (!shell_words_split(example, &words, &err) || strcmp(words.items[0], command->name) != 0)
        fail_msg("%s: %s", example, err.text);
    if (!options_parse(command, words.items + 1, words.count - 1, &call, &help, &err) || help)
        fail_msg("%s: %s", example, err.text);
    for (size_t i = 0; i < command->option_count; i++)
        assert_false(call.values[i].given && command->options[i].hidden);
    options_fini(&call);
}

static void every_command_has_two_examples_that_its_own_parser_understands(void **state)
{
    (void)state;
    for (size_t i = 0; cli_commands[i]; i++) {
        const char *const *examples = cli_commands[i]->examples;
        size_t count = 0;
        if (!examples)
            fail_msg("%s has no examples", cli_commands[i]->name);
        for (; examples[2 * count]; count++) {
            is_understood(cli_commands[i], examples[2 * count]);
            assert_non_null(examples[2 * count + 1]);
            assert_true(count == 0 || strcmp(examples[2 * count], examples[2 * count - 2]) != 0);
        }
        if (count < 2)
            fail_msg("%s has %zu examples", cli_commands[i]->name, count);
    }
}

static void a_command_is_found_by_its_whole_name(void **state)
{
    (void)state;
    assert_ptr_equal(cli_command_find("run"), &cmd_run);
    assert_ptr_equal(cli_command_find("meter"), &cmd_meter);
    assert_null(cli_command_find("ru"));
    assert_null(cli_command_find("plan-pairs"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_has_a_group_and_those_of_a_group_stand_together),
        cmocka_unit_test(every_command_has_two_examples_that_its_own_parser_understands),
        cmocka_unit_test(a_command_is_found_by_its_whole_name),
    };
    return cmocka_run_group_tests_name("commands", tests, NULL, NULL);
}
