/* NVIDIA's library, played by tests/fake: each reading is the scenario's, and what is missing is
 * absent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "played.h"

#include "base/clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct played played;

static double reading(enum gpu_reading which)
{
    struct gpu_readings readings;
    struct err err = {0};
    if (!gpu_readings_take(&nvml_backend, played.sensor, &readings, &err))
        fail_msg("%s", err.text);
    if (!readings.of[which].valid)
        fail_msg("%s is absent", gpu_reading_rows[which].name);
    return readings.of[which].value;
}

static int valid_count(void)
{
    struct gpu_readings readings;
    struct err err = {0};
    int count = 0;
    assert_true(gpu_readings_take(&nvml_backend, played.sensor, &readings, &err));
    for (int i = 0; i < GPU_READING_COUNT; i++)
        count += readings.of[i].valid;
    return count;
}

/* The error of the group of this name. */
static struct err group_error(const char *name)
{
    struct gpu_readings readings = {0};
    struct err err = {0};
    for (size_t i = 0; i < nvml_backend.group_count; i++)
        if (strcmp(nvml_backend.group_name(i), name) == 0) {
            assert_false(nvml_backend.group_read(played.sensor, i, &readings, &err));
            return err;
        }
    fail_msg("there is no group %s", name);
    return err;
}

/* There was no Xid, so there is no last one. */
enum { LEFT_OUT = 1 };

static void each_reading_is_the_scenarios(void **state)
{
    (void)state;
    /* At 690 W for a long time: 24 C + 0.023 K/W x 690 W = 39.87 C; the memory is 6 K warmer. */
    play(&played, NULL, "0", 1000, "step 0 690\nlimit_w 695\necc 3\nleak 1073741824\n");
    assert_near(reading(GPU_POWER_INSTANT_W), 690, 0.001);
    assert_near(reading(GPU_POWER_AVERAGE_W), 690, 0.0011);
    assert_near(reading(GPU_POWER_USAGE_W), 690, 0.001);
    assert_near(reading(GPU_POWER_LIMIT_W), 695, 0);
    assert_near(reading(GPU_TEMPERATURE_C), 40, 0);
    assert_near(reading(GPU_MEMORY_TEMPERATURE_C), 46, 0);
    assert_near(reading(GPU_SM_CLOCK_MHZ), 1980, 0);
    assert_near(reading(GPU_MEMORY_CLOCK_MHZ), 3201, 0);
    assert_near(reading(GPU_CLOCK_REASONS), GPU_CLOCK_POWER_CAP, 0);
    assert_near(reading(GPU_UTILISATION_PERCENT), 97, 0);
    assert_near(reading(GPU_MEMORY_UTILISATION_PERCENT), 41, 0);
    assert_near(reading(GPU_MEMORY_USED_BYTES), 1073741824, 0);
    assert_near(reading(GPU_MEMORY_TOTAL_BYTES), 150754820096, 0);
    assert_near(reading(GPU_MEMORY_RESERVED_BYTES), 644874240, 0);
    assert_near(reading(GPU_ECC_UNCORRECTED), 3, 0);
    assert_near(reading(GPU_XID_COUNT), 0, 0);
    assert_int_equal(valid_count(), GPU_READING_COUNT - LEFT_OUT);
    play_end(&played);
}

static void an_idle_gpu_idles(void **state)
{
    (void)state;
    play(&played, NULL, "0", 1000, "idle_w 77\n");
    assert_near(reading(GPU_POWER_INSTANT_W), 77, 0.001);
    assert_near(reading(GPU_SM_CLOCK_MHZ), 345, 0);
    assert_near(reading(GPU_UTILISATION_PERCENT), 0, 0);
    assert_near(reading(GPU_MEMORY_USED_BYTES), 0, 0);
    assert_near(reading(GPU_CLOCK_REASONS), GPU_CLOCK_IDLE, 0);
    assert_string_equal(gpu_clock_reason_name(GPU_CLOCK_IDLE), "idle");
    assert_string_equal(gpu_clock_reason_name(GPU_CLOCK_DISPLAY_SETTING), "display-setting");
    assert_null(gpu_clock_reason_name(0x200));
    play_end(&played);
}

static void a_gpu_is_named_by_what_the_driver_says(void **state)
{
    (void)state;
    struct gpu_identity who;
    play(&played, NULL, "GPU-00000000-0000-4000-8000-000000000001", 0,
         "gpus 2\ngpu 1\nname NVIDIA L4\n");
    nvml_backend.identify(played.sensor, &who);
    assert_int_equal(who.index, 1);
    assert_string_equal(who.name, "NVIDIA L4");
    assert_string_equal(who.uuid, "GPU-00000000-0000-4000-8000-000000000001");
    assert_string_equal(who.pci, "00000000:C2:00.0");
    assert_string_equal(who.driver, "580.159.04");
    assert_string_equal(who.library, "13.580.159.04");
    assert_int_equal(who.mig, GPU_MIG_OFF);
    assert_int_equal(who.persistence, GPU_PERSISTENCE_ON);
    assert_int_equal(who.clocks.sm_max_mhz, 1980);
    assert_int_equal(who.clocks.memory_application_mhz, 3201);
    play_end(&played);
    play(&played, NULL, "0", 0, "persistence 0\nsm_clock_application 0\nmemory_clock_max 1593\n");
    nvml_backend.identify(played.sensor, &who);
    assert_int_equal(who.clocks.sm_application_mhz, 0);
    assert_int_equal(who.clocks.memory_max_mhz, 1593);
    assert_int_equal(who.persistence, GPU_PERSISTENCE_OFF);
    play_end(&played);
}

static void texts_of_the_driver_become_printable(void **state)
{
    (void)state;
    struct gpu_identity who;
    play(&played, NULL, "0", 0,
         "fault nvmlDeviceGetName garbage\nfault nvmlSystemGetNVMLVersion garbage\n");
    nvml_backend.identify(played.sensor, &who);
    assert_int_equal(strlen(who.name), GPU_TEXT_SIZE - 1);
    assert_int_equal(strspn(who.name, "?"), GPU_TEXT_SIZE - 1);
    assert_string_equal(who.library, "13??[31m");
    play_end(&played);
}

static const struct {
    const char *call, *group;
    int absent; /* readings */
} calls[] = {
    {"field:186", "power.instant", 1},
    {"field:185", "power.average", 1},
    {"field:82", "temperature.memory", 1},
    {"nvmlDeviceGetPowerUsage", "power.usage", 1},
    {"nvmlDeviceGetEnforcedPowerLimit", "power.limit", 1},
    {"nvmlDeviceGetTemperature", "temperature.gpu", 1},
    {"nvmlDeviceGetClockInfo", "clock.sm", 2},
    {"nvmlDeviceGetCurrentClocksEventReasons", "clock.reasons", 1},
    {"nvmlDeviceGetUtilizationRates", "utilisation", 2},
    {"nvmlDeviceGetTotalEccErrors", "errors.ecc", 1},
    {"nvmlDeviceRegisterEvents", "errors.xid", 1},
};

static void what_a_gpu_has_not_is_absent_and_the_rest_is_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char text[128];
        snprintf(text, sizeof text, "fault %s error code=3\n", calls[i].call);
        play(&played, NULL, "0", 10, text);
        assert_int_equal(valid_count(), GPU_READING_COUNT - LEFT_OUT - calls[i].absent);
        struct err err = group_error(calls[i].group);
        if (strcmp(calls[i].group, "errors.xid") != 0) {
            assert_int_equal(err.code, ENOTSUP);
            assert_non_null(strstr(err.text, "Not Supported (NVML error 3)"));
        }
        play_end(&played);
    }
}

static void garbage_is_absent(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char text[128];
        if (strcmp(calls[i].group, "errors.ecc") == 0 || strcmp(calls[i].group, "errors.xid") == 0)
            continue;
        snprintf(text, sizeof text, "fault %s garbage\n", calls[i].call);
        play(&played, NULL, "0", 10, text);
        assert_int_equal(valid_count(), GPU_READING_COUNT - LEFT_OUT - calls[i].absent);
        assert_int_equal(group_error(calls[i].group).code, EBADMSG);
        play_end(&played);
    }
    play(&played, NULL, "0", 10,
         "fault nvmlDeviceGetMemoryInfo_v2 garbage\nfault nvmlDeviceGetTotalEnergyConsumption "
         "garbage\n");
    assert_int_equal(group_error("memory").code, EBADMSG);
    uint64_t energy = 0;
    struct err err = {0};
    assert_false(nvml_backend.counter(played.sensor, &energy, &err));
    assert_int_equal(err.code, EBADMSG);
    play_end(&played);
}

static void memory_falls_back_to_the_older_call_which_counts_the_drivers_own(void **state)
{
    (void)state;
    play(&played, NULL, "0", 10, "leak 5000\nfault nvmlDeviceGetMemoryInfo_v2 error code=25\n");
    assert_near(reading(GPU_MEMORY_USED_BYTES), 644874240 + 5000, 0);
    assert_int_equal(valid_count(), GPU_READING_COUNT - LEFT_OUT - 1);
    play_end(&played);
}

static void the_counter_is_the_truth_of_a_moment_within_the_call(void **state)
{
    (void)state;
    play(&played, NULL, "0", 100, "step 0 690\nstep 20000 300\ncounter_start_mj 123456\n");
    for (int i = 0; i < 20; i++) {
        uint64_t energy = 0;
        struct err err = {0};
        int64_t before = clock_monotonic_ns();
        assert_true(nvml_backend.counter(played.sensor, &energy, &err));
        int64_t after = clock_monotonic_ns();
        assert_true(after - before >= 3800000);
        assert_in_range(energy, fake_counter_mj(&played.truth.gpus[0], before),
                        fake_counter_mj(&played.truth.gpus[0], after));
    }
    play_end(&played);
}

/* Against the truth, to the microsecond of the driver's stamps and the anchor's width. */
static void check_samples(const struct gpu_trace *trace)
{
    const struct fake_gpu *gpu = &played.truth.gpus[0];
    for (uint32_t i = 0; i < trace->count; i++) {
        int64_t number = fake_sample_number(gpu, trace->samples[i].t_ns + 5000000);
        int64_t t_ns = fake_sample_ns(gpu, number);
        assert_true(llabs(t_ns - trace->samples[i].t_ns) < 3000000);
        assert_near(trace->samples[i].power_w, fake_power_w(gpu, t_ns), 0.0011);
    }
}

static void the_trace_is_the_drivers_buffer_and_then_what_is_new(void **state)
{
    (void)state;
    struct gpu_trace trace, next;
    struct err err = {0};
    play(&played, NULL, "0", 5, "settle_ms 400\nstep 3000 690\nstep 4000 200\n");
    assert_true(nvml_backend.trace(played.sensor, &trace, &err));
    assert_int_equal(trace.count, 119);
    assert_int_equal(trace.refused, 0);
    check_samples(&trace);
    assert_true(nvml_backend.trace(played.sensor, &next, &err));
    struct timespec wait = {.tv_nsec = 200000000};
    nanosleep(&wait, NULL);
    struct gpu_trace later;
    assert_true(nvml_backend.trace(played.sensor, &later, &err));
    assert_in_range(later.count, 10, 119);
    assert_int_equal(later.refused, 0);
    const struct gpu_power_sample *last =
        next.count ? &next.samples[next.count - 1] : &trace.samples[118];
    assert_true(later.samples[0].t_ns > last->t_ns);
    check_samples(&later);
    play_end(&played);
}

static void garbage_among_the_samples_is_refused_and_the_others_kept(void **state)
{
    (void)state;
    struct gpu_trace trace;
    struct err err = {0};
    play(&played, NULL, "0", 100, "fault nvmlDeviceGetSamples garbage\n");
    assert_true(nvml_backend.trace(played.sensor, &trace, &err));
    /* no stamp, a stamp of the far future, one that goes back, and no power */
    assert_int_equal(trace.refused, 4);
    assert_int_equal(trace.count, 115);
    check_samples(&trace);
    play_end(&played);
}

/* The wall clock as the anchors see it (the linker puts this in place of the real one). */
int64_t __wrap_clock_realtime_ns(void);
int64_t __real_clock_realtime_ns(void);
static int64_t clock_shift_ns;
int64_t __wrap_clock_realtime_ns(void)
{
    return __real_clock_realtime_ns() + clock_shift_ns;
}

/* The driver's wall clock too, from now on: it is loaded already. */
static void set_wall_clock(int64_t shift_ns)
{
    void (*set)(int64_t) = NULL;
    void *library = dlopen(FAKE_NVML, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(library);
    void *address = dlsym(library, "fake_set_wall_clock");
    assert_non_null(address);
    memcpy(&set, &address, sizeof set);
    set(shift_ns);
    dlclose(library);
    clock_shift_ns = shift_ns;
}

static void samples_stay_right_when_the_clock_is_set(void **state)
{
    (void)state;
    static const int64_t shifts_ms[] = {3600000, -3600000, 700, -700, 40, -40};
    struct gpu_trace trace;
    struct err err = {0};
    for (size_t i = 0; i < sizeof shifts_ms / sizeof *shifts_ms; i++) {
        play(&played, NULL, "0", 100,
             "settle_ms 200\nstep 100100 690\nstep 100900 100\nstep 101500 500\n");
        assert_true(nvml_backend.trace(played.sensor, &trace, &err));
        assert_int_equal(trace.count, 119);
        set_wall_clock(shifts_ms[i] * NS_PER_MS);
        uint32_t good = 0;
        int64_t set_ns = clock_monotonic_ns(), until_ns = set_ns + 20 * NS_PER_S;
        /* Until samples from after the change come, which at worst are as late as the change was
         * large; none before or among them may be wrong. */
        while (good < 20 && clock_monotonic_ns() < until_ns) {
            struct timespec wait = {.tv_nsec = 100000000};
            nanosleep(&wait, NULL);
            assert_true(nvml_backend.trace(played.sensor, &trace, &err));
            check_samples(&trace);
            for (uint32_t k = 0; k < trace.count; k++)
                good += trace.samples[k].t_ns > set_ns;
        }
        assert_true(good >= 20);
        play_end(&played); /* which unloads the library: its clock is right again */
        clock_shift_ns = 0;
    }
}

static void an_older_library_gives_what_it_has(void **state)
{
    (void)state;
    struct err err = {0};
    uint64_t energy;
    struct gpu_trace trace;
    play(&played, FAKE_NVML_OLDER, "0", 1000, "step 0 690\nlimit_w 900\n");
    assert_near(reading(GPU_POWER_USAGE_W), 690, 0.001);
    assert_near(reading(GPU_POWER_LIMIT_W), 900, 0);
    assert_near(reading(GPU_CLOCK_REASONS), 0, 0);
    assert_near(reading(GPU_MEMORY_USED_BYTES), 644874240, 0);
    /* usage, limit, temperature, two clocks, reasons, two utilisations, used, total */
    assert_int_equal(valid_count(), 10);
    assert_false(nvml_backend.counter(played.sensor, &energy, &err));
    assert_int_equal(err.code, ENOSYS);
    assert_false(nvml_backend.trace(played.sensor, &trace, &err));
    assert_int_equal(err.code, ENOSYS);
    play_end(&played);
}

static void a_driver_that_cannot_be_used_says_why(void **state)
{
    (void)state;
    struct err err = {0};
    play_scenario(&played, 0, "init_error 9\n");
    assert_null(nvml_backend.open("/nonexistent/libnvidia-ml.so.1", &err));
    assert_non_null(
        strstr(err.text, "/nonexistent/libnvidia-ml.so.1: cannot open shared object file"));
    assert_null(nvml_backend.open(FAKE_NVML_TOO_OLD, &err));
    assert_non_null(
        strstr(err.text, "has no nvmlDeviceGetHandleByIndex_v2: this NVIDIA driver is too old"));
    assert_null(nvml_backend.open(FAKE_NVML, &err));
    assert_string_equal(err.text, "nvmlInit: Driver Not Loaded (NVML error 9)");
    play_end(&played);
}

static void a_gpu_that_is_not_there_says_why(void **state)
{
    (void)state;
    struct err err = {0};
    play_scenario(&played, 0, "gpus 1\n");
    played.driver = nvml_backend.open(FAKE_NVML, &err);
    assert_non_null(played.driver);
    assert_null(nvml_backend.sensor_open(played.driver, "1", &err));
    assert_string_equal(err.text,
                        "GPU 1: nvmlDeviceGetHandleByIndex: Invalid Argument (NVML error 2)");
    assert_null(nvml_backend.sensor_open(played.driver, "GPU-12345678", &err));
    assert_string_equal(err.text,
                        "GPU GPU-12345678: nvmlDeviceGetHandleByUUID: Not Found (NVML error 6)");
    play_end(&played);
}

static void a_lost_gpu_is_told_as_gone(void **state)
{
    (void)state;
    struct gpu_readings readings;
    struct err err = {0};
    uint64_t energy;
    play(&played, NULL, "0", 10, "fault * error code=15 from_ms=9000 gpu=0\n");
    assert_false(gpu_readings_take(&nvml_backend, played.sensor, &readings, &err));
    assert_int_equal(err.code, ENODEV);
    assert_non_null(strstr(err.text, "GPU is lost"));
    assert_false(nvml_backend.counter(played.sensor, &energy, &err));
    assert_int_equal(err.code, ENODEV);
    play_end(&played);
}

static void energy_of_a_divided_gpu_is_not_measured(void **state)
{
    (void)state;
    static const char *const scenarios[] = {"mig 1\n", "part 1\n"};
    for (size_t i = 0; i < 2; i++) {
        struct err err = {0};
        struct gpu_identity who;
        struct gpu_trace trace;
        uint64_t energy;
        play(&played, NULL, "0", 10, scenarios[i]);
        nvml_backend.identify(played.sensor, &who);
        assert_int_equal(who.mig, i == 0 ? GPU_MIG_ON : GPU_MIG_PART);
        assert_false(nvml_backend.counter(played.sensor, &energy, &err));
        assert_int_equal(err.code, ENOTSUP);
        assert_non_null(strstr(err.text, "MIG"));
        assert_false(nvml_backend.trace(played.sensor, &trace, &err));
        assert_int_equal(group_error("power.instant").code, ENOTSUP);
        assert_int_equal(group_error("power.average").code, ENOTSUP);
        assert_int_equal(group_error("power.usage").code, ENOTSUP);
        assert_near(reading(GPU_TEMPERATURE_C), 26, 0);
        play_end(&played);
    }
}

static void critical_errors_are_counted(void **state)
{
    (void)state;
    play(&played, NULL, "0", 10, "xid 1000 79\nxid 2000 31\n");
    assert_near(reading(GPU_XID_COUNT), 2, 0);
    assert_near(reading(GPU_XID_LAST), 31, 0);
    assert_near(reading(GPU_XID_COUNT), 2, 0); /* each once */
    play_end(&played);
}

static pid_t sleeper(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    assert_true(pid > 0);
    return pid;
}

static const struct gpu_user *user_of(const struct gpu_users *users, pid_t pid)
{
    for (uint32_t i = 0; i < users->count; i++)
        if (users->users[i].pid == pid)
            return &users->users[i];
    return NULL;
}

static void processes_have_their_memory_and_their_share(void **state)
{
    (void)state;
    static const char *const scenarios[] = {"", "process_entry 32\n"};
    for (size_t i = 0; i < 2; i++) {
        struct gpu_users users;
        struct err err = {0};
        pid_t worker = sleeper(), viewer = sleeper(), hidden = sleeper(), elsewhere = sleeper();
        play(&played, NULL, "0", 10, scenarios[i]);
        play_user(&played, worker, "0 1073741824 55");
        play_user(&played, viewer, "0 5000000 0 graphics");
        play_user(&played, hidden, "0 777 0 hidden");
        play_user(&played, elsewhere, "1 777 10");
        assert_true(nvml_backend.users(played.sensor, &users, &err));
        assert_int_equal(users.count, 3);
        const struct gpu_user *user = user_of(&users, worker);
        assert_non_null(user);
        assert_true(user->compute && !user->graphics && user->memory_bytes.valid &&
                    user->sm_percent.valid);
        assert_near(user->memory_bytes.value, 1073741824, 0);
        assert_near(user->sm_percent.value, 55, 0); /* the newer of its two samples */
        user = user_of(&users, viewer);
        assert_non_null(user);
        assert_true(user->graphics && !user->compute && user->sm_percent.valid);
        assert_near(user->sm_percent.value, 0, 0);
        user = user_of(&users, hidden);
        assert_non_null(user);
        assert_false(user->memory_bytes.valid); /* "not available" is not 16 EiB */
        assert_near(reading(GPU_MEMORY_USED_BYTES), 1073741824 + 5000000 + 777, 0);
        kill(worker, SIGKILL);
        assert_int_equal(waitpid(worker, NULL, 0), worker);
        assert_true(nvml_backend.users(played.sensor, &users, &err));
        assert_null(user_of(&users, worker));
        const pid_t others[] = {viewer, hidden, elsewhere};
        for (int k = 0; k < 3; k++) {
            kill(others[k], SIGKILL);
            waitpid(others[k], NULL, 0);
        }
        play_end(&played);
    }
}

static void the_list_of_all_users_has_no_bound(void **state)
{
    (void)state;
    struct gpu_user_list all;
    struct gpu_users some;
    struct err err = {0};
    play(&played, NULL, "0", 0, "flood 300\n");
    assert_true(nvml_backend.all_users(played.sensor, &all, &err));
    assert_int_equal(all.count, 300);
    for (size_t i = 0; i < all.count; i++) {
        assert_int_equal(all.items[i].pid, 3000000 + (int)i);
        assert_true(all.items[i].compute && !all.items[i].graphics);
        assert_true(all.items[i].memory_bytes.valid && all.items[i].memory_bytes.value == 1);
    }
    free(all.items);
    assert_true(nvml_backend.users(played.sensor, &some, &err));
    assert_int_equal(some.count, GPU_USERS_MAX);
    assert_int_equal(some.left_out, 300 - GPU_USERS_MAX);
    play_end(&played);
}

static void a_list_that_is_not_told_leaves_the_other(void **state)
{
    (void)state;
    struct gpu_user_list all;
    struct err err = {0};
    play(&played, NULL, "0", 0, "fault nvmlDeviceGetComputeRunningProcesses error code=3\n");
    play_user(&played, (int)getpid(), "0 4096 0 both\n");
    assert_false(nvml_backend.all_users(played.sensor, &all, &err));
    assert_int_equal(err.code, ENOTSUP);
    assert_int_equal(all.count, 1);
    assert_true(all.items[0].graphics && !all.items[0].compute);
    free(all.items);
    play_end(&played);
}

/* A list of computing processes that fails is not an empty one. */
static void whether_those_that_compute_were_told_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *scenario;
        bool any, told;
        uint32_t count;
    } rows[] = {
        {"", true, true, 1},
        {"fault nvmlDeviceGetGraphicsRunningProcesses error code=3\n", true, true, 1},
        {"fault nvmlDeviceGetComputeRunningProcesses error code=999\n", true, false, 1},
        {"fault nvmlDeviceGetComputeRunningProcesses error code=4\n"
         "fault nvmlDeviceGetGraphicsRunningProcesses error code=4\n",
         false, false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gpu_users users;
        struct err err = {0};
        play(&played, NULL, "0", 0, rows[i].scenario);
        play_user(&played, (int)getpid(), "0 4096 0 both\n");
        assert_int_equal(nvml_backend.users(played.sensor, &users, &err), rows[i].any);
        assert_int_equal(users.told, rows[i].told);
        assert_int_equal(users.count, rows[i].count);
        assert_int_equal(err.text[0] != '\0', !rows[i].told);
        play_end(&played);
    }
}

static void memory_that_no_process_holds_is_a_leak(void **state)
{
    (void)state;
    struct gpu_users users;
    struct err err = {0};
    play(&played, NULL, "0", 10, "leak 4294967296\n");
    assert_true(nvml_backend.users(played.sensor, &users, &err));
    assert_int_equal(users.count, 0);
    assert_near(reading(GPU_MEMORY_USED_BYTES), 4294967296.0, 0);
    play_end(&played);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_reading_is_the_scenarios),
        cmocka_unit_test(an_idle_gpu_idles),
        cmocka_unit_test(a_gpu_is_named_by_what_the_driver_says),
        cmocka_unit_test(texts_of_the_driver_become_printable),
        cmocka_unit_test(what_a_gpu_has_not_is_absent_and_the_rest_is_there),
        cmocka_unit_test(garbage_is_absent),
        cmocka_unit_test(memory_falls_back_to_the_older_call_which_counts_the_drivers_own),
        cmocka_unit_test(the_counter_is_the_truth_of_a_moment_within_the_call),
        cmocka_unit_test(the_trace_is_the_drivers_buffer_and_then_what_is_new),
        cmocka_unit_test(garbage_among_the_samples_is_refused_and_the_others_kept),
        cmocka_unit_test(samples_stay_right_when_the_clock_is_set),
        cmocka_unit_test(an_older_library_gives_what_it_has),
        cmocka_unit_test(a_driver_that_cannot_be_used_says_why),
        cmocka_unit_test(a_gpu_that_is_not_there_says_why),
        cmocka_unit_test(a_lost_gpu_is_told_as_gone),
        cmocka_unit_test(energy_of_a_divided_gpu_is_not_measured),
        cmocka_unit_test(critical_errors_are_counted),
        cmocka_unit_test(processes_have_their_memory_and_their_share),
        cmocka_unit_test(the_list_of_all_users_has_no_bound),
        cmocka_unit_test(a_list_that_is_not_told_leaves_the_other),
        cmocka_unit_test(whether_those_that_compute_were_told_is_told),
        cmocka_unit_test(memory_that_no_process_holds_is_a_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
