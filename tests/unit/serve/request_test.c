/* What a request names. */
#include "serve/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static void each_address_is_its_route(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        enum route route;
        size_t experiment;
    } rows[] = {{"/", ROUTE_OVERVIEW, 0},
                {"/events", ROUTE_EVENTS, 0},
                {"/api/runs", ROUTE_RUNS, 0},
                {"/run/a b", ROUTE_RUN, 0},
                {"/run/a/", ROUTE_RUN, 0},
                {"/run/a/events", ROUTE_RUN_EVENTS, 0},
                {"/api/run/a", ROUTE_RUN_JSON, 0},
                {"/run/a/report.html", ROUTE_REPORT, 0},
                {"/run/a/experiment/12", ROUTE_EXPERIMENT, 12},
                {"/run/a/log/999999999", ROUTE_LOG, 999999999}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct request_target target = request_target_parse(rows[i].path);
        assert_int_equal(target.route, rows[i].route);
        assert_int_equal(target.experiment, rows[i].experiment);
    }
    assert_string_equal(request_target_parse("/run/a b").run, "a b");
}

static void what_is_no_address_has_no_route(void **state)
{
    (void)state;
    static const char *const paths[] = {"",
                                        "x",
                                        "//",
                                        "/run",
                                        "/run/",
                                        "/run/.",
                                        "/run/..",
                                        "/run/../x",
                                        "/run/.hidden",
                                        "/run/a\nb",
                                        "/run/\xff",
                                        "/run//events",
                                        "/run/a/x",
                                        "/run/a/experiment/",
                                        "/run/a/experiment/0",
                                        "/run/a/experiment/01",
                                        "/run/a/experiment/-1",
                                        "/run/a/experiment/1x",
                                        "/run/a/log/1234567890",
                                        "/run/a/ask/stop",
                                        "/api/run/a/events",
                                        "/api/run/",
                                        "/assets/",
                                        "/metrics"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_int_equal(request_target_parse(paths[i]).route, ROUTE_NONE);
}

static void only_names_of_loopback_are_local_hosts(void **state)
{
    (void)state;
    assert_true(request_host_is_local("localhost"));
    assert_true(request_host_is_local("LocalHost:9000"));
    assert_true(request_host_is_local("127.0.0.1:8273"));
    assert_true(request_host_is_local("[::1]:1"));
    assert_true(request_host_is_local("localhost:")); /* an empty port is allowed: RFC 3986 */
    static const char *const others[] = {
        "",          "localhost.example", "x.localhost",   "127.0.0.1.example",
        "127.0.0.5", "localhost:1:2",     "localhost:1@x", "[::1].example"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (request_host_is_local(others[i]))
            fail_msg("%s", others[i]);
    assert_false(request_host_is_local(NULL));
}

static void a_version_of_another_opening_means_nothing(void **state)
{
    (void)state;
    assert_int_equal(request_since_parse("abc-12", "abc"), 12);
    assert_int_equal(request_since_parse("abd-12", "abc"), 0);
    assert_int_equal(request_since_parse("abc", "abc"), 0);
    assert_int_equal(request_since_parse("abc-", "abc"), 0);
    assert_int_equal(request_since_parse("abc-12x", "abc"), 0);
    assert_int_equal(request_since_parse("abc-9999999999999999999", "abc"), 0);
    assert_int_equal(request_since_parse(NULL, "abc"), 0);
}

static void a_token_is_itself_alone(void **state)
{
    (void)state;
    assert_true(request_token_equal("0123", "0123"));
    assert_false(request_token_equal("0124", "0123"));
    assert_false(request_token_equal("01230123", "0123"));
    assert_false(request_token_equal("012", "0123"));
    assert_false(request_token_equal("", "0123"));
    assert_false(request_token_equal(NULL, "0123"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_address_is_its_route),
        cmocka_unit_test(what_is_no_address_has_no_route),
        cmocka_unit_test(only_names_of_loopback_are_local_hosts),
        cmocka_unit_test(a_version_of_another_opening_means_nothing),
        cmocka_unit_test(a_token_is_itself_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
