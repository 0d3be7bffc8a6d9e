#include "serve/token.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include "tests/unit/folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[64], path[96];

static int set_up(void **state)
{
    (void)state;
    strcpy(top, "/tmp/tare-token-test.XXXXXX");
    assert_non_null(mkdtemp(top));
    setenv("TARE_STATE_DIR", top, 1);
    snprintf(path, sizeof path, "%s/runs/serve-token", top);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return folder_remove(top);
}

static void put_token(const char *text)
{
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void assert_refused(const char *reason)
{
    char token[SERVE_TOKEN + 1];
    struct err err = {0};
    assert_false(serve_token_get(false, token, &err));
    if (!strstr(err.text, reason) || !strstr(err.text, "--new-token"))
        fail_msg("'%s' does not say '%s'", err.text, reason);
}

static void a_token_stays_until_a_new_one_is_asked_for(void **state)
{
    (void)state;
    char first[SERVE_TOKEN + 1], again[SERVE_TOKEN + 1], new[SERVE_TOKEN + 1];
    struct err err = {0};
    struct stat status;
    assert_true(serve_token_get(false, first, &err));
    assert_int_equal(strspn(first, "0123456789abcdef"), 40);
    assert_int_equal(strlen(first), 40);
    assert_true(serve_token_get(false, again, &err));
    assert_string_equal(again, first);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_true(serve_token_get(true, new, &err));
    assert_string_not_equal(new, first);
    assert_true(serve_token_get(false, again, &err));
    assert_string_equal(again, new);
}

static void a_file_that_others_may_know_or_have_chosen_is_refused(void **state)
{
    (void)state;
    char token[SERVE_TOKEN + 1];
    struct err err = {0};
    static const mode_t modes[] = {0640, 0604, 0620, 0700};
    assert_true(serve_token_get(false, token, &err));
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        AUTO_FREE char *reason = mem_printf("its mode is %04o", (unsigned)modes[i]);
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_refused(reason);
    }
    assert_int_equal(chmod(path, 0600), 0);
    AUTO_FREE char *moved = mem_printf("%s/moved", top);
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(symlink(moved, path), 0);
    assert_refused("serve-token");
    assert_int_equal(unlink(path), 0);
    if (geteuid() == 0) {
        put_token("0123456789012345678901234567890123456789\n");
        assert_int_equal(chown(path, 1001, 0), 0);
        assert_refused("it belongs to another user (uid 1001)");
    }
    assert_true(serve_token_get(true, token, &err)); /* replaces whatever is there */
    assert_true(serve_token_get(false, token, &err));
}

static void only_40_lower_case_digits_and_a_line_end_are_a_token(void **state)
{
    (void)state;
    char token[SERVE_TOKEN + 1];
    static const char *const wrong[] = {
        "",
        "\n",
        "012345678901234567890123456789012345678\n",
        "0123456789012345678901234567890123456789",
        "0123456789012345678901234567890123456789 ",
        "01234567890123456789012345678901234567890\n",
        "0123456789012345678901234567890123456789\n\n",
        "0123456789012345678901234567890123456A89\n",
        "0123456789012345678901234567890123456g89\n",
    };
    assert_true(serve_token_get(true, token, NULL));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put_token(wrong[i]);
        assert_refused("it does not hold a token");
    }
    put_token("abcdef6789012345678901234567890123456789\n");
    assert_true(serve_token_get(false, token, NULL));
    assert_string_equal(token, "abcdef6789012345678901234567890123456789");
}

static void a_reports_token_is_the_begin_of_a_sha_256(void **state)
{
    (void)state;
    char token[SERVE_TOKEN + 1];
    /* printf 0123456789012345678901234567890123456789/run_20260101_000000 | sha256sum */
    serve_token_of_report("0123456789012345678901234567890123456789", "run_20260101_000000", token);
    assert_string_equal(token, "42d6f895fbddcec68950511803c41bedc3fee15d");
}

static void random_digits_are_as_many_as_asked_for(void **state)
{
    (void)state;
    char one[SERVE_TOKEN + 1] = "", other[SERVE_TOKEN + 1] = "";
    assert_true(serve_random_hex(one, 16, NULL) && serve_random_hex(other, 16, NULL));
    assert_int_equal(strlen(one), 16);
    assert_int_equal(strspn(one, "0123456789abcdef"), 16);
    assert_string_not_equal(one, other); /* equal once in 2^64 */
}

#define IN_STATE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        IN_STATE(a_token_stays_until_a_new_one_is_asked_for),
        IN_STATE(a_file_that_others_may_know_or_have_chosen_is_refused),
        IN_STATE(only_40_lower_case_digits_and_a_line_end_are_a_token),
        cmocka_unit_test(a_reports_token_is_the_begin_of_a_sha_256),
        cmocka_unit_test(random_digits_are_as_many_as_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
