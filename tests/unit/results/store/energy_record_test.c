/* The energy of an attempt, read from its JSON. */
#include "base/json.h"
#include "results/store/energy_record.h"

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

static void an_energy_record_has_what_was_recorded_and_nothing_else(void **state)
{
    (void)state;
    json_t *json = parsed(
        "{\"energy\": {\"gpu\": {\"joules\": 12.5, \"half_width_j\": null, \"source\": \"counter\","
        " \"utilisation_max_percent\": 0, \"budget\": {\"components\": ["
        "{\"component\": \"edges\", \"contribution_j\": 0.5},"
        " {\"component\": \"gain\", \"contribution_j\": null}]}}, \"dram\": null,"
        " \"host\": {\"others_share\": 0.25, \"user_s\": \"much\"},"
        " \"devices\": [{\"device\": \"GPU 0\", \"power_limit_w\": 700}, {\"device\": 3}]},"
        " \"memory\": {\"gpus\": [{\"device\": \"GPU 0\", \"of\": \"job\", \"counted\": {},"
        " \"curve\": {\"peak_bytes\": 1024}}, {\"device\": \"GPU 1\"}]}}");
    struct attempt_use use;
    attempt_use_read(json, &use);
    json_decref(json);
    const struct energy_figures *gpu = &use.energy.gpu;
    assert_true(use.has_energy && use.energy.has_gpu);
    assert_true(gpu->energy_j.valid && gpu->energy_j.value == 12.5);
    assert_false(gpu->half_width_j.valid);
    assert_string_equal(gpu->source, "counter");
    assert_true(gpu->utilisation_max_percent.valid);
    assert_int_equal(gpu->component_count, 2);
    assert_true(gpu->components[0].contribution_j.value == 0.5);
    assert_string_equal(gpu->components[1].name, "gain");
    assert_false(gpu->components[1].contribution_j.valid);
    assert_false(use.energy.dram.energy_j.valid);
    assert_true(use.energy.others_share.value == 0.25);
    assert_false(use.energy.user_s.valid); /* a text is no number */
    assert_int_equal(use.energy.device_count, 2);
    assert_true(energy_record_device(&use.energy, "GPU 0")->power_limit_w.value == 700);
    assert_null(energy_record_device(&use.energy, "GPU 1"));
    assert_int_equal(use.gpu_count, 2);
    assert_true(use.gpus[0].is_counted && use.gpus[0].peak_bytes.value == 1024);
    assert_false(use.gpus[1].is_counted || use.gpus[1].peak_bytes.valid);
    attempt_use_fini(&use);
}

static void an_attempt_without_energy_has_none(void **state)
{
    (void)state;
    json_t *json = parsed("{\"energy\": null}");
    struct attempt_use use;
    attempt_use_read(json, &use);
    assert_false(use.has_energy || use.energy.has_gpu || use.energy.gpu.energy_j.valid);
    assert_int_equal(use.energy.device_count, 0);
    attempt_use_fini(&use);
    attempt_use_read(NULL, &use);
    assert_false(use.has_energy);
    attempt_use_fini(&use);
    json_decref(json);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_energy_record_has_what_was_recorded_and_nothing_else),
        cmocka_unit_test(an_attempt_without_energy_has_none),
    };
    return cmocka_run_group_tests_name("energy record", tests, NULL, NULL);
}
