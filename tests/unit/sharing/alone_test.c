#include "sharing/alone.h"
#include "sharing/choose.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/json.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

#include "measured.h"

static void what_ran_alone_gives_peak_margin_and_the_room_on_the_gpu(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    take_alone(&study);
    near(study.models[0].shape.peak, 1100 * MIB);
    near(study.models[0].seconds, 11);
    near(study.models[0].joules, 2100);
    /* The peaks lie 100 MiB apart; b's are equal: 16 MiB. */
    assert_true(study.models[0].margin_bytes == 100 * MIB &&
                study.models[1].margin_bytes == 16 * MIB);
    assert_true(study.models[0].source == SOURCE_JOB && study.models[1].source == SOURCE_DEVICE);
    feasibility_predict(&study, 0);
    /* 8192 - 100 in use - 200 reserved. */
    assert_true(study.room.total_bytes == 8192 * MIB && study.room.available_bytes == 7892 * MIB);
    assert_true(study.pairs[0].prediction.fits &&
                study.pairs[0].prediction.safe_bytes == 1500 * MIB);
    assert_true(study.pairs[0].prediction.margin_bytes == 116 * MIB);
    feasibility_predict(&study, 1500 * MIB);
    assert_false(study.pairs[0].prediction.fits);
    feasibility_fini(&study);
}

/* a's readings show 1000 MiB, contexts and all; its processes held counted beside each other, and
 * contexts took what is told. */
static void take_counted(struct feasibility *study, const char *counted)
{
    AUTO_FREE char *text = mem_printf(
        "{\"experiments\": [{\"tare\": {\"outcome\": \"succeeded\", \"attempts\": "
        "[{\"duration_seconds\": 10, "
        "\"memory\": {\"gpus\": [{\"of\": \"job\", \"total_bytes\": 8589934592, \"counted\": %s, "
        "\"curve\": {\"peak_bytes\": 1048576000, \"step_s\": 1.0, "
        "\"bytes\": [314572800, 1048576000, 1048576000]}}]}}]}}," ALONE(419430400, "job", 4,
                                                                        800) "]}",
        counted);
    json_t *json = parsed(text);
    json_decref(take_runs(study, json, 1));
    json_decref(json);
    feasibility_predict(study, 0);
}

static void the_bound_has_what_several_processes_held_and_their_contexts(void **state)
{
    (void)state;
    const struct {
        const char *counted;
        double peak_mib;
    } cases[] = {
        /* 1500 together + 630; the largest of them alone is less. */
        {"{\"processes\": 2, \"peak_bytes\": null, \"held_peak_bytes\": 1258291200, "
         "\"sum_peak_bytes\": 1572864000, "
         "\"context_bytes\": 660602880}",
         2130},
        /* By an earlier version, which told of the largest alone: 1200 + 630. */
        {"{\"processes\": 2, \"peak_bytes\": null, \"held_peak_bytes\": 1258291200, "
         "\"context_bytes\": 660602880}",
         1830},
        /* Contexts that nobody told have no more than the first reading: 1500 + 300. */
        {"{\"processes\": 2, \"peak_bytes\": null, \"held_peak_bytes\": 1258291200, "
         "\"sum_peak_bytes\": 1572864000, "
         "\"context_bytes\": null}",
         1800},
        /* Nothing beyond the readings: 200 + 630. */
        {"{\"processes\": 2, \"peak_bytes\": null, \"held_peak_bytes\": 209715200, "
         "\"sum_peak_bytes\": 209715200, "
         "\"context_bytes\": 660602880}",
         1000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct feasibility study;
        begin(&study);
        take_counted(&study, cases[i].counted);
        const struct pairs_prediction *prediction = &study.pairs[0].prediction;
        near(study.models[0].shape.peak, cases[i].peak_mib * MIB);
        assert_true(prediction->safe_bytes == (cases[i].peak_mib + 400) * MIB);
        /* When they held it nobody knows: it can meet b's peak. */
        assert_true(prediction->aligned_bytes == prediction->safe_bytes);
        /* It is in the bound, not once more in the margin: a hundredth, or 16 MiB; b's is 16. */
        assert_true(fabs(study.models[0].margin_bytes - fmax(0.01 * cases[i].peak_mib, 16) * MIB) <
                    1);
        feasibility_fini(&study);
    }
}

static void one_that_ran_out_of_memory_alone_has_a_cause_and_something_to_try(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    json_t *json = parsed(
        "{\"experiments\": [{\"tare\": {\"outcome\": \"failed\", \"failure\": {\"cause\": "
        "\"out_of_memory\"}, \"attempts\": [{\"error\": \"exit code 1\", \"oom\": {\"reasons\": "
        "[\"2.00 GiB was asked for\"], \"remedies\": []}}]}}," ALONE(419430400, "job", 4,
                                                                     800) "]}");
    json_decref(take_runs(&study, json, 1));
    json_decref(json);
    assert_string_equal(study.models[0].error, "out of memory: 2.00 GiB was asked for");
    assert_string_equal(study.models[0].proposal,
                        "a smaller batch, with gradient accumulation for the same effective batch");
    feasibility_fini(&study);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ran_alone_gives_peak_margin_and_the_room_on_the_gpu),
        cmocka_unit_test(the_bound_has_what_several_processes_held_and_their_contexts),
        cmocka_unit_test(one_that_ran_out_of_memory_alone_has_a_cause_and_something_to_try),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
