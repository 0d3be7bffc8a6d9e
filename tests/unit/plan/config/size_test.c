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

static void amounts_are_read_in_their_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } rows[] = {
        {"20 kWh", 72000000}, {"500Wh", 1800000},  {"0.5 MWh", 1800000000}, {"7 J", 7},
        {"2.5 kJ", 2500},     {"3.6 MJ", 3600000}, {"1 GJ", 1000000000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double value = -1;
        assert_true(size_energy_parse(rows[i].text, &value, NULL));
        assert_true(value > 0.999999 * rows[i].value && value < 1.000001 * rows[i].value);
    }
}

static void what_is_no_amount_is_refused_with_the_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *reason;
    } rows[] = {
        {"", "'' does not begin with a number"},
        {"kWh", "'kWh' does not begin with a number"},
        {"-1 kWh", "'-1 kWh' does not begin with a number"},
        {"20", "'20' has no unit (J, kJ, MJ, GJ, Wh, kWh, MWh)"},
        {"20 kwh", "'20 kwh' has another unit than J,"},
        {"20 mJ", "'20 mJ' has another unit than J,"},
        {"20 kWh ", "has another unit"},
        {"1e3 kWh", "has another unit"},
        {"nan kWh", "does not begin with a number"},
        {"0 kWh", "'0 kWh' is not more than 0"},
        {"99999999 MWh", "is too much"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double value = -1;
        struct err err = {0};
        assert_false(size_energy_parse(rows[i].text, &value, &err));
        if (!strstr(err.text, rows[i].reason))
            fail_msg("%s: %s", rows[i].text, err.text);
        assert_true(value < 0);
    }
}

static void amounts_are_shown_in_the_unit_people_take(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {72000000, "20 kWh"},
        {1234, "1234 J"},
        {3600, "1 Wh"},
        {4.5e9, "1.25 MWh"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = size_energy_text(rows[i].value);
        double back = 0;
        assert_string_equal(text, rows[i].text);
        assert_true(size_energy_parse(text, &back, NULL));
        free(text);
    }
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read_in_both_kinds_of_units),
        cmocka_unit_test(what_is_no_size_is_refused_with_the_reason),
        cmocka_unit_test(amounts_are_read_in_their_units),
        cmocka_unit_test(what_is_no_amount_is_refused_with_the_reason),
        cmocka_unit_test(amounts_are_shown_in_the_unit_people_take),
    };
    return cmocka_run_group_tests_name("size", tests, NULL, NULL);
}
