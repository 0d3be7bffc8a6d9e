/* Who holds GPU memory, as the fake driver says it; and libraries that hang, crash, fail or are not
 * there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/clock.h"
#include "machine/gpu/memory_users.h"
#include "played.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct played played;

static void read_memory(struct gpu_memory_users *out)
{
    struct err err = {0};
    if (!gpu_memory_users_read(&gpu_vendor_nvidia, FAKE_NVML, 60, out, &err))
        fail_msg("%s", err.text);
    play_end(&played);
}

static void assert_no_child_is_left(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void each_process_is_told_with_its_gpu_and_its_bytes(void **state)
{
    (void)state;
    struct gpu_memory_users memory = {0};
    uint64_t bytes;
    play_scenario(&played, 0,
                  "gpus 2\ngpu 0\nminor 4\nuuid GPU-00000\ngpu 1\nminor 5\nuuid GPU-00001\n");
    play_user(&played, 400, "0 5767168000 0 stranger\n1 7 0 stranger\n");
    play_user(&played, 30, "1 1024 0 stranger\n");
    read_memory(&memory);
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
    assert_true(gpu_memory_users_of(&memory, 400, &bytes));
    assert_int_equal(bytes, 5767168007);
    assert_false(gpu_memory_users_of(&memory, 31, &bytes));
    gpu_memory_users_fini(&memory);
    assert_no_child_is_left();
}

static void a_process_that_computes_and_draws_counts_once(void **state)
{
    (void)state;
    struct gpu_memory_users memory = {0};
    int me = (int)getpid(), parent = (int)getppid();
    play_scenario(&played, 0, "");
    play_user(&played, me, "0 4096 0 both\n");
    play_user(&played, parent, "0 5 0 graphics\n");
    read_memory(&memory);
    assert_int_equal(memory.count, 2);
    size_t mine = memory.items[1].pid == me ? 1 : 0;
    assert_int_equal(memory.items[mine].pid, me);
    assert_int_equal(memory.items[mine].bytes, 4096);
    assert_int_equal(memory.items[1 - mine].pid, parent);
    assert_int_equal(memory.items[1 - mine].bytes, 5);
    gpu_memory_users_fini(&memory);
}

static void an_amount_that_the_driver_does_not_tell_is_not_zero(void **state)
{
    (void)state;
    struct gpu_memory_users memory = {0};
    uint64_t bytes;
    play_scenario(&played, 0, "");
    play_user(&played, (int)getpid(), "0 4096 0 hidden\n");
    read_memory(&memory);
    assert_int_equal(memory.count, 1);
    assert_false(memory.items[0].has_bytes);
    assert_false(gpu_memory_users_of(&memory, getpid(), &bytes));
    gpu_memory_users_fini(&memory);
}

static void more_processes_than_there_was_room_for_are_asked_for_again(void **state)
{
    (void)state;
    struct gpu_memory_users memory = {0};
    play_scenario(&played, 0, "flood 1000\n");
    read_memory(&memory);
    assert_int_equal(memory.count, 1000);
    assert_int_equal(memory.items[0].pid, 3000000);
    assert_int_equal(memory.items[999].pid, 3000999);
    gpu_memory_users_fini(&memory);
}

static void entries_of_another_size_are_read_as_what_they_are(void **state)
{
    (void)state;
    struct gpu_memory_users memory = {0};
    play_scenario(&played, 0, "process_entry 32\n");
    play_user(&played, 40, "0 4096 0 stranger\n");
    play_user(&played, 41, "0 8192 0 stranger\n");
    read_memory(&memory);
    assert_int_equal(memory.count, 2);
    assert_int_equal(memory.items[1].pid, 41);
    assert_int_equal(memory.items[1].bytes, 8192);
    gpu_memory_users_fini(&memory);
}

static void a_lost_gpu_does_not_hide_the_others(void **state)
{
    (void)state;
    struct gpu_memory_users memory = {0};
    play_scenario(&played, 0, "gpus 3\nfault * error code=15 gpu=1\n");
    play_user(&played, 7, "0 1 0 stranger\n");
    play_user(&played, 8, "1 1 0 stranger\n");
    play_user(&played, 9, "2 1 0 stranger\n");
    read_memory(&memory);
    assert_int_equal(memory.count, 2);
    assert_int_equal(memory.items[0].pid, 7);
    assert_int_equal(memory.items[1].pid, 9);
    assert_int_equal(memory.failed, 1);
    gpu_memory_users_fini(&memory);
}

static void assert_unknown(const char *library, double timeout_s, const char *reason)
{
    struct gpu_memory_users memory = {0};
    struct err err = {0};
    assert_false(gpu_memory_users_read(&gpu_vendor_nvidia, library, timeout_s, &memory, &err));
    if (!strstr(err.text, reason))
        fail_msg("\"%s\" does not say \"%s\"", err.text, reason);
    assert_int_equal(memory.count, 0);
    assert_no_child_is_left();
}

static void a_driver_that_fails_says_why(void **state)
{
    (void)state;
    play_scenario(&played, 0, "init_error 9\n");
    assert_unknown(FAKE_NVML, 60, "nvmlInit: Driver Not Loaded (NVML error 9)");
    play_end(&played);
}

static void a_library_that_is_not_there_or_another_is_named(void **state)
{
    (void)state;
    assert_unknown("libno-such-library.so.77", 60, "libno-such-library.so.77: ");
    assert_unknown("libc.so.6", 60, "libc.so.6 has no nvmlInit_v2: this NVIDIA driver is too old");
}

static void a_library_that_crashes_takes_only_its_own_process(void **state)
{
    (void)state;
    play_scenario(&played, 0, "fault nvmlInit crash\n");
    assert_unknown(FAKE_NVML, 60, "the driver's library ended its process");
    play_end(&played);
}

/* It would hang for ever, so that this ends at all is the proof. */
static void a_driver_that_hangs_is_given_up(void **state)
{
    (void)state;
    play_scenario(&played, 0, "fault nvmlInit hang\n");
    int64_t begin = clock_monotonic_ns();
    assert_unknown(FAKE_NVML, 0.25, "the driver's library did not answer within 0.25 s");
    assert_true(clock_monotonic_ns() - begin >= 250 * NS_PER_MS);
    play_end(&played);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_process_is_told_with_its_gpu_and_its_bytes),
        cmocka_unit_test(a_process_that_computes_and_draws_counts_once),
        cmocka_unit_test(an_amount_that_the_driver_does_not_tell_is_not_zero),
        cmocka_unit_test(more_processes_than_there_was_room_for_are_asked_for_again),
        cmocka_unit_test(entries_of_another_size_are_read_as_what_they_are),
        cmocka_unit_test(a_lost_gpu_does_not_hide_the_others),
        cmocka_unit_test(a_driver_that_fails_says_why),
        cmocka_unit_test(a_library_that_is_not_there_or_another_is_named),
        cmocka_unit_test(a_library_that_crashes_takes_only_its_own_process),
        cmocka_unit_test(a_driver_that_hangs_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
