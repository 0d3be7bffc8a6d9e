#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/clock.h"

#include "ask.h"

static void a_query_takes_the_answer_of_a_program(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    assert_true(ask("echo one; echo two; echo lost >&2", 60, &out));
    assert_string_equal(text_get(&out), "one\ntwo\n");
    text_clear(&out);
    assert_false(ask("echo no; exit 1", 60, &out));
}

static void a_query_ends_what_takes_too_long_or_says_too_much(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    int64_t start_ns = clock_monotonic_ns();
    assert_false(ask("sleep 1000", 0.2, &out));
    assert_false(ask("exec >&-; sleep 1000", 0.2, &out));
    assert_false(ask("yes", 100, &out));
    assert_true(clock_monotonic_ns() - start_ns < 90 * NS_PER_S);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_query_takes_the_answer_of_a_program),
        cmocka_unit_test(a_query_ends_what_takes_too_long_or_says_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
