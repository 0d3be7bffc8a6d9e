/* Who is who in /proc: parsers by their bytes, a /proc made of files, and processes held by a
 * pidfd. */
#include "fake_proc.h"

#include <signal.h>
#include <stdlib.h>

static void assert_command(const char *bytes, size_t count, const char *expected)
{
    AUTO_FREE char *text = census_command_text(bytes, count);
    assert_string_equal(text, expected);
}

#define COMMAND(literal, expected) assert_command(literal, sizeof(literal) - 1, expected)

static void a_command_line_is_shown_on_one_line_and_cannot_steer_a_terminal(void **state)
{
    (void)state;
    COMMAND("python3\0train.py\0--lr\0"
            "0.1\0",
            "python3 train.py --lr 0.1");
    COMMAND("a\0\0b\0", "a  b");
    COMMAND("", "");
    COMMAND("\0\0", "");
    COMMAND("x\033[2Jy\nz\177", "x?[2Jy?z?");
    COMMAND("\303\244 \344\270\255 \360\237\230\200", "\303\244 \344\270\255 \360\237\230\200");
    COMMAND("\302\233", "?");            /* U+009B, which some terminals obey */
    COMMAND("\300\257", "??");           /* an overlong '/' */
    COMMAND("\355\240\200", "???");      /* half a surrogate pair */
    COMMAND("\364\220\200\200", "????"); /* above U+10FFFF */
    COMMAND("end \344\270", "end ??");
}

static const struct census_process *of(const struct census *census, int pid)
{
    return census_find(census, FIRST_PID + pid);
}

static void take(const struct fake *fake, struct census *out)
{
    struct err err = {0};
    if (!census_take(&fake->roots, out, &err))
        fail_msg("%s", err.text);
}

static void a_process_is_described_by_its_files(void **out)
{
    struct fake fake;
    struct census census;
    fake_init(*out, &fake);
    fake_add(&fake, &(struct fake_process){
                        .pid = 1,
                        .parent = 2,
                        .name = "py (thon) 3",
                        .uid = 1234,
                        .command = "python3|train.py|",
                        .environment = "HOME=/|TARE_JOB=00112233445566778899aabbccddeeff|"});
    fake_add(&fake, &(struct fake_process){.pid = 2, .parent = -1, .name = "kthread"});
    take(&fake, &census);
    assert_int_equal(census.count, 2);
    const struct census_process *process = of(&census, 1);
    assert_non_null(process);
    assert_string_equal(process->stat.comm, "py (thon) 3");
    assert_int_equal(process->stat.ppid, FIRST_PID + 2);
    assert_int_equal(process->uid, 1234);
    assert_string_equal(process->command, "python3 train.py");
    assert_string_equal(process->tag, "00112233445566778899aabbccddeeff");
    assert_true(process->looked_into);
    assert_float_equal(process->age_s, 600.5, 0.001);
    assert_string_equal(of(&census, 2)->command, "[kthread]");
    assert_null(of(&census, 2)->tag);
    census_fini(&census);
}

static void only_device_files_of_gpus_count(void **out)
{
    struct fake fake;
    struct census census;
    fake_init(*out, &fake);
    fake_add(&fake, &(struct fake_process){.pid = 1,
                                           .parent = -1,
                                           .name = "one",
                                           .devices = {"nvidia0", "nvidiactl", "nvidia0", "kfd",
                                                       "dri/renderD128", "nvidia15 (deleted)"}});
    fake_add(&fake, &(struct fake_process){.pid = 2,
                                           .parent = -1,
                                           .name = "two",
                                           .devices = {"nvidia-uvm", "dri/card0", "nvidia0x",
                                                       "nvidia", "/elsewhere/nvidia0", "null"}});
    take(&fake, &census);
    static const char *const expected[] = {"nvidia0", "nvidiactl", "kfd", "dri/renderD128",
                                           "nvidia15"};
    const struct strv *devices = &of(&census, 1)->devices;
    assert_int_equal(devices->count, 5);
    for (size_t i = 0; i < 5; i++) {
        AUTO_FREE char *path = mem_printf("%s/%s", fake.dev, expected[i]);
        assert_true(strv_has(devices, path));
    }
    assert_int_equal(of(&census, 2)->devices.count, 0);
    census_fini(&census);
}

static void an_orphan_has_pid_1_or_a_users_systemd_as_parent(void **out)
{
    struct fake fake;
    struct census census;
    fake_init(*out, &fake);
    fake_add(&fake, &(struct fake_process){.pid = 1, .parent = -1, .name = "of-init"});
    fake_add(&fake, &(struct fake_process){.pid = 2,
                                           .parent = -1,
                                           .name = "systemd",
                                           .command = "/lib/systemd/systemd|--user|"});
    fake_add(&fake, &(struct fake_process){.pid = 3, .parent = 2, .name = "of-user-manager"});
    fake_add(&fake, &(struct fake_process){.pid = 4, .parent = 3, .name = "of-a-shell"});
    take(&fake, &census);
    assert_true(of(&census, 1)->orphan);
    assert_true(of(&census, 3)->orphan);
    assert_false(of(&census, 4)->orphan);
    census_fini(&census);
}

static void zombies_and_what_is_no_process_are_left_out(void **out)
{
    struct fake fake;
    struct census census;
    fake_init(*out, &fake);
    fake_add(&fake, &(struct fake_process){.pid = 1, .parent = -1, .name = "zombie", .state = 'Z'});
    fake_add(&fake, &(struct fake_process){.pid = 2, .parent = -1, .name = "alive"});
    AUTO_FREE char *empty = mem_printf("%s/%d", fake.proc, FIRST_PID + 3);
    assert_int_equal(mkdir(empty, 0700), 0);
    take(&fake, &census);
    assert_int_equal(census.count, 1);
    assert_int_equal(census.items[0].stat.pid, FIRST_PID + 2);
    census_fini(&census);
}

static void without_a_proc_there_is_an_error(void **state)
{
    (void)state;
    struct err err = {0};
    struct census census;
    assert_false(census_take(&(struct census_roots){"/no/such/folder", "/dev"}, &census, &err));
    assert_non_null(strstr(err.text, "/no/such/folder"));
}

static const struct census_roots real = {"/proc", "/dev"};

static void a_process_is_held_only_as_long_as_it_is_the_same(void **out)
{
    struct fixture *fixture = *out;
    struct census census;
    struct err err = {0};
    pid_t pid = tagged_process(fixture, "abcabcabcabcabcabcabcabcabcabcab");
    assert_true(census_take(&real, &census, &err));
    const struct census_process *found = census_find(&census, pid);
    assert_non_null(found);
    assert_string_equal(found->tag, "abcabcabcabcabcabcabcabcabcabcab");
    assert_string_equal(found->command, "sleep 1000");
    assert_int_equal(found->stat.ppid, getpid());
    assert_true(found->age_s >= 0 && found->age_s < 600);
    int pidfd = census_hold(&real, found, &err);
    assert_true(pidfd >= 0);
    close(pidfd);
    struct census_process other = *found;
    other.stat.start_time++;
    assert_int_equal(census_hold(&real, &other, &err), -1);
    other = *found;
    other.tag = (char *)"abcabcabcabcabcabcabcabcabcabcac";
    assert_int_equal(census_hold(&real, &other, &err), -1);
    assert_non_null(strstr(err.text, "another one"));
    end_process(pid);
    assert_int_equal(census_hold(&real, found, &err), -1);
    census_fini(&census);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_line_is_shown_on_one_line_and_cannot_steer_a_terminal),
        TEST(a_process_is_described_by_its_files),
        TEST(only_device_files_of_gpus_count),
        TEST(an_orphan_has_pid_1_or_a_users_systemd_as_parent),
        TEST(zombies_and_what_is_no_process_are_left_out),
        cmocka_unit_test(without_a_proc_there_is_an_error),
        TEST(a_process_is_held_only_as_long_as_it_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
