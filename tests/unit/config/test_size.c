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
        enum amount kind;
        double value;
    } rows[] = {
        {"20 kWh", AMOUNT_ENERGY, 72000000},
        {"500Wh", AMOUNT_ENERGY, 1800000},
        {"0.5 MWh", AMOUNT_ENERGY, 1800000000},
        {"7 J", AMOUNT_ENERGY, 7},
        {"2.5 kJ", AMOUNT_ENERGY, 2500},
        {"3.6 MJ", AMOUNT_ENERGY, 3600000},
        {"1 GJ", AMOUNT_ENERGY, 1000000000},
        {"800 g", AMOUNT_MASS, 800},
        {"5 kg", AMOUNT_MASS, 5000},
        {"0.25t", AMOUNT_MASS, 250000},
        {"380 g/kWh", AMOUNT_INTENSITY, 380},
        {"380", AMOUNT_INTENSITY, 380},
        {"0.38 kg/kWh", AMOUNT_INTENSITY, 380},
        {"380 kg/MWh", AMOUNT_INTENSITY, 380},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double value = -1;
        assert_true(amount_parse(rows[i].text, rows[i].kind, &value, NULL));
        assert_true(value > 0.999999 * rows[i].value && value < 1.000001 * rows[i].value);
    }
}

static void what_is_no_amount_is_refused_with_the_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum amount kind;
        const char *reason;
    } rows[] = {
        {"", AMOUNT_ENERGY, "'' does not begin with a number"},
        {"kWh", AMOUNT_ENERGY, "'kWh' does not begin with a number"},
        {"-1 kWh", AMOUNT_ENERGY, "'-1 kWh' does not begin with a number"},
        {"20", AMOUNT_ENERGY, "'20' has no unit (J, kJ, MJ, GJ, Wh, kWh, MWh)"},
        {"20 kwh", AMOUNT_ENERGY, "'20 kwh' has another unit than J,"},
        {"20 mJ", AMOUNT_ENERGY, "'20 mJ' has another unit than J,"},
        {"20 kWh ", AMOUNT_ENERGY, "has another unit"},
        {"1e3 kWh", AMOUNT_ENERGY, "has another unit"},
        {"nan kWh", AMOUNT_ENERGY, "does not begin with a number"},
        {"0 kWh", AMOUNT_ENERGY, "'0 kWh' is not more than 0"},
        {"99999999 MWh", AMOUNT_ENERGY, "is too much"},
        {"5 kWh", AMOUNT_MASS, "'5 kWh' has another unit than g, kg, t"},
        {"5", AMOUNT_MASS, "'5' has no unit (g, kg, t)"},
        {"380 g", AMOUNT_INTENSITY, "has another unit than g/kWh, kg/kWh, kg/MWh"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double value = -1;
        struct err err = {0};
        assert_false(amount_parse(rows[i].text, rows[i].kind, &value, &err));
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
        enum amount kind;
        const char *text;
    } rows[] = {
        {72000000, AMOUNT_ENERGY, "20 kWh"}, {1234, AMOUNT_ENERGY, "1234 J"},      {3600, AMOUNT_ENERGY, "1 Wh"},
        {4.5e9, AMOUNT_ENERGY, "1.25 MWh"},  {12345.678, AMOUNT_MASS, "12.35 kg"}, {380, AMOUNT_INTENSITY, "380 g/kWh"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = amount_text(rows[i].value, rows[i].kind);
        double back = 0;
        assert_string_equal(text, rows[i].text);
        assert_true(amount_parse(text, rows[i].kind, &back, NULL));
        free(text);
    }
}

int main(void)
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
