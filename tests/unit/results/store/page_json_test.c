/* The JSON of a run as the page takes it. */
#include "base/json.h"
#include "results/store/page_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static json_t *parsed(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    return json;
}

static void a_slim_experiment_leaves_out_bulk_and_spells_large_numbers(void **state)
{
    (void)state;
    json_t *json = parsed(
        "{\"experiment_id\": \"a\", \"number\": 7, \"hyperparameters\": {\"seed\": "
        "9007199254740993, \"n\": 2}, \"spans\": [{\"from_ms\": 1}, {\"from_ms\": 2500}],"
        " \"tare\": {\"parallel\": {\"looks\": [1], \"kept\": 1}, \"energy\": {\"gpu\": {"
        "\"joules\": 1, \"budget\": {\"components\": [{\"component\": \"edges\", \"type\": \"B\","
        " \"u\": 0.123456, \"contribution_j\": null}]}}, \"dram\": {\"budget\": {}},"
        " \"devices\": [{\"budget\": {}}]}, \"attempts\": [{\"number\": 1, \"energy\": {}},"
        " {\"number\": 2, \"parallel\": {\"looks\": []}}]}}");
    json_t *expected = parsed(
        "{\"experiment_id\": \"a\", \"number\": 7, \"hyperparameters\": {\"seed\": "
        "\"9007199254740993\", \"n\": 2}, \"spans\": [{\"from_ms\": 1}, {\"from_ms\": 2500}],"
        " \"tare\": {\"parallel\": {\"kept\": 1}, \"energy\": {\"gpu\": {"
        "\"joules\": 1, \"budget\": {\"rows\": [[\"edges\", \"B\", 0.1235, null, null, null, null,"
        " null]]}}, \"dram\": {}, \"devices\": [{}]}, \"attempts\": [{\"number\": 1},"
        " {\"number\": 2, \"parallel\": {}}]}}");
    struct page_json_item item;
    json_t *slim = page_json_slim(json, &item);
    assert_true(json_equal(slim, expected));
    assert_string_equal(item.id, "a");
    assert_int_equal(item.number, 7);
    assert_true(item.start_s == 2.5);
    json_decref(json);
    json_decref(slim);
    json_decref(expected);
}

struct seen {
    size_t count;
    struct page_json_snapshot last;
};

static void note(void *context, const struct page_json_snapshot *snapshot)
{
    struct seen *seen = context;
    seen->count++;
    seen->last = *snapshot;
}

static void snapshots_are_those_that_attempts_name(void **state)
{
    (void)state;
    json_t *run =
        parsed("{\"experiments\": [{\"experiment_id\": \"a\", \"tare\": {\"attempts\": ["
               "{\"number\": 1, \"snapshot\": {\"file\": \"x\"}}, {\"number\": 2,"
               " \"snapshot\": null}]}}, {\"experiment_id\": \"b\", \"tare\": {\"attempts\":"
               " [{\"number\": 4, \"snapshot\": {\"file\": \"y\"}}]}}]}");
    struct seen seen = {0};
    page_json_each_snapshot(run, note, &seen);
    assert_int_equal(seen.count, 2);
    assert_string_equal(seen.last.id, "b");
    assert_string_equal(seen.last.file, "y");
    assert_int_equal(seen.last.attempt, 4);
    assert_true(seen.last.last);
    json_decref(run);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slim_experiment_leaves_out_bulk_and_spells_large_numbers),
        cmocka_unit_test(snapshots_are_those_that_attempts_name),
    };
    return cmocka_run_group_tests_name("page json", tests, NULL, NULL);
}
