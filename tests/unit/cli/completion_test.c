#include "cli/completion.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "tare_build.h"

#include <string.h>

#include "demo.h"

static void the_completion_offers_options_and_choices(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    completion_bash(&out);
    assert_non_null(
        strstr(text_get(&out),
               "demo) COMPREPLY=($(compgen -W \"--grace -g --level --help -h\" -- \"$cur\")) ;;"));
    assert_non_null(
        strstr(text_get(&out),
               "demo:--level) COMPREPLY=($(compgen -W \"low high\" -- \"$cur\")); return ;;"));
    assert_null(strstr(text_get(&out), "secret"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_completion_offers_options_and_choices),
    };
    return cmocka_run_group_tests_name("completion", tests, NULL, NULL);
}
