#include "fixture.h"

#include "results/store/live.h"

#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "watched.h"

static void put(const struct run *run, const char *name, const char *bytes)
{
    char path[512];
    run_path(run, name, path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(bytes, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static const char slots_text[] =
    "{\"format\": 1, \"written_ns\": 5000000000, \"paused\": true, \"slots\": [{\"gpus\": "
    "[\"GPU 0\"], \"phase\": \"running\", \"experiment\": 3,"
    " \"attempt\": 1, \"started_ns\": 4000000000, \"power_w\": 301.5, \"points\": "
    "{\"power_w\": [[1, 2]], \"metrics\": {}}},"
    " {\"gpus\": 7, \"phase\": 5, \"experiment\": 4000000000, \"power_w\": \"x\"}]}";

static void readings_of_slots_are_those_of_live_json_and_absent_is_not_zero(void **state)
{
    (void)state;
    struct run run;
    struct live_run live;
    struct store *store = begin(&run);
    put(&run, LIVE_FILE, slots_text);
    open_run(&run, &live);
    assert_int_equal(live.slot_count, 2);
    assert_true(live.paused);
    assert_int_equal(live.live_ns, 5000000000);
    assert_int_equal(live.slots[0].experiment, 3);
    assert_int_equal(live.experiments[2].slot, 1);
    assert_true(live.slots[0].power_w.valid && live.slots[0].power_w.value == 301.5);
    assert_false(live.slots[0].temperature_c.valid);
    assert_int_equal(live.slots[1].experiment, 0); /* the plan has no such one */
    assert_false(live.slots[1].power_w.valid);
    json_t *json = live_run_json(&live, 0);
    assert_true(json_is_null(
        json_object_get(json_array_get(json_object_get(json, "slots"), 0), "temperature_c")));
    assert_int_equal(json_array_size(json_object_get(json, "experiments")), 3);
    json_decref(json);
    json = live_run_json(&live, live.version);
    assert_int_equal(json_array_size(json_object_get(json, "experiments")), 0);
    json_decref(json);
    char path[512];
    run_path(&run, LIVE_FILE, path);
    assert_int_equal(unlink(path), 0);
    assert_true(updated(&live));
    assert_int_equal(live.slot_count, 0);
    assert_int_equal(live.experiments[2].slot, 0);
    live_run_close(&live);
    fixture_close(store);
    run_remove(&run);
}

static void a_request_is_taken_once(void **state)
{
    (void)state;
    struct run run;
    struct live_run live;
    struct err err = {0};
    enum live_request request = LIVE_REQUESTS;
    size_t experiment = 7;
    struct store *store = begin(&run);
    open_run(&run, &live);
    assert_int_equal(live_take_request(run.dir, &request, &experiment, &err), 0);
    assert_true(live_ask(&live, LIVE_PAUSE, 0, &err));
    assert_false(live_ask(&live, LIVE_STOP, 0, &err)); /* the one before waits */
    assert_non_null(strstr(err.text, "not been taken yet"));
    assert_int_equal(live_take_request(run.dir, &request, &experiment, &err), 1);
    assert_int_equal(request, LIVE_PAUSE);
    assert_int_equal(live_take_request(run.dir, &request, &experiment, &err), 0);
    assert_false(live_ask(&live, LIVE_SKIP, 1, &err)); /* it has not begun */
    assert_non_null(strstr(err.text, "experiment 1 is not under way"));
    fixture_close(store);
    updated(&live);
    assert_false(live_ask(&live, LIVE_STOP, 0, &err));
    assert_non_null(strstr(err.text, "not under way"));
    live_run_close(&live);
    run_remove(&run);
}

static void what_is_no_request_is_removed_and_links_are_not_followed(void **state)
{
    (void)state;
    struct run run;
    struct err err = {0};
    enum live_request request;
    size_t experiment;
    static const char *const bad[] = {"", "{}", "{\"request\": \"dance\"}",
                                      "{\"request\": \"skip\", \"experiment\": -1}", "[]"};
    struct store *store = begin(&run);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put(&run, LIVE_CONTROL_FILE, bad[i]);
        assert_int_equal(live_take_request(run.dir, &request, &experiment, &err), -1);
        assert_false(run_has(&run, LIVE_CONTROL_FILE));
    }
    put(&run, "elsewhere", "{\"request\": \"stop\"}");
    assert_int_equal(symlinkat("elsewhere", run.dir, LIVE_CONTROL_FILE), 0);
    assert_int_equal(live_take_request(run.dir, &request, &experiment, &err), -1);
    assert_true(run_has(&run, "elsewhere"));
    if (geteuid() == 0) {
        char path[512];
        put(&run, LIVE_CONTROL_FILE, "{\"request\": \"stop\"}");
        run_path(&run, LIVE_CONTROL_FILE, path);
        assert_int_equal(chown(path, 12345, 12345), 0);
        assert_int_equal(live_take_request(run.dir, &request, &experiment, &err), -1);
        assert_non_null(strstr(err.text, "another user"));
    }
    store_close(store, NULL);
    run_remove(&run);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_taken_once),
        cmocka_unit_test(what_is_no_request_is_removed_and_links_are_not_followed),
        cmocka_unit_test(readings_of_slots_are_those_of_live_json_and_absent_is_not_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
