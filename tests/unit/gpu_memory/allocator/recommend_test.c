#include "gpu_memory/allocator/recommend.h"
#include "gpu_memory/allocator/usage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "opened.h"

/* 30 + 40 + 12: the least that any setting can do is 52, which 30 kept for nothing do not allow;
 * and pages of 20 make 60. */
static void the_recommendation_is_the_setting_that_needs_least(void **state)
{
    (void)state;
    struct record record;
    struct recommendation got;
    open_record("cap", MODEL_NO_CAP, &record);
    recommend_run(&record.snapshot, 0, &record.program, 0, &got);
    assert_int_equal(got.advices[0].least_bytes, 52 * MIB);
    assert_true(got.advices[0].recorded);
    for (size_t i = 0; i < got.count; i++) {
        assert_true(got.advices[i].least_bytes >= 52 * MIB);
        if (got.advices[i].settings.expandable)
            assert_int_equal(got.advices[i].least_bytes, 52 * MIB + 8 * MIB);
    }
    recommend_fini(&got);
    close_record(&record);
}

static void gpus_are_counted_by_what_can_be_used(void **state)
{
    (void)state;
    /* 24 GiB: 21.6 less 0.7 are 20.9 */
    assert_int_equal(gpu_size_for(UINT64_C(209) * (UINT64_C(1) << 30) / 10 - MIB)->gib, 24);
    assert_int_equal(gpu_size_for(UINT64_C(210) * (UINT64_C(1) << 30) / 10)->gib, 32);
    assert_int_equal(gpu_size_for(0)->gib, 8);
    assert_null(gpu_size_for(UINT64_C(300) << 30));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_recommendation_is_the_setting_that_needs_least),
        cmocka_unit_test(gpus_are_counted_by_what_can_be_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
