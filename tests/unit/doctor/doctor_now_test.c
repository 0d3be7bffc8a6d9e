/* What doctor makes of a look at one GPU. */
#include "doctor/doctor_now.h"
#include "doctor/doctor_text.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "session/command.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define MIB 1048576.0

static struct gpu_readings readings;
static struct gpu_users users;
static struct gpu_identity identity;
static struct doctor_gpu gpu;
static struct findings findings;

/* Nothing in them weighs against the machine, as far as the kernel keeps the promise. */
static bool any_wrong(const struct findings *found)
{
    const struct doctor_page page = {.findings = found, .kernel_backed = true};
    return !doctor_fit(&page);
}

static void set(enum gpu_reading which, double value)
{
    readings.of[which] = (struct reading){value, true};
}

/* An empty, idle GPU whose driver tells everything. */
static int setup(void **state)
{
    (void)state;
    memset(&readings, 0, sizeof readings);
    users = (struct gpu_users){0};
    identity = (struct gpu_identity){.mig = GPU_MIG_OFF, .persistence = GPU_PERSISTENCE_ON};
    gpu = (struct doctor_gpu){.label = "GPU 0",
                              .vendor = &gpu_vendor_nvidia,
                              .proc = "/proc",
                              .readings = &readings,
                              .identity = &identity,
                              .users = &users};
    set(GPU_UTILISATION_PERCENT, 0);
    set(GPU_POWER_INSTANT_W, 77);
    set(GPU_TEMPERATURE_C, 28);
    set(GPU_SM_CLOCK_MHZ, 345);
    set(GPU_MEMORY_USED_BYTES, 0);
    set(GPU_MEMORY_RESERVED_BYTES, 615 * MIB);
    set(GPU_CLOCK_REASONS, GPU_CLOCK_IDLE);
    set(GPU_ECC_UNCORRECTED, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    findings_fini(&findings);
    return 0;
}

static const struct finding *look(const char *name)
{
    findings_fini(&findings);
    doctor_now_gpu(&gpu, &findings);
    for (size_t i = 0; i < findings.count; i++)
        if (strcmp(findings.items[i].name, name) == 0)
            return &findings.items[i];
    return NULL;
}

static void expect(const char *name, enum finding_mark mark, const char *text)
{
    const struct finding *finding = look(name);
    assert_non_null(finding);
    assert_int_equal(finding->mark, mark);
    assert_string_equal(finding->text, text);
    if (mark == FINDING_WRONG)
        assert_non_null(finding->mend);
}

static void an_idle_and_empty_gpu_is_fit(void **state)
{
    (void)state;
    expect("gpu idle", FINDING_YES, "GPU 0: busy 0 % of the time, 77 W, 28 °C, 345 MHz");
    expect("gpu empty", FINDING_YES, "GPU 0: no process computes on it");
    expect("gpu throttling", FINDING_YES, "GPU 0: nothing slows it down");
    expect("persistence", FINDING_YES, "GPU 0: stays set up between trainings");
    assert_false(any_wrong(&findings));
    assert_null(look("gpu memory"));
    assert_null(look("gpu whole"));
}

static void a_gpu_that_works_is_not(void **state)
{
    (void)state;
    set(GPU_UTILISATION_PERCENT, 5);
    assert_int_equal(look("gpu idle")->mark, FINDING_YES);
    set(GPU_UTILISATION_PERCENT, 6);
    expect("gpu idle", FINDING_WRONG, "GPU 0: busy 6 % of the time, 77 W, 28 °C, 345 MHz");
    readings.of[GPU_UTILISATION_PERCENT].valid = false;
    assert_int_equal(look("gpu idle")->mark, FINDING_UNCHECKED);
}

static void whoever_computes_on_it_is_named(void **state)
{
    (void)state;
    users.users[0] =
        (struct gpu_user){.pid = 999999999, .compute = true, .memory_bytes = {5500 * MIB, true}};
    users.count = 1;
    set(GPU_MEMORY_USED_BYTES, 5500 * MIB);
    expect(
        "gpu empty", FINDING_WRONG,
        "GPU 0: used by pid 999999999 (not seen here: of another container, or hidden), 5500 MiB");
    users.users[0].pid = getpid();
    const struct finding *finding = look("gpu empty");
    assert_non_null(strstr(finding->text, program_invocation_short_name));
    const json_t *process = json_array_get(json_object_get(finding->data, "processes"), 0);
    assert_int_equal(json_integer_value(json_object_get(process, "pid")), getpid());
    assert_int_equal((json_int_t)json_real_value(json_object_get(process, "memory_bytes")),
                     5767168000);
}

static void a_display_belongs_to_the_empty_gpu(void **state)
{
    (void)state;
    users.users[0] =
        (struct gpu_user){.pid = 1, .graphics = true, .memory_bytes = {300 * MIB, true}};
    users.count = 1;
    set(GPU_MEMORY_USED_BYTES, 320 * MIB);
    expect("gpu empty", FINDING_YES,
           "GPU 0: no process computes on it (a display has it, which counts as empty)");
}

static void memory_that_no_process_has_is_found(void **state)
{
    (void)state;
    set(GPU_MEMORY_USED_BYTES, 64 * MIB);
    assert_int_equal(look("gpu empty")->mark, FINDING_YES);
    set(GPU_MEMORY_USED_BYTES, 700 * MIB);
    expect("gpu empty", FINDING_WRONG,
           "GPU 0: 700 MiB are in use, and no process is seen that has them");
    /* An older driver counts its own with the rest. */
    readings.of[GPU_MEMORY_RESERVED_BYTES].valid = false;
    assert_int_equal(look("gpu empty")->mark, FINDING_YES);
}

static void a_driver_that_does_not_tell_its_processes_is_doubted(void **state)
{
    (void)state;
    gpu.users = NULL;
    gpu.users_why = "no permission";
    expect("gpu empty", FINDING_UNCHECKED,
           "GPU 0: who uses it is not told, so nobody can say that it is ours alone");
    assert_string_equal(look("gpu empty")->reason, "no permission");
}

static void brakes_of_the_hardware_fail_and_those_of_the_driver_warn(void **state)
{
    (void)state;
    static const enum gpu_clock_reason hardware[] = {GPU_CLOCK_HW_SLOWDOWN, GPU_CLOCK_HW_THERMAL,
                                                     GPU_CLOCK_POWER_BRAKE};
    for (size_t i = 0; i < 3; i++) {
        set(GPU_CLOCK_REASONS, hardware[i] | GPU_CLOCK_SW_THERMAL);
        assert_int_equal(look("gpu throttling")->mark, FINDING_WRONG);
    }
    set(GPU_CLOCK_REASONS, GPU_CLOCK_SW_THERMAL);
    expect("gpu throttling", FINDING_NO, "GPU 0: the driver slows it down, for heat");
    set(GPU_CLOCK_REASONS, GPU_CLOCK_POWER_CAP | GPU_CLOCK_APPLICATION_SETTING);
    assert_int_equal(look("gpu throttling")->mark, FINDING_YES);
}

static void faults_and_settings_that_cost_are_told(void **state)
{
    (void)state;
    set(GPU_ECC_UNCORRECTED, 2);
    expect("gpu memory", FINDING_NO,
           "GPU 0: 2 memory errors could not be corrected since the driver was loaded");
    identity.persistence = GPU_PERSISTENCE_OFF;
    assert_int_equal(look("persistence")->mark, FINDING_NO);
    identity.persistence = GPU_PERSISTENCE_UNKNOWN;
    assert_int_equal(look("persistence")->mark, FINDING_FACT);
    identity.mig = GPU_MIG_ON;
    assert_int_equal(look("gpu whole")->mark, FINDING_WRONG);
}

static void a_gpu_that_does_not_answer_fails(void **state)
{
    (void)state;
    gpu.readings = NULL;
    gpu.why = "it hangs";
    expect("gpu answers", FINDING_WRONG, "GPU 0: what it does now is not told");
    assert_string_equal(look("gpu answers")->reason, "it hangs");
    assert_int_equal(findings.count, 1);
}

UNIT_TESTS(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_idle_and_empty_gpu_is_fit),
        TEST(a_gpu_that_works_is_not),
        TEST(whoever_computes_on_it_is_named),
        TEST(a_display_belongs_to_the_empty_gpu),
        TEST(memory_that_no_process_has_is_found),
        TEST(a_driver_that_does_not_tell_its_processes_is_doubted),
        TEST(brakes_of_the_hardware_fail_and_those_of_the_driver_warn),
        TEST(faults_and_settings_that_cost_are_told),
        TEST(a_gpu_that_does_not_answer_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
