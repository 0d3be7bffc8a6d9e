#include "base/written.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include <string.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include "in_folder.h"

static void only_what_was_written_last_may_be_replaced(void **state)
{
    (void)state;
    struct err err = {0};
    assert_true(written_write(".", "a.csv", "id\n1\n", 5, false, &err));
    assert_true(written_write(".", "a.csv", "id\n2\n", 5, false, &err));
    assert_holds("a.csv", "id\n2\n");
    put("a.csv", "id\n2\nby hand\n");
    assert_false(written_write(".", "a.csv", "id\n3\n", 5, false, &err));
    assert_non_null(strstr(err.text, "./a.csv is there already"));
    assert_non_null(strstr(err.text, "--force"));
    assert_holds("a.csv", "id\n2\nby hand\n");
    assert_true(written_write(".", "a.csv", "id\n3\n", 5, true, &err));
    assert_true(written_write(".", "a.csv", "id\n4\n", 5, false, &err));
}

static void what_somebody_else_made_is_not_replaced(void **state)
{
    (void)state;
    struct err err = {0};
    put("a.csv", "theirs");
    put("target", "theirs");
    assert_int_equal(symlink("target", "b.csv"), 0);
    assert_int_equal(symlink("nowhere", "c.csv"), 0);
    assert_false(written_write(".", "a.csv", "ours", 4, false, &err));
    assert_false(written_write(".", "b.csv", "ours", 4, false, &err));
    assert_false(written_write(".", "c.csv", "ours", 4, false, &err));
    assert_holds("a.csv", "theirs");
    /* A link in such a folder is nobody's wish: it is replaced, never followed. */
    assert_true(written_write(".", "b.csv", "ours", 4, true, &err));
    assert_holds("target", "theirs");
    assert_holds("b.csv", "ours");
}

/* FNV-1a of 64 bits: "" and "foobar" have the hashes of the test vectors of RFC 9923, appendix
 * C. */
static void the_record_holds_size_and_hash(void **state)
{
    (void)state;
    struct err err = {0};
    AUTO_TEXT struct text text = {0};
    assert_true(written_write(".", "x", "foobar", 6, false, &err));
    assert_true(fs_read(WRITTEN_RECORD, 1000, &text, &err));
    assert_non_null(strstr(text_get(&text), "\"bytes\": 6"));
    assert_non_null(strstr(text_get(&text), "\"fnv1a_64\": \"85944171f73967e8\""));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(only_what_was_written_last_may_be_replaced),
        IN_FOLDER(what_somebody_else_made_is_not_replaced),
        IN_FOLDER(the_record_holds_size_and_hash),
    };
    return cmocka_run_group_tests_name("written", tests, NULL, NULL);
}
