#include "results/store/results_json.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static void expect_ended(json_t *run, bool ended)
{
    assert_non_null(run);
    assert_int_equal(results_json_has_ended(run), ended);
    json_decref(run);
}

static void a_run_has_ended_when_its_last_session_has(void **state)
{
    (void)state;
    expect_ended(json_pack("{s:[]}", "sessions"), true);
    expect_ended(json_pack("{s:[{s:n},{s:i}]}", "sessions", "ended_ms", "ended_ms", 5), true);
    expect_ended(json_pack("{s:[{s:i},{s:n}]}", "sessions", "ended_ms", 5, "ended_ms"), false);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_has_ended_when_its_last_session_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
