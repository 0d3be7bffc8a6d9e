#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "machine/contain/mountinfo.h"

#include <stdlib.h>
#include <string.h>

static bool first(const char *text, struct mount *out)
{
    return mountinfo_next(&text, text + strlen(text), out);
}

/* The example of proc(5). */
static void a_line_gives_root_point_type_and_options(void **state)
{
    (void)state;
    struct mount mount;
    assert_true(
        first("36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n",
              &mount));
    assert_string_equal(mount.root, "/mnt1");
    assert_string_equal(mount.point, "/mnt2");
    assert_string_equal(mount.type, "ext3");
    assert_string_equal(mount.options, "rw,errors=continue");
}

static void optional_fields_may_be_none_or_many(void **state)
{
    (void)state;
    struct mount mount;
    assert_true(
        first("41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n", &mount));
    assert_string_equal(mount.point, "/sys/fs/cgroup/unified");
    assert_string_equal(mount.type, "cgroup2");
    assert_true(
        first("41 31 0:38 / /c rw shared:9 master:1 propagate_from:2 - cgroup2 none rw,nsdelegate",
              &mount));
    assert_string_equal(mount.options, "rw,nsdelegate");
}

static void blanks_in_paths_are_unescaped(void **state)
{
    (void)state;
    struct mount mount;
    assert_true(first("1 2 0:1 / /a\\040b\\011c\\012d\\134e rw - tmpfs none rw\n", &mount));
    assert_string_equal(mount.point, "/a b\tc\nd\\e");
    assert_true(first("1 2 0:1 / /a\\04 rw - tmpfs none rw\n", &mount));
    assert_string_equal(mount.point, "/a\\04");
}

static void lines_that_do_not_parse_are_skipped(void **state)
{
    (void)state;
    const char *text =
        "\n36 35\n36 35 98:0 / /x rw shared:1 tmpfs none rw\n1 2 0:1 / /good rw - tmpfs none rw";
    const char *end = text + strlen(text);
    struct mount mount;
    assert_true(mountinfo_next(&text, end, &mount));
    assert_string_equal(mount.point, "/good");
    assert_false(mountinfo_next(&text, end, &mount));
    assert_false(first("", &mount));
}

static void a_path_too_long_is_skipped_and_not_cut(void **state)
{
    (void)state;
    char text[6000];
    struct mount mount;
    memset(text, 'x', sizeof text);
    memcpy(text, "1 2 0:1 / /", 11);
    strcpy(text + 5000, " rw - tmpfs none rw\n1 2 0:1 / /next rw - tmpfs none rw\n");
    assert_true(first(text, &mount));
    assert_string_equal(mount.point, "/next");
}

static void an_option_is_a_whole_word_of_the_list(void **state)
{
    (void)state;
    assert_true(mount_option_has("rw,freezer", "freezer"));
    assert_true(mount_option_has("freezer", "freezer"));
    assert_true(mount_option_has("rw,freezer,devices", "freezer"));
    assert_false(mount_option_has("rw,freezers", "freezer"));
    assert_false(mount_option_has("rw,xfreezer", "freezer"));
    assert_false(mount_option_has("", "freezer"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_gives_root_point_type_and_options),
        cmocka_unit_test(optional_fields_may_be_none_or_many),
        cmocka_unit_test(blanks_in_paths_are_unescaped),
        cmocka_unit_test(lines_that_do_not_parse_are_skipped),
        cmocka_unit_test(a_path_too_long_is_skipped_and_not_cut),
        cmocka_unit_test(an_option_is_a_whole_word_of_the_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
