/* PYTORCH_CUDA_ALLOC_CONF as PyTorch's documentation has it. */
#include "gpu_memory/allocator/conf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static void each_setting_is_read(void **state)
{
    (void)state;
    struct alloc_settings got;
    assert_true(conf_parse(
        "expandable_segments:True, max_split_size_mb:64,garbage_collection_threshold:0.6,"
        "roundup_power2_divisions:8,backend:native,pinned_use_cuda_host_register:True",
        &got, NULL));
    assert_true(got.expandable);
    assert_int_equal(got.max_split_bytes, 64 << 20);
    assert_true(got.gc_threshold == 0.6);
    for (size_t i = 0; i < CONF_CLASSES; i++)
        assert_int_equal(got.divisions[i], 8);
}

static void nothing_is_the_default(void **state)
{
    (void)state;
    struct alloc_settings got, none = conf_default();
    assert_true(conf_parse("", &got, NULL));
    assert_true(conf_equal(&got, &none));
    assert_int_equal(got.max_split_bytes, UINT64_MAX);
    assert_false(got.expandable);
    assert_true(conf_parse("expandable_segments:False", &got, NULL));
    assert_true(conf_equal(&got, &none));
}

/* The example of PyTorch's documentation: [256:1,512:2,1024:4,>:8]. The first value counts for all
 * below it, ">" for all above. */
static void divisions_can_differ_by_size(void **state)
{
    (void)state;
    struct alloc_settings got;
    assert_true(conf_parse("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", &got, NULL));
    const uint32_t expected[CONF_CLASSES] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8};
    for (size_t i = 0; i < CONF_CLASSES; i++)
        assert_int_equal(got.divisions[i], expected[i]);
}

static void it_is_written_as_it_is_read(void **state)
{
    (void)state;
    static const char *const confs[] = {
        "", "expandable_segments:True", "max_split_size_mb:512",
        "expandable_segments:True,max_split_size_mb:64,garbage_collection_threshold:0.8",
        "roundup_power2_divisions:4"};
    for (size_t i = 0; i < sizeof confs / sizeof *confs; i++) {
        struct alloc_settings got;
        AUTO_TEXT struct text text = {0};
        assert_true(conf_parse(confs[i], &got, NULL));
        conf_text(&got, &text);
        assert_string_equal(text_get(&text), confs[i]);
    }
}

static void mistakes_are_named_with_what_would_be_right(void **state)
{
    (void)state;
    static const struct {
        const char *conf, *says;
    } rows[] = {
        {"max_split_size_mb:20", "above 20"},
        {"max_split_size_mb:64x", "max_split_size_mb:64x"},
        {"max_split_size_mb:-1", "an integer above 20, in MiB"},
        {"garbage_collection_threshold:1.0", "between 0 and 1"},
        {"garbage_collection_threshold:0", "between 0 and 1"},
        {"roundup_power2_divisions:3", "a power of 2"},
        {"roundup_power2_divisions:[100:2]", "'100' is no power of 2"},
        {"expandable_segments:maybe", "True or False"},
        {"expandable_segments", "not NAME:VALUE"},
        {"max_splitsize_mb:64", "there is no setting 'max_splitsize_mb'"},
        {"backend:cudaMallocAsync", "native"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct alloc_settings got;
        struct err err = {0};
        assert_false(conf_parse(rows[i].conf, &got, &err));
        assert_non_null(strstr(err.text, rows[i].says));
    }
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_setting_is_read),
        cmocka_unit_test(nothing_is_the_default),
        cmocka_unit_test(divisions_can_differ_by_size),
        cmocka_unit_test(it_is_written_as_it_is_read),
        cmocka_unit_test(mistakes_are_named_with_what_would_be_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
