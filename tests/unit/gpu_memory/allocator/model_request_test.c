#include "gpu_memory/allocator/model_request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#define KIB UINT64_C(1024)
#define MIB (UINT64_C(1) << 20)

static void sizes_are_rounded_to_512_or_by_divisions(void **state)
{
    (void)state;
    struct alloc_settings none = conf_default(), four, eight;
    assert_true(conf_parse("roundup_power2_divisions:4", &four, NULL));
    assert_true(conf_parse("roundup_power2_divisions:8", &eight, NULL));
    assert_int_equal(model_round(&none, 0), 512);
    assert_int_equal(model_round(&none, 511), 512);
    assert_int_equal(model_round(&none, 513), 1024);
    assert_int_equal(model_round(&none, MIB + 1), MIB + 512);
    /* only above 512 * 4; below it is 512 again */
    assert_int_equal(model_round(&four, 1200), 1536);
    assert_int_equal(model_round(&four, 2049), 2560);
    assert_int_equal(model_round(&four, 2048), 2048);
    assert_int_equal(model_round(&four, 5 * MIB), 5 * MIB);
    assert_int_equal(model_round(&four, 5 * MIB + 1), 6 * MIB);
    assert_int_equal(model_round(&four, 8 * MIB), 8 * MIB);
    assert_int_equal(model_round(&eight, 9 * MIB + 1), 10 * MIB);
    assert_int_equal(model_round(&eight, 15 * MIB + 1), 16 * MIB);
}

static void segments_are_2_or_20_or_whole_2_mib(void **state)
{
    (void)state;
    assert_int_equal(model_segment_size(512), 2 * MIB);
    assert_int_equal(model_segment_size(MIB), 2 * MIB);
    assert_int_equal(model_segment_size(MIB + 512), 20 * MIB);
    assert_int_equal(model_segment_size(10 * MIB - 512), 20 * MIB);
    assert_int_equal(model_segment_size(10 * MIB), 10 * MIB);
    assert_int_equal(model_segment_size(11 * MIB + 512), 12 * MIB);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_rounded_to_512_or_by_divisions),
        cmocka_unit_test(segments_are_2_or_20_or_whole_2_mib),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
