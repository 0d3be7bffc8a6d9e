#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "machine/sensors/sysfs.h"

#include <string.h>

static void events_of_a_pmu_are_read(void **state)
{
    (void)state;
    uint64_t config = 0;
    assert_true(sysfs_event_parse("event=0x1f\n", 11, &config));
    assert_int_equal(config, 31);
    assert_false(sysfs_event_parse("event=0x02,umask=0x1", 20, &config));
    assert_false(sysfs_event_parse("event=0x", 8, &config));
    assert_false(sysfs_event_parse("event=0x11112222333344445", 25, &config));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_of_a_pmu_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
