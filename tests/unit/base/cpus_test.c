#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cpus.h"

#include <sched.h>
#include <string.h>

static bool parse(const char *text, struct cpus *out)
{
    return cpus_parse(text, strlen(text), out);
}

static void is_printed(const char *list, const char *expected)
{
    struct cpus cpus;
    AUTO_TEXT struct text text = {0};
    assert_true(parse(list, &cpus));
    cpus_print(&cpus, &text);
    assert_string_equal(text_get(&text), expected);
}

static void a_list_is_read_and_written_as_the_kernel_writes_it(void **state)
{
    (void)state;
    struct cpus cpus;
    is_printed("0-3,8,10-11\n", "0-3,8,10-11");
    is_printed("5", "5");
    is_printed("", "");
    is_printed("\n", "");
    is_printed("63,64,65", "63-65");
    is_printed("4,0-1", "0-1,4");
    is_printed("8191", "8191");
    is_printed("0,18-20,31\n", "0,18-20,31");
    assert_true(parse("0-3,8,10-11", &cpus));
    assert_int_equal(cpus_count(&cpus), 7);
    assert_true(cpus_has(&cpus, 8));
    assert_false(cpus_has(&cpus, 9));
    assert_false(cpus_has(&cpus, 100000));
}

static void what_is_no_list_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "a",      "-1",    "1-",          "3-1",   ",",
        "1,",     "1,,2",  "1 2",         "0x3",   "8192",
        "0-8192", "1\n\n", " ",           "1-2-3", "99999999999999999999",
        "3-2",    ",1",    "0-4294967295"};
    struct cpus cpus;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (parse(bad[i], &cpus))
            fail_msg("'%s' was taken", bad[i]);
}

static void sets_are_joined_and_cut(void **state)
{
    (void)state;
    struct cpus a, b, expected;
    assert_true(parse("0-7", &a));
    assert_true(parse("4-11,200", &b));
    cpus_keep(&a, &b);
    assert_true(parse("4-7", &expected));
    assert_true(cpus_equal(&a, &expected));
    cpus_add_all(&a, &b);
    assert_true(cpus_equal(&a, &b));
}

/* glibc's own call is the other witness; this machine may have more processors than it can tell
 * of. */
static void the_processors_of_this_thread_are_those_that_the_system_tells(void **state)
{
    (void)state;
    cpu_set_t set;
    struct cpus cpus;
    assert_true(cpus_allowed(&cpus));
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        skip();
    assert_int_equal(cpus_count(&cpus), CPU_COUNT(&set));
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        assert_int_equal(cpus_has(&cpus, i), CPU_ISSET(i, &set) != 0);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_read_and_written_as_the_kernel_writes_it),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(sets_are_joined_and_cut),
        cmocka_unit_test(the_processors_of_this_thread_are_those_that_the_system_tells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
