#include "measure/calibration/calibration_permit.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include <string.h>

static const double MIB = 1048576;

/* An empty, idle, whole GPU; its driver counts its own memory apart. */
static struct calibration_look free_gpu(void)
{
    struct calibration_look look = {.users.told = true};
    look.identity.mig = GPU_MIG_OFF;
    look.identity.shared_by_host = look.identity.display = GPU_ANSWER_NO;
    look.readings.of[GPU_MEMORY_USED_BYTES] = (struct reading){64 * MIB, true};
    look.readings.of[GPU_MEMORY_RESERVED_BYTES] = (struct reading){500 * MIB, true};
    look.readings.of[GPU_CLOCK_REASONS] = (struct reading){GPU_CLOCK_IDLE, true};
    look.readings.of[GPU_UTILISATION_PERCENT] = (struct reading){0, true};
    return look;
}

static void assert_refused(const struct calibration_look *look, const char *reason)
{
    struct err err = {0};
    assert_false(calibration_permits(look, &err));
    assert_string_equal(err.text, reason);
}

static void a_free_gpu_may_be_calibrated(void **state)
{
    (void)state;
    struct calibration_look look = free_gpu();
    assert_true(calibration_permits(&look, NULL));
    look.readings.of[GPU_CLOCK_REASONS].value = GPU_CLOCK_APPLICATION_SETTING;
    assert_true(calibration_permits(&look, NULL));
}

static void a_gpu_that_is_shared_or_shows_a_display_may_not(void **state)
{
    (void)state;
    struct calibration_look look = free_gpu();
    look.identity.mig = GPU_MIG_ON;
    assert_refused(&look, "it is divided into parts (MIG)");
    look.identity.mig = GPU_MIG_PART;
    assert_refused(&look, "it is divided into parts (MIG)");
    look = free_gpu();
    look.identity.shared_by_host = GPU_ANSWER_YES;
    assert_refused(&look, "it is a vGPU, or divided into some");
    look.identity.shared_by_host = GPU_ANSWER_UNKNOWN;
    assert_refused(&look, "its driver does not say whether it is a vGPU");
    look = free_gpu();
    look.identity.display = GPU_ANSWER_YES;
    assert_refused(&look, "a display is active on it");
    look.identity.display = GPU_ANSWER_UNKNOWN;
    assert_refused(&look, "its driver does not say whether a display is active");
}

static void a_gpu_that_is_in_use_may_not(void **state)
{
    (void)state;
    struct calibration_look look = free_gpu();
    look.users.told = false;
    assert_refused(&look, "its driver does not list the processes on it");
    look = free_gpu();
    look.users.count = 1;
    look.users.users[0].pid = 4711;
    assert_refused(&look, "process 4711 is on it");
    look = free_gpu();
    look.readings.of[GPU_MEMORY_USED_BYTES].value = 65 * MIB;
    assert_refused(&look, "65 MiB of its memory are in use, and no process is listed");
    look.readings.of[GPU_MEMORY_USED_BYTES].valid = false;
    assert_refused(&look, "its driver does not say how much of its memory is in use");
}

/* Older drivers count it with the rest: some hundred MiB. */
static void the_drivers_own_memory_is_no_use(void **state)
{
    (void)state;
    struct calibration_look look = free_gpu();
    look.readings.of[GPU_MEMORY_RESERVED_BYTES].valid = false;
    look.readings.of[GPU_MEMORY_USED_BYTES].value = 1024 * MIB;
    assert_true(calibration_permits(&look, NULL));
    look.readings.of[GPU_MEMORY_USED_BYTES].value = 1025 * MIB;
    assert_refused(&look, "1025 MiB of its memory are in use, and no process is listed");
}

static void a_gpu_that_is_busy_or_slowed_down_may_not(void **state)
{
    (void)state;
    static const unsigned slow[] = {GPU_CLOCK_POWER_CAP, GPU_CLOCK_HW_SLOWDOWN,
                                    GPU_CLOCK_SW_THERMAL, GPU_CLOCK_HW_THERMAL,
                                    GPU_CLOCK_POWER_BRAKE};
    struct calibration_look look = free_gpu();
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
        look.readings.of[GPU_CLOCK_REASONS].value = slow[i] | GPU_CLOCK_IDLE;
        assert_refused(&look, "heat or power slow it down");
    }
    look.readings.of[GPU_CLOCK_REASONS].valid = false;
    assert_refused(&look, "its driver does not say whether heat or power slow it down");
    look = free_gpu();
    look.readings.of[GPU_UTILISATION_PERCENT].value = 1;
    assert_refused(&look, "it is busy (1 %)");
    look.readings.of[GPU_UTILISATION_PERCENT].valid = false;
    assert_refused(&look, "its driver does not say whether it is busy");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_free_gpu_may_be_calibrated),
        cmocka_unit_test(a_gpu_that_is_shared_or_shows_a_display_may_not),
        cmocka_unit_test(a_gpu_that_is_in_use_may_not),
        cmocka_unit_test(the_drivers_own_memory_is_no_use),
        cmocka_unit_test(a_gpu_that_is_busy_or_slowed_down_may_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
