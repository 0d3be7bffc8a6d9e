#include "cli/manual.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "tare_build.h"

#include <string.h>

#include "demo.h"

static void the_manual_is_safe_roff(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    manual_page(&demo, &out);
    const char *page = text_get(&out);
    assert_non_null(strstr(page, ".SH NAME\n" TARE_NAME "\\-demo \\- shows\n"));
    assert_non_null(strstr(page, "\n\\&.starts with a dot \\- and has a dash.\n"));
    assert_non_null(strstr(page, "\n.TP\n\\fB\\-g, \\-\\-grace TIME\\fR\n"));
    assert_non_null(strstr(page, ".SH EXIT STATUS\n.TP\n\\fB0\\fR\nwell\n"
                                 ".SH EXAMPLES\n.TP\n\\fB" TARE_NAME
                                 " demo \\-g 5 a.txt\\fR\nwith a short grace\n.SH SEE ALSO\n"));
    assert_null(strstr(page, "secret"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_manual_is_safe_roff),
    };
    return cmocka_run_group_tests_name("manual", tests, NULL, NULL);
}
