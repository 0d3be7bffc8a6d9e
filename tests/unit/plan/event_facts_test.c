/* The data of events as typed values. */
#include "base/json.h"
#include "plan/event_facts.h"

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

static void an_event_gives_what_it_has_and_defaults_for_the_rest(void **state)
{
    (void)state;
    struct event event = {
        .type = EVENT_EXPERIMENT_ENDED,
        .data = parsed("{\"outcome\": \"failed\", \"retries\": 2, \"error\": null, \"value\": "
                       "\"nan\", \"gpus\": [\"GPU 0\", \"GPU 1\"], \"metrics\": {\"loss\": 0.5,"
                       " \"f1\": null}, \"energy\": {\"gpu\": {\"joules\": 3}},"
                       " \"failure\": {\"cause\": \"hung\"}, \"paused\": false,"
                       " \"bars\": [{\"name\": \"a\", \"done\": 1.5, \"latest\": true}]}")};
    struct event_facts facts;
    event_facts_read(&event, &facts);
    assert_string_equal(facts.outcome, "failed");
    assert_int_equal(facts.retries, 2);
    assert_null(facts.error);
    assert_true(facts.value.valid && facts.value.value != facts.value.value);
    assert_int_equal(facts.gpus.count, 2);
    assert_int_equal(facts.metric_count, 2);
    assert_string_equal(facts.metrics[0].name, "loss");
    assert_false(facts.metrics[1].value.valid);
    assert_true(facts.gpu_j.value == 3 && !facts.cpu_j.valid);
    assert_string_equal(facts.cause, "hung");
    assert_true(facts.paused.valid && facts.paused.value == 0);
    assert_true(facts.kernel_backed && facts.begun && facts.settled);
    json_t *bars = event_bars_json(&facts),
           *expected = parsed("[{\"name\": \"a\", \"first\": null, \"done\": 1.5, \"total\": null,"
                              " \"restarts\": 0, \"latest\": true}]");
    assert_true(json_equal(bars, expected));
    json_decref(bars);
    json_decref(expected);
    event_facts_fini(&facts);
    event_fini(&event);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_gives_what_it_has_and_defaults_for_the_rest),
    };
    return cmocka_run_group_tests_name("event facts", tests, NULL, NULL);
}
