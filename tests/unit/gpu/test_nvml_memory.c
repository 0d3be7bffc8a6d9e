/* Who holds GPU memory, as a driver library of the tests' own says it; and libraries that hang, crash, fail or are not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "gpu/nvml_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* The name by which the build's stand-in is loaded; only the build knows it. */
static const char *fake(const char *script)
{
    const char *library = getenv("FAKE_NVML_LIBRARY");
    if (!library) {
        print_message("FAKE_NVML_LIBRARY is not set: run this by 'meson test'\n");
        skip();
    }
    setenv("FAKE_NVML", script, 1);
    return library;
}

static void read_memory(const char *script, struct nvml_memory *out)
{
    struct err err = {0};
    if (!nvml_memory_read(fake(script), 60, out, &err))
        fail_msg("%s", err.text);
}

static void assert_no_child_is_left(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void each_process_is_told_with_its_gpu_and_its_bytes(void **state)
{
    (void)state;
    struct nvml_memory memory;
    uint64_t bytes;
    read_memory("gpus=2 c0:400:5767168000 c1:30:1024 c1:400:7", &memory);
    assert_int_equal(memory.count, 3);
    assert_int_equal(memory.failed, 0);
    assert_int_equal(memory.items[0].pid, 30);
    assert_int_equal(memory.items[0].minor, 5);
    assert_string_equal(memory.items[0].uuid, "GPU-00001");
    assert_int_equal(memory.items[1].pid, 400);
    assert_int_equal(memory.items[1].minor, 4);
    assert_string_equal(memory.items[1].uuid, "GPU-00000");
    assert_int_equal(memory.items[1].bytes, 5767168000);
    assert_int_equal(memory.items[2].pid, 400);
    assert_true(nvml_memory_of(&memory, 400, &bytes));
    assert_int_equal(bytes, 5767168007);
    assert_false(nvml_memory_of(&memory, 31, &bytes));
    nvml_memory_fini(&memory);
    assert_no_child_is_left();
}

static void a_process_that_computes_and_draws_counts_once(void **state)
{
    (void)state;
    struct nvml_memory memory;
    read_memory("c0:7:4096 g0:7:4096 g0:8:5", &memory);
    assert_int_equal(memory.count, 2);
    assert_int_equal(memory.items[0].bytes, 4096);
    assert_int_equal(memory.items[1].pid, 8);
    nvml_memory_fini(&memory);
}

static void an_amount_that_the_driver_does_not_tell_is_not_zero(void **state)
{
    (void)state;
    struct nvml_memory memory;
    uint64_t bytes;
    read_memory("c0:7:-", &memory);
    assert_int_equal(memory.count, 1);
    assert_false(memory.items[0].has_bytes);
    assert_false(nvml_memory_of(&memory, 7, &bytes));
    nvml_memory_fini(&memory);
}

static void more_processes_than_there_was_room_for_are_asked_for_again(void **state)
{
    (void)state;
    struct nvml_memory memory;
    read_memory("flood", &memory);
    assert_int_equal(memory.count, 1000);
    assert_int_equal(memory.items[0].pid, 3000000);
    assert_int_equal(memory.items[999].pid, 3000999);
    nvml_memory_fini(&memory);
}

static void a_lost_gpu_does_not_hide_the_others(void **state)
{
    (void)state;
    struct nvml_memory memory;
    read_memory("gpus=3 lost1 c0:7:1 c1:8:1 c2:9:1", &memory);
    assert_int_equal(memory.count, 2);
    assert_int_equal(memory.items[1].pid, 9);
    assert_int_equal(memory.failed, 1);
    nvml_memory_fini(&memory);
}

static void assert_unknown(const char *library, double timeout_s, const char *reason)
{
    struct nvml_memory memory;
    struct err err = {0};
    assert_false(nvml_memory_read(library, timeout_s, &memory, &err));
    if (!strstr(err.text, reason))
        fail_msg("\"%s\" does not say \"%s\"", err.text, reason);
    assert_int_equal(memory.count, 0);
    assert_no_child_is_left();
}

static void a_driver_that_fails_says_why(void **state)
{
    (void)state;
    assert_unknown(fake("fail"), 60, "nvmlInit: Driver Not Loaded (9)");
}

static void a_library_that_is_not_there_or_another_is_named(void **state)
{
    (void)state;
    assert_unknown("libno-such-library.so.77", 60, "libno-such-library.so.77: ");
    assert_unknown("libc.so.6", 60, "libc.so.6 has no nvmlInit_v2: the driver is too old");
}

static void a_library_that_crashes_takes_only_its_own_process(void **state)
{
    (void)state;
    assert_unknown(fake("crash"), 60, "the driver's library ended its process");
}

/* It would hang for ever, so that this ends at all is the proof. */
static void a_driver_that_hangs_is_given_up(void **state)
{
    (void)state;
    int64_t begin = clock_monotonic_ns();
    assert_unknown(fake("hang"), 0.25, "the driver's library did not answer within 0.25 s");
    assert_true(clock_monotonic_ns() - begin >= 250 * NS_PER_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_process_is_told_with_its_gpu_and_its_bytes),
        cmocka_unit_test(a_process_that_computes_and_draws_counts_once),
        cmocka_unit_test(an_amount_that_the_driver_does_not_tell_is_not_zero),
        cmocka_unit_test(more_processes_than_there_was_room_for_are_asked_for_again),
        cmocka_unit_test(a_lost_gpu_does_not_hide_the_others),
        cmocka_unit_test(a_driver_that_fails_says_why),
        cmocka_unit_test(a_library_that_is_not_there_or_another_is_named),
        cmocka_unit_test(a_library_that_crashes_takes_only_its_own_process),
        cmocka_unit_test(a_driver_that_hangs_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
