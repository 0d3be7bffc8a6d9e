#include "gpu_memory/allocator/check.h"
#include "gpu_memory/allocator/usage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "opened.h"

static void records_are_repeated_exactly(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t peak_reserved, allocated, inactive_split;
        size_t events, empty_caches, ooms, retries;
        bool complete;
    } rows[] = {
        /* allocated: 512 + 614912 + 3 MiB (its rest is not split off) + 12 MiB */
        {"split", 22 * MIB, 615424 + 15 * MIB, 22 * MIB - 615424 - 15 * MIB, 12, 0, 0, 0, true},
        {"proto2", 22 * MIB, 615424 + 15 * MIB, 22 * MIB - 615424 - 15 * MIB, 12, 0, 0, 0, true},
        {"early", 22 * MIB, 615424 + 15 * MIB, 22 * MIB - 615424 - 15 * MIB, 6, 0, 0, 0, false},
        {"emptied", 24 * MIB, 24 * MIB, 0, 9, 1, 0, 0, true},
        {"cap", 70 * MIB, 52 * MIB, 18 * MIB, 7, 0, 0, 0, true},
        {"oom", 50 * MIB, 30 * MIB, 0, 8, 0, 1, 1, true},
        {"expandable", 40 * MIB, 30 * MIB, 0, 9, 0, 0, 0, true},
        {"streams", 36 * MIB, 24 * MIB, 0, 10, 0, 0, 0, true},
        {"stacks", 32 * MIB, 16 * MIB, 16 * MIB, 5, 0, 0, 0, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct record record;
        open_record(rows[i].name, MODEL_NO_CAP, &record);
        if (!record.check.exact)
            fail_msg("%s: %s", rows[i].name, record.check.difference);
        assert_int_equal(record.check.events, rows[i].events);
        assert_int_equal(record.check.complete, rows[i].complete);
        assert_int_equal(record.check.empty_cache_count, rows[i].empty_caches);
        assert_int_equal(record.check.stats.reserved.peak, rows[i].peak_reserved);
        assert_int_equal(record.check.stats.allocated.now, rows[i].allocated);
        assert_int_equal(record.check.stats.inactive_split.now, rows[i].inactive_split);
        assert_int_equal(record.check.stats.ooms, rows[i].ooms);
        assert_int_equal(record.check.stats.retries, rows[i].retries);
        close_record(&record);
    }
}

/* One byte in one event, and the check says which event. */
static void a_record_that_no_allocator_made_is_not_exact(void **state)
{
    (void)state;
    struct record record;
    open_record("split", MODEL_NO_CAP, &record);
    check_fini(&record.check);
    record.snapshot.devices[0].events[8].addr += 512;
    check_run(&record.snapshot, 0, &record.program, MODEL_NO_CAP, 0, &record.check);
    assert_false(record.check.exact);
    assert_int_equal(record.check.differs_at, 8);
    assert_non_null(
        strstr(record.check.difference, "the record has alloc of 2621440 bytes at 0x7efffe000200"));
    record.snapshot.devices[0].events[8].addr -= 512;
    record.snapshot.blocks[0].size_bytes += 512;
    check_fini(&record.check);
    check_run(&record.snapshot, 0, &record.program, MODEL_NO_CAP, 0, &record.check);
    assert_false(record.check.exact);
    assert_int_equal(record.check.differs_at, 12);
    close_record(&record);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_repeated_exactly),
        cmocka_unit_test(a_record_that_no_allocator_made_is_not_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
