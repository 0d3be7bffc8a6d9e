/* Where the folder is, which folders are refused, and what a live run's file looks like. */
#include "fixture.h"
#include "machine/contain/job.h"

#include "base/fs.h"
#include "base/mem.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void clear_environment(void)
{
    unsetenv("TARE_STATE_DIR");
    unsetenv("XDG_STATE_HOME");
    unsetenv("SUDO_UID");
    unsetenv("TMPDIR");
    setenv("HOME", "/home/ada", 1);
}

/* second: NULL when there must be none. */
static void assert_paths(const char *first, const char *second)
{
    struct err err = {0};
    AUTO_STRV struct strv paths = {0};
    assert_true(state_paths(&paths, &err));
    assert_int_equal(paths.count, second ? 2 : 1);
    assert_string_equal(paths.items[0], first);
    if (second)
        assert_string_equal(paths.items[1], second);
}

static void the_folder_is_found_by_the_environment_in_this_order(void **state)
{
    (void)state;
    AUTO_FREE char *in_tmp = mem_printf("/tmp/tare-%u", (unsigned)geteuid());
    AUTO_FREE char *in_scratch = mem_printf("/scratch/tare-%u", (unsigned)geteuid());
    clear_environment();
    assert_paths("/home/ada/.local/state/tare", in_tmp);
    setenv("XDG_STATE_HOME", "/home/ada/states", 1);
    assert_paths("/home/ada/states/tare", in_tmp);
    setenv("TMPDIR", "/scratch", 1);
    assert_paths("/home/ada/states/tare", in_scratch);
    setenv("TARE_STATE_DIR", "/var/lib/mine", 1);
    assert_paths("/var/lib/mine", NULL);
    setenv("TARE_STATE_DIR", "", 1);
    setenv("TMPDIR", "relative", 1);
    setenv("XDG_STATE_HOME", "relative/is/not/heeded", 1);
    assert_paths("/home/ada/.local/state/tare", in_tmp);
    setenv("HOME", "nowhere", 1);
    assert_paths(in_tmp, NULL);
    clear_environment();
}

static void a_relative_folder_of_ours_is_refused(void **state)
{
    (void)state;
    struct err err = {0};
    AUTO_STRV struct strv paths = {0};
    clear_environment();
    setenv("TARE_STATE_DIR", "here", 1);
    assert_false(state_paths(&paths, &err));
    assert_string_equal(err.text, "TARE_STATE_DIR: 'here' is no absolute path");
    clear_environment();
}

static void root_under_sudo_heeds_no_folder_of_somebody_else(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("only root can be root under sudo\n");
        skip();
    }
    clear_environment();
    setenv("SUDO_UID", "1000", 1);
    setenv("XDG_STATE_HOME", "/home/ada/states", 1);
    setenv("TMPDIR", "/home/ada/tmp", 1);
    AUTO_FREE char *expected = mem_printf("%s/.local/state/tare", getpwuid(0)->pw_dir);
    assert_paths(expected, "/tmp/tare-0");
    clear_environment();
}

static void assert_mode(const char *path, mode_t kind, mode_t mode)
{
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    assert_int_equal(status.st_mode, kind | mode);
    assert_int_equal(status.st_uid, geteuid());
}

static void a_missing_folder_is_made_for_its_user_alone(void **out)
{
    struct fixture *fixture = *out;
    struct err err = {0};
    AUTO_FREE char *deep = mem_printf("%s/not/there/yet", fixture->top);
    AUTO_FREE char *runs = mem_printf("%s/runs", deep);
    struct state *state = state_open(deep, &err);
    assert_non_null(state);
    assert_mode(deep, S_IFDIR, 0700);
    assert_mode(runs, S_IFDIR, 0700);
    state_close(state);
}

static void assert_refused(const char *path, const char *reason)
{
    struct err err = {0};
    assert_null(state_open(path, &err));
    if (!strstr(err.text, reason))
        fail_msg("\"%s\" does not say \"%s\"", err.text, reason);
}

static void a_link_in_the_folders_place_is_refused(void **out)
{
    struct fixture *fixture = *out;
    AUTO_FREE char *elsewhere = mem_printf("%s/elsewhere", fixture->top);
    AUTO_FREE char *with_slash = mem_printf("%s/", fixture->path);
    assert_int_equal(mkdir(elsewhere, 0700), 0);
    assert_int_equal(symlink(elsewhere, fixture->path), 0);
    assert_refused(fixture->path, "is a symbolic link");
    assert_refused(with_slash, "is a symbolic link");
    assert_int_equal(unlink(fixture->path), 0);
    assert_int_equal(mkdir(fixture->path, 0700), 0);
    assert_int_equal(symlink(elsewhere, fixture->runs), 0);
    assert_refused(fixture->path, "is a symbolic link");
}

static void a_folder_that_others_may_write_is_refused(void **out)
{
    struct fixture *fixture = *out;
    assert_int_equal(mkdir(fixture->path, 0700), 0);
    assert_int_equal(chmod(fixture->path, 0770), 0);
    assert_refused(fixture->path, "others may write to");
    assert_int_equal(chmod(fixture->path, 0702), 0);
    assert_refused(fixture->path, "(mode 0702)");
    assert_int_equal(chmod(fixture->path, 0755), 0);
    assert_int_equal(mkdir(fixture->runs, 0700), 0);
    assert_int_equal(chmod(fixture->runs, 0777), 0);
    assert_refused(fixture->path, "/runs (mode 0777)");
}

static void a_folder_of_somebody_else_is_refused(void **out)
{
    struct fixture *fixture = *out;
    if (geteuid() != 0) {
        print_message("only root can give a folder away\n");
        skip();
    }
    assert_int_equal(mkdir(fixture->path, 0700), 0);
    assert_int_equal(chown(fixture->path, 65534, 65534), 0);
    assert_refused(fixture->path, "belongs to user 65534");
}

static void no_folder_can_be_made_below_a_file(void **out)
{
    struct fixture *fixture = *out;
    AUTO_FREE char *below = mem_printf("%s/state", fixture->lock);
    assert_true(lock_is_free(fixture->lock)); /* makes the file */
    assert_refused(below, "Not a directory");
}

/* A path below a file: no folder can be made there. */
static char *impossible_path(const struct fixture *fixture)
{
    assert_true(lock_is_free(fixture->lock)); /* makes the file */
    return mem_printf("%s/state", fixture->lock);
}

static void a_folder_that_cannot_be_had_is_replaced_by_the_fallback(void **out)
{
    struct fixture *fixture = *out;
    struct err err = {0};
    AUTO_FREE char *impossible = impossible_path(fixture);
    struct state *state = state_open_either(impossible, fixture->path, &err);
    assert_non_null(state);
    assert_mode(fixture->path, S_IFDIR, 0700);
    assert_mode(fixture->runs, S_IFDIR, 0700);
    assert_true(state_register(state, STATE_RUN, "/data/results/run_7", &err));
    assert_int_equal(run_file_count(fixture), 1);
    state_end(state);
    assert_int_equal(run_file_count(fixture), 0);
    state_close(state);
    state = state_open_either(NULL, fixture->path, &err);
    assert_non_null(state);
    state_close(state);
}

static void a_fallback_that_is_not_needed_is_not_made(void **out)
{
    struct fixture *fixture = *out;
    struct err err = {0};
    struct stat status;
    AUTO_FREE char *other = mem_printf("%s/other", fixture->top);
    struct state *state = state_open_either(fixture->path, other, &err);
    assert_non_null(state);
    assert_true(state_register(state, STATE_RUN, NULL, &err));
    assert_int_equal(run_file_count(fixture), 1);
    assert_int_not_equal(lstat(other, &status), 0);
    state_end(state);
    state_close(state);
}

static void assert_fallback_refused(const struct fixture *fixture, const char *fallback,
                                    const char *reason)
{
    struct err err = {0};
    AUTO_FREE char *impossible = impossible_path(fixture);
    assert_null(state_open_either(impossible, fallback, &err));
    if (!strstr(err.text, "Not a directory; and ") || !strstr(err.text, reason))
        fail_msg("\"%s\" does not say \"%s\"", err.text, reason);
}

static void a_fallback_where_others_may_put_things_is_refused(void **out)
{
    struct fixture *fixture = *out;
    AUTO_FREE char *shared = mem_printf("%s/shared", fixture->top);
    AUTO_FREE char *fallback = mem_printf("%s/tare-0", shared);
    AUTO_FREE char *elsewhere = mem_printf("%s/elsewhere", fixture->top);
    assert_int_equal(mkdir(shared, 0700), 0);
    assert_int_equal(mkdir(elsewhere, 0700), 0);
    assert_int_equal(chmod(shared, 0777), 0);
    assert_fallback_refused(fixture, fallback, "it is not sticky (mode 0777)");
    assert_int_equal(chmod(shared, 01777), 0);
    assert_int_equal(symlink(elsewhere, fallback), 0);
    assert_fallback_refused(fixture, fallback, "is a symbolic link");
    assert_int_equal(unlink(fallback), 0);
    assert_int_equal(mkdir(fallback, 0700), 0);
    assert_int_equal(chmod(fallback, 0777), 0);
    assert_fallback_refused(fixture, fallback, "others may write to");
    assert_int_equal(chmod(fallback, 0700), 0);
    struct state *state = state_open_either(NULL, fallback, NULL);
    assert_non_null(state);
    state_close(state);
    if (geteuid() == 0) {
        assert_int_equal(chown(fallback, 65534, 65534), 0);
        assert_fallback_refused(fixture, fallback, "belongs to user 65534");
    }
    AUTO_FREE char *nowhere = mem_printf("%s/not/there", fixture->top);
    assert_fallback_refused(fixture, nowhere, "No such file or directory");
}

static char *read_run_file(const struct fixture *fixture, char **path)
{
    struct text text = {0};
    AUTO_FREE char *name = only_run_file(fixture);
    *path = mem_printf("%s/%s", fixture->runs, name);
    assert_true(fs_read(*path, 1 << 20, &text, NULL));
    return text_take(&text);
}

static void a_registered_run_has_a_locked_file_that_says_who_it_is(void **out)
{
    struct fixture *fixture = *out;
    struct err err = {0};
    struct state *state = state_open(fixture->path, &err);
    char host[256], boot_id[40];
    own_host(host);
    own_boot_id(boot_id);
    assert_non_null(state);
    assert_true(state_register(state, STATE_RUN, "/data/results/run_7", &err));
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *text = read_run_file(fixture, &path);
    AUTO_FREE char *start =
        mem_printf("{\"kind\":\"run\",\"run_dir\":\"/data/results/run_7\",\"host\":\"%s\","
                   "\"boot_id\":\"%s\",\"pid\":%d,\"start_time\":",
                   host, boot_id, (int)getpid());
    AUTO_FREE char *namespace =
        mem_printf(",\"pid_namespace\":%llu,", (unsigned long long)own_pid_namespace());
    assert_memory_equal(text, start, strlen(start));
    assert_non_null(strstr(text, namespace));
    assert_mode(path, S_IFREG, 0600);
    assert_false(lock_is_free(path));
    assert_false(state_register(state, STATE_RUN, NULL, &err));
    state_end(state);
    assert_int_equal(run_file_count(fixture), 0);
    state_close(state);
}

static void a_run_that_ends_without_its_end_leaves_a_file_without_lock(void **out)
{
    struct fixture *fixture = *out;
    struct state *state = state_open(fixture->path, NULL);
    assert_true(state_register(state, STATE_EXEC, NULL, NULL));
    state_close(state);
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *text = read_run_file(fixture, &path);
    assert_non_null(strstr(text, "\"kind\":\"exec\",\"run_dir\":null"));
    assert_true(lock_is_free(path));
}

static void a_job_that_is_not_gone_keeps_the_file_beyond_the_end(void **out)
{
    struct fixture *fixture = *out;
    struct job_identity first = {
        .pid = 11, .start_time = 12, .boot_id = "b", .tag = (char *)"first"};
    struct job_identity second = {
        .pid = 13, .start_time = 14, .boot_id = "b", .tag = (char *)"second"};
    struct state *state = state_open(fixture->path, NULL);
    assert_false(state_job_born(state, &first, NULL));
    assert_true(state_register(state, STATE_RUN, NULL, NULL));
    assert_true(state_job_born(state, &first, NULL));
    assert_true(state_job_born(state, &second, NULL));
    state_job_gone(state, &first);
    state_end(state);
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *text = read_run_file(fixture, &path);
    const char *jobs = strchr(text, '\n') + 1;
    assert_string_equal(jobs, "{\"job\":\"born\",\"pid\":11,\"start_time\":12,\"boot_id\":\"b\","
                              "\"cgroup\":null,\"tag\":\"first\"}\n"
                              "{\"job\":\"born\",\"pid\":13,\"start_time\":14,\"boot_id\":\"b\","
                              "\"cgroup\":null,\"tag\":\"second\"}\n"
                              "{\"job\":\"gone\",\"tag\":\"first\"}\n");
    assert_true(lock_is_free(path));
    state_close(state);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_folder_is_found_by_the_environment_in_this_order),
        cmocka_unit_test(a_relative_folder_of_ours_is_refused),
        cmocka_unit_test(root_under_sudo_heeds_no_folder_of_somebody_else),
        cmocka_unit_test_setup_teardown(a_missing_folder_is_made_for_its_user_alone, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(a_link_in_the_folders_place_is_refused, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(a_folder_that_others_may_write_is_refused, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(a_folder_of_somebody_else_is_refused, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(no_folder_can_be_made_below_a_file, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(a_folder_that_cannot_be_had_is_replaced_by_the_fallback,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_fallback_that_is_not_needed_is_not_made, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(a_fallback_where_others_may_put_things_is_refused,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_registered_run_has_a_locked_file_that_says_who_it_is,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_run_that_ends_without_its_end_leaves_a_file_without_lock,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_job_that_is_not_gone_keeps_the_file_beyond_the_end,
                                        fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
