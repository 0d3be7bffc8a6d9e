/* The data of the page of a small snapshot, as tests/data/memory/traces.py made it by hand. */
#include "report/memory_data.h"
#include "report/memory_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static void columns_are_arrays_in_base64(void **state)
{
    (void)state;
    struct snapshot snapshot;
    struct memory_report report;
    struct memory_question question = {.path = "emptied",
                                       .cap_bytes = MODEL_NO_CAP,
                                       .recorded_cap_bytes = MODEL_NO_CAP,
                                       .rows = 8};
    assert_true(snapshot_load(PROJECT_ROOT "/tests/data/memory/emptied.pickle", &snapshot, NULL));
    assert_true(memory_look(&question, &snapshot, 0, &report, NULL));
    json_t *json = memory_data_json(&report);
    /* Born at the events 1, 6 and 8 of 9: base64.b64encode(struct.pack("<3i", 1, 6, 8)). */
    assert_string_equal(json_string_value(json_object_get(json, "born")), "AQAAAAYAAAAIAAAA");
    /* The first is freed at event 2; the others stay: 2, 9, 9. */
    assert_string_equal(json_string_value(json_object_get(json, "died")), "AgAAAAkAAAAJAAAA");
    /* struct.pack("<3d", 10 << 20, 12 << 20, 12 << 20) */
    assert_string_equal(json_string_value(json_object_get(json, "size")),
                        "AAAAAAAAZEEAAAAAAABoQQAAAAAAAGhB");
    assert_int_equal(json_integer_value(json_object_get(json, "events")), 9);
    assert_int_equal(json_array_size(json_object_get(json, "segments")), 4);
    assert_int_equal(json_array_size(json_object_get(json, "merged")), 0);
    assert_true(json_is_null(json_object_get(json, "merged_curve")));
    json_decref(json);
    memory_report_fini(&report);
    snapshot_fini(&snapshot);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(columns_are_arrays_in_base64)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
