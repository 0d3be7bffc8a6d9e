#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "session/caller.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void strv_of(struct strv *out, const char *const *items)
{
    for (; *items; items++)
        strv_add(out, *items);
}

static void assert_strv(const struct strv *list, const char *joined)
{
    AUTO_FREE char *all = strv_join(list, " ");
    assert_string_equal(all, joined);
}

static void environ_bytes_become_entries(void **state)
{
    (void)state;
    static const char bytes[] = "PATH=/bin\0EMPTY=\0=odd\0nonsense\0A=b=c\0LAST=x";
    AUTO_STRV struct strv out = {0};
    caller_parse_environ(bytes, sizeof bytes - 1, &out);
    assert_strv(&out, "PATH=/bin EMPTY= A=b=c LAST=x");
}

static void the_callers_environment_wins_and_what_sudo_was_given_is_added(void **state)
{
    (void)state;
    AUTO_STRV struct strv callers = {0}, ours = {0}, out = {0};
    strv_of(&callers, (const char *const[]){"PATH=/home/ann/bin:/bin", "CUDA_VISIBLE_DEVICES=1",
                                            "HOME=/home/ann", "USER=ann", "LOGNAME=ann",
                                            "SHELL=/bin/zsh", NULL});
    strv_of(&ours, (const char *const[]){"PATH=/usr/sbin:/sbin", "HOME=/root", "USER=root",
                                         "LOGNAME=root", "SUDO_UID=1000", "SUDO_COMMAND=x",
                                         "MAIL=/var/mail/root", "EXTRA=1", NULL});
    caller_merge(&callers, &ours, "ann", "/home/ann", "/bin/zsh", &out);
    assert_strv(
        &out, "PATH=/home/ann/bin:/bin CUDA_VISIBLE_DEVICES=1 HOME=/home/ann USER=ann LOGNAME=ann "
              "SHELL=/bin/zsh EXTRA=1");
}

static void an_unknown_caller_never_gets_roots_path_or_home(void **state)
{
    (void)state;
    AUTO_STRV struct strv callers = {0}, ours = {0}, out = {0};
    strv_of(&ours, (const char *const[]){"PATH=/root/bin", "HOME=/root", "USER=root",
                                         "LANG=C.UTF-8", NULL});
    caller_merge(&callers, &ours, "ann", "/home/ann", NULL, &out);
    assert_string_equal(strv_env_get(&out, "PATH"),
                        "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games");
    assert_string_equal(strv_env_get(&out, "HOME"), "/home/ann");
    assert_string_equal(strv_env_get(&out, "USER"), "ann");
    assert_string_equal(strv_env_get(&out, "LANG"), "C.UTF-8");
}

static void without_sudo_nothing_changes(void **state)
{
    (void)state;
    struct caller caller;
    struct err err = {0};
    unsetenv("SUDO_UID");
    unsetenv("SUDO_GID");
    setenv("CALLER_TEST", "kept", 1);
    assert_true(caller_become(false, &caller, &err));
    assert_false(caller.became);
    assert_int_equal(caller.uid, geteuid());
    assert_string_equal(strv_env_get(&caller.environment, "CALLER_TEST"), "kept");
    caller_fini(&caller);
}

static void numbers_that_are_none_are_refused_by_root(void **state)
{
    (void)state;
    struct caller caller;
    struct err err = {0};
    if (geteuid() != 0)
        skip();
    setenv("SUDO_UID", "-1", 1);
    setenv("SUDO_GID", "65534", 1);
    assert_false(caller_become(false, &caller, &err));
    assert_non_null(strstr(err.text, "SUDO_UID"));
    caller_fini(&caller);
    assert_true(caller_become(true, &caller, &err)); /* --as-root does not look at them */
    assert_false(caller.became);
    caller_fini(&caller);
    unsetenv("SUDO_UID");
    unsetenv("SUDO_GID");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(environ_bytes_become_entries),
        cmocka_unit_test(the_callers_environment_wins_and_what_sudo_was_given_is_added),
        cmocka_unit_test(an_unknown_caller_never_gets_roots_path_or_home),
        cmocka_unit_test(without_sudo_nothing_changes),
        cmocka_unit_test(numbers_that_are_none_are_refused_by_root),
    };
    return cmocka_run_group_tests_name("caller", tests, NULL, NULL);
}
