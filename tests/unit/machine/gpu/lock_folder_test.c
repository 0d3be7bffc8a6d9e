#include "fixture.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "machine/gpu/lock.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Two runs, both of this process: the kernel tells its number, and nothing else that a file says of
 * its holder counts. */
static struct gpu_holder ada = {.start_time = 12, .run = "/a"},
                         bob = {.start_time = 22, .run = "/b"};

static void a_folder_that_is_a_link_or_a_file_is_refused(void **state)
{
    struct fixture *fixture = *state;
    struct gpu_lock_folder folder;
    struct err err = {0};
    AUTO_FREE char *path = fixture_path(fixture, "link");
    AUTO_FREE char *file = fixture_path(fixture, "file");
    assert_int_equal(symlink(fixture->top, path), 0);
    assert_false(gpu_lock_folder_open(path, NULL, &folder, &err));
    assert_non_null(strstr(err.text, "is no folder, or a link"));
    fixture_write(fixture, "file", "");
    assert_false(gpu_lock_folder_open(file, NULL, &folder, &err));
    assert_non_null(strstr(err.text, "is no folder, or a link"));
}

static void another_users_folder_counts_only_when_it_is_like_tmp_and_is_doubted(void **state)
{
    struct fixture *fixture = *state;
    struct gpu_lock_folder folder;
    struct err err = {0};
    AUTO_FREE char *path = fixture_path(fixture, "theirs");
    if (geteuid() != 0) {
        print_message("only root can give a folder to another user\n");
        skip();
    }
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(chown(path, 65534, 65534), 0);
    assert_false(gpu_lock_folder_open(path, NULL, &folder, &err));
    assert_non_null(strstr(err.text, "belongs to user 65534"));
    assert_int_equal(chmod(path, 01777), 0);
    assert_true(gpu_lock_folder_open(path, NULL, &folder, &err));
    assert_non_null(strstr(folder.doubt, "belongs to user 65534, who could take locks away"));
    gpu_lock_folder_fini(&folder);
    assert_true(gpu_lock_folder_repair(path, &err));
    assert_true(gpu_lock_folder_open(path, NULL, &folder, &err));
    assert_null(folder.doubt);
    gpu_lock_folder_fini(&folder);
    /* Below a folder that others may write it could be replaced as a whole. */
    assert_int_equal(chmod(fixture->top, 0777), 0);
    assert_false(gpu_lock_folder_repair(path, &err));
    assert_true(gpu_lock_folder_open(path, NULL, &folder, &err));
    assert_non_null(strstr(folder.doubt, "others may write to a folder above"));
    gpu_lock_folder_fini(&folder);
}

static void without_a_shared_folder_the_users_own_is_taken_and_why_is_said(void **state)
{
    struct fixture *fixture = *state;
    struct gpu_lock_folder folder;
    struct err err = {0};
    AUTO_FREE char *shared = fixture_path(fixture, "missing/locks");
    AUTO_FREE char *own = fixture_path(fixture, TARE_NAME);
    AUTO_FREE char *reason = mem_printf("make folder %s: No such file or directory", shared);
    struct stat status;
    assert_true(gpu_lock_folder_open(shared, fixture->top, &folder, &err));
    assert_false(folder.shared);
    assert_string_equal(folder.path, own);
    assert_string_equal(folder.reason, reason);
    assert_int_equal(stat(own, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    gpu_lock_folder_fini(&folder);
    assert_false(gpu_lock_folder_open(shared, NULL, &folder, &err));
    assert_string_equal(err.text, reason);
    assert_false(gpu_lock_folder_open(shared, "relative", &folder, &err));
}

#define WITH_FOLDER(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

UNIT_TESTS(void)
{
    struct gpu_holder self;
    gpu_holder_self(&self);
    ada.pid = bob.pid = self.pid;
    ada.pid_namespace = bob.pid_namespace = self.pid_namespace;
    memcpy(ada.user, self.user, sizeof ada.user);
    memcpy(bob.user, self.user, sizeof bob.user);
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(a_folder_that_is_a_link_or_a_file_is_refused),
        WITH_FOLDER(another_users_folder_counts_only_when_it_is_like_tmp_and_is_doubted),
        WITH_FOLDER(without_a_shared_folder_the_users_own_is_taken_and_why_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
