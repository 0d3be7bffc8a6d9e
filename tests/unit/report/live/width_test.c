#include "report/live/width.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <unistd.h>

static void a_terminal_says_its_size(void **state)
{
    (void)state;
    int master, terminal;
    struct winsize size = {.ws_row = 33, .ws_col = 121};
    setenv("COLUMNS", "50", 1);
    assert_int_equal(openpty(&master, &terminal, NULL, NULL, &size), 0);
    assert_int_equal(width_of_terminal(terminal), 121);
    assert_int_equal(height_of_terminal(terminal), 33);
    close(terminal);
    close(master);
}

static void without_a_size_the_environment_counts_within_its_bounds(void **state)
{
    (void)state;
    static const struct {
        const char *columns;
        size_t expected;
    } rows[] = {{"20", 20}, {"132", 132},  {"10000", 10000},
                {"19", 80}, {"10001", 80}, {"-50", 80},
                {"", 80},   {"wide", 80},  {"99999999999999999999", 80}};
    int master, terminal, null = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct winsize none = {0};
    assert_int_equal(openpty(&master, &terminal, NULL, NULL, &none), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        setenv("COLUMNS", rows[i].columns, 1);
        assert_int_equal(width_of_terminal(null), rows[i].expected);
        assert_int_equal(width_of_terminal(terminal), rows[i].expected);
    }
    unsetenv("COLUMNS");
    assert_int_equal(width_of_terminal(null), 80);
    assert_int_equal(height_of_terminal(null), 24);
    assert_int_equal(height_of_terminal(terminal), 24);
    close(null);
    close(terminal);
    close(master);
}

static void the_first_variable_that_is_set_names_the_locale(void **state)
{
    (void)state;
    static const struct {
        const char *all, *ctype, *lang;
        bool utf8;
    } rows[] = {{"C", "C.UTF-8", "C.UTF-8", false}, {"en_US.utf8", "C", "C", true},
                {"", "de_DE.UTF-8", "C", true},     {"", "C", "C.UTF-8", false},
                {"", "", "zh_CN.utf-8", true},      {"", "", "", false},
                {"", "", "de_DE.ISO-8859-1", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        setenv("LC_ALL", rows[i].all, 1);
        setenv("LC_CTYPE", rows[i].ctype, 1);
        setenv("LANG", rows[i].lang, 1);
        assert_int_equal(width_is_utf8(), rows[i].utf8);
    }
    unsetenv("LC_ALL");
    unsetenv("LC_CTYPE");
    unsetenv("LANG");
    assert_false(width_is_utf8());
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_terminal_says_its_size),
        cmocka_unit_test(without_a_size_the_environment_counts_within_its_bounds),
        cmocka_unit_test(the_first_variable_that_is_set_names_the_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
