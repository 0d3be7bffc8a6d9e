/* An experiment as its run keeps it is read into a struct; what is wrong in it is absent. */
#include "sharing/result.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include <string.h>

static json_t *parsed(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    return json;
}

static void the_last_attempt_counts(void **state)
{
    (void)state;
    json_t *json =
        parsed("{\"experiment_id\": \"zoo_a_001\", \"foreground\": {\"performance_metrics\": "
               "{\"loss\": 1}}, "
               "\"tare\": {\"outcome\": \"failed\", \"verdict\": \"suspect\", "
               "\"failure\": {\"cause\": \"out_of_memory\"}, \"attempts\": ["
               "{\"error\": \"first\", \"duration_seconds\": 1}, "
               "{\"error\": \"second\", \"duration_seconds\": 2, "
               "\"memory\": {\"gpus\": [{\"of\": \"job\", \"curve\": {\"peak_bytes\": 7}, "
               "\"counted\": {\"context_bytes\": 3}}]}, "
               "\"oom\": {\"reasons\": [\"too large\", \"too many\"], "
               "\"remedies\": [{\"name\": \"a\", \"what\": \"b\"}]}}]}}");
    struct result result;
    result_read(json, &result);
    assert_string_equal(result.experiment, "zoo_a_001");
    assert_true(result.outcome == RESULT_FAILED && result.verdict == VERDICT_SUSPECT);
    assert_string_equal(result.cause, "out_of_memory");
    assert_string_equal(result_error(&result), "second");
    assert_true(result.seconds.valid && result.seconds.value == 2);
    assert_int_equal(result.gpu_count, 1);
    assert_true(result.gpus[0].curve_peak_bytes.value == 7 &&
                result.gpus[0].context_bytes.value == 3 && !result.gpus[0].total_bytes.valid);
    assert_true(result.oom && json_object_size(result.metrics) == 1);
    assert_string_equal(result.reason, "too large");
    assert_string_equal(result_remedy(&result, "a"), "b");
    assert_null(result_remedy(&result, "b"));
    result_fini(&result);
    json_decref(json);
}

static void what_is_wrong_or_missing_is_absent(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{}", "[1]",
        "{\"tare\": {\"outcome\": \"stopped\", \"verdict\": \"good\", \"attempts\": {}, "
        "\"evidence\": 1, \"guard\": \"x\", \"parallel\": {\"background\": {\"succeeded\": -1, "
        "\"load\": {\"alone_s\": \"long\"}, \"loops\": null}}}}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct result result;
        json_t *json = parsed(texts[i]);
        result_read(json, &result);
        assert_true(result.outcome == RESULT_OTHER && result.verdict == VERDICTS);
        assert_true(!result.seconds.valid && !result.oom && result.alone_s == 0);
        assert_true(result.gpu_count + result.evidence_count + result.check_count +
                        result.loop_count + result.succeeded ==
                    0);
        assert_string_equal(result_error(&result), "it is not known why");
        result_fini(&result);
        json_decref(json);
    }
}

static void of_a_run_alone_the_last_attempt_is_kept(void **state)
{
    (void)state;
    json_t *json = parsed("{\"experiment_id\": \"x\", \"tare\": {\"outcome\": \"succeeded\", "
                          "\"verdict\": \"clean\", \"energy\": {\"gpu\": {\"joules\": 5}}, "
                          "\"attempts\": [{\"number\": 1}, "
                          "{\"number\": 2, \"error\": null, \"log\": \"l\", \"memory\": {}}]}}");
    json_t *kept = result_alone(json);
    json_t *expected = parsed("{\"tare\": {\"outcome\": \"succeeded\", "
                              "\"energy\": {\"gpu\": {\"joules\": 5}}, "
                              "\"attempts\": [{\"number\": 2, \"memory\": {}}]}}");
    assert_true(json_equal(kept, expected));
    json_decref(kept);
    json_decref(expected);
    json_decref(json);
    json = json_object();
    kept = result_alone(json);
    expected = parsed("{\"tare\": {\"energy\": {}, \"attempts\": []}}");
    assert_true(json_equal(kept, expected));
    json_decref(kept);
    json_decref(expected);
    json_decref(json);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_attempt_counts),
        cmocka_unit_test(what_is_wrong_or_missing_is_absent),
        cmocka_unit_test(of_a_run_alone_the_last_attempt_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
