#include "gpu_memory/allocator/usage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "opened.h"

static void the_layout_is_summed_by_pool_and_stream(void **state)
{
    (void)state;
    struct record record;
    struct usage_layout layout;
    open_record("split", MODEL_NO_CAP, &record);
    usage_layout(&record.snapshot, 0, &layout);
    assert_int_equal(layout.pool_count, 2);
    assert_false(layout.pools[0].small);
    assert_int_equal(layout.pools[0].sum.allocated, 15 * MIB);
    assert_int_equal(layout.pools[0].sum.inactive_split, 5 * MIB);
    assert_int_equal(layout.pools[0].sum.largest_free, 5 * MIB);
    assert_int_equal(layout.pools[1].sum.inactive_split, 614400 + 867328);
    assert_int_equal(layout.pools[1].sum.largest_free, 867328);
    assert_int_equal(layout.total.requested, 100 + 614401 + 2621440 + 12 * MIB);
    assert_int_equal(layout.total.inactive_whole, 0);
    usage_layout_fini(&layout);
    close_record(&record);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_layout_is_summed_by_pool_and_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
