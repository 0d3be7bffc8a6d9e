#include "expect.h"

#include "plan/config/size.h"

static void sizes_are_read_in_both_kinds_of_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } rows[] = {
        {"0", 0},
        {"4096", 4096},
        {"7 B", 7},
        {"500 MB", 500000000},
        {"500MB", 500000000},
        {"1kB", 1000},
        {"1 KiB", 1024},
        {"64 mib", 67108864},
        {"1GiB", 1073741824},
        {"1.5GiB", 1610612736},
        {"2TB", 2000000000000},
        {"0.5 TiB", 549755813888},
        {"8192TiB", 9007199254740992},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t bytes = 1;
        assert_true(size_parse(rows[i].text, &bytes, NULL));
        assert_int_equal(bytes, rows[i].bytes);
    }
}

static void what_is_no_size_is_refused_with_the_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } rows[] = {
        {"", "'' does not begin with a number"},
        {"GiB", "'GiB' does not begin with a number"},
        {"-1", "'-1' does not begin with a number"},
        {".5GB", "'.5GB' does not begin with a number"},
        {"5.GB", "'5.GB' does not begin with a number"},
        {"inf", "'inf' does not begin with a number"},
        {"1.2.3", "'.3' is no unit of memory (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)"},
        {"1e9", "'e9' is no unit of memory (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)"},
        {"0x10", "'x10' is no unit of memory (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)"},
        {"1 G", "'G' is no unit of memory (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)"},
        {"8193TiB", "'8193TiB' is more than 2^53 bytes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t bytes = 1;
        struct err err = {0};
        assert_false(size_parse(rows[i].text, &bytes, &err));
        assert_string_equal(err.text, rows[i].reason);
        assert_int_equal(bytes, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read_in_both_kinds_of_units),
        cmocka_unit_test(what_is_no_size_is_refused_with_the_reason),
    };
    return cmocka_run_group_tests_name("size", tests, NULL, NULL);
}
