#include "machine/contain/cgroup_tree.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "tare_build.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void a_leaf_can_be_made_and_removed_with_what_is_below(void **state)
{
    (void)state;
    struct err err = {0};
    AUTO_FREE char *parent = cgroup_find_parent(false, &err);
    if (!parent) {
        printf("# not tested on this machine: %s\n", err.text);
        return;
    }
    AUTO_FREE char *leaf = cgroup_leaf_path(parent, "00000000000000000000000000000001");
    AUTO_FREE char *deeper = cgroup_leaf_path(leaf, "a");
    AUTO_FREE char *deepest = cgroup_leaf_path(deeper, "b");
    cgroup_remove(leaf);
    assert_true(cgroup_make(leaf, &err));
    assert_int_equal(mkdir(deeper, 0755), 0);
    assert_int_equal(mkdir(deepest, 0755), 0);
    assert_true(cgroup_is_leaf_of(leaf, "00000000000000000000000000000001"));
    assert_false(cgroup_is_leaf_of(leaf, "00000000000000000000000000000002"));
    assert_int_equal(cgroup_populated(leaf), 0);
    assert_true(cgroup_remove(leaf));
    assert_int_equal(cgroup_populated(leaf), -1);
    assert_true(cgroup_remove(leaf));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leaf_can_be_made_and_removed_with_what_is_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
