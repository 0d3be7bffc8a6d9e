#include "expect.h"

#include "plan/config/settings.h"
#include "plan/config/size.h"

static void a_limit_is_an_amount_or_a_share(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
        double share;
    } rows[] = {
        {"8GiB", UINT64_C(8589934592), 0},
        {"8 GB", UINT64_C(8000000000), 0},
        {"1 MiB", 1048576, 0},
        {"1048576", 1048576, 0},
        {"50%", 0, 0.5},
        {"12.5 %", 0, 0.125},
        {"100%", 0, 1},
        {"0.01%", 0, 0.0001},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gpu_limit limit = {0};
        assert_true(gpu_limit_parse(rows[i].text, &limit, NULL));
        assert_int_equal(limit.bytes, rows[i].bytes);
        assert_true(limit.share > rows[i].share - 1e-12 && limit.share < rows[i].share + 1e-12);
        assert_true(gpu_limit_is_set(&limit));
    }
}

static void what_is_no_limit_is_refused_with_the_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } rows[] = {
        {"", "'' does not begin with a number"},
        {"0", "'0' is less than 1 MiB"},
        {"1000kB", "'1000kB' is less than 1 MiB"},
        {"8GiX", "'GiX' is no unit of memory"},
        {"%", "'%' is no share of a GPU's memory"},
        {"0%", "'0%' is no share of a GPU's memory"},
        {"101%", "'101%' is no share of a GPU's memory"},
        {"-5%", "'-5%' is no share of a GPU's memory"},
        {".5%", "'.5%' is no share of a GPU's memory"},
        {"1.2.3%", "'1.2.3%' is no share of a GPU's memory"},
        {"5e1%", "'5e1%' is no share of a GPU's memory"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gpu_limit limit = {0};
        struct err err = {0};
        assert_false(gpu_limit_parse(rows[i].text, &limit, &err));
        if (!strstr(err.text, rows[i].reason))
            fail_msg("%s: %s", rows[i].text, err.text);
        assert_false(gpu_limit_is_set(&limit));
    }
}

static const struct entry_settings *read_entry(const char *text, struct settings *settings,
                                               struct problems *problems)
{
    bool good = settings_parse("s.json", text, strlen(text), settings, problems);
    assert_true(good);
    return &settings->entries[0];
}

static void the_nearest_limit_counts(void **state)
{
    (void)state;
    struct settings settings;
    struct problems problems = {0};
    const struct entry_settings *entry = read_entry(
        "{\"gpu_memory_limit\": \"50%\", \"experiments\": [{\"mode\": \"parallel\", "
        "\"gpu_memory_limit\": "
        "\"6GiB\", \"foreground\": {\"repo\": \"r\", \"model\": \"m\"}, \"background\": {\"repo\": "
        "\"r\", "
        "\"model\": \"m\", \"gpu_memory_limit\": \"2GiB\"}}, {\"repo\": \"r\", \"model\": \"m\"}]}",
        &settings, &problems);
    assert_int_equal(entry[0].foreground.gpu_limit.bytes, UINT64_C(6442450944));
    assert_int_equal(entry[0].background.gpu_limit.bytes, UINT64_C(2147483648));
    assert_int_equal(entry[1].foreground.gpu_limit.bytes, 0);
    assert_true(entry[1].foreground.gpu_limit.share > 0.499 &&
                entry[1].foreground.gpu_limit.share < 0.501);
    assert_false(entry[1].foreground.track_gpu_memory);
    settings_fini(&settings);
    problems_fini(&problems);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_is_an_amount_or_a_share),
        cmocka_unit_test(what_is_no_limit_is_refused_with_the_reason),
        cmocka_unit_test(the_nearest_limit_counts),
    };
    return cmocka_run_group_tests_name("gpu_limit", tests, NULL, NULL);
}
