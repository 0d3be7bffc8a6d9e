/* The lock per GPU: kernel locks on files in a folder that all users share. */
#include "fixture.h"

#include "base/cleanup.h"
#include "machine/gpu/lock.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct gpu_device first = {.uuid = "GPU-aa", .bus = "0000:01:00.0"};
static const struct gpu_device second = {.uuid = "GPU-bb", .bus = "0000:02:00.0"};
/* the first, before its UUID is known */
static const struct gpu_device nameless = {.bus = "0000:01:00.0"};
/* Two runs, both of this process: the kernel tells its number, and nothing else that a file says of
 * its holder counts. */
static struct gpu_holder ada = {.start_time = 12, .run = "/a"},
                         bob = {.start_time = 22, .run = "/b"};

static struct gpu_lock_folder open_folder(const struct fixture *fixture)
{
    AUTO_FREE char *path = fixture_path(fixture, "locks");
    struct gpu_lock_folder folder;
    struct err err = {0};
    if (!gpu_lock_folder_open(path, NULL, &folder, &err))
        fail_msg("%s", err.text);
    return folder;
}

static struct gpu_locks *locks_of(const struct gpu_lock_folder *folder,
                                  const struct gpu_device *device)
{
    return gpu_locks_new(folder, &device, 1);
}

static enum gpu_lock_answer try(struct gpu_locks *locks, const struct gpu_holder *self,
                                struct gpu_lock_conflict *conflict)
{
    struct err err = {0};
    return gpu_locks_try(locks, self, NULL, 0, conflict, &err);
}

static void a_second_run_is_told_who_holds_the_gpu_until_it_is_free(void **state)
{
    struct gpu_lock_folder folder = open_folder(*state);
    struct gpu_lock_conflict conflict = {0};
    struct gpu_locks *one = locks_of(&folder, &first), *other = locks_of(&folder, &first);
    assert_int_equal(try(one, &ada, &conflict), GPU_LOCKS_TAKEN);
    assert_int_equal(try(one, &ada, &conflict), GPU_LOCKS_TAKEN);
    assert_int_equal(try(other, &bob, &conflict), GPU_LOCKS_HELD);
    assert_string_equal(conflict.label, "GPU-aa");
    assert_true(conflict.has_holder);
    assert_int_equal(conflict.pid, getpid());
    assert_int_equal(conflict.holder.pid, getpid());
    assert_string_equal(conflict.holder.user, ada.user);
    assert_string_equal(conflict.holder.run, "/a");
    gpu_locks_free(one);
    assert_int_equal(try(other, &bob, &conflict), GPU_LOCKS_TAKEN);
    gpu_locks_free(other);
    gpu_lock_folder_fini(&folder);
}

static void different_gpus_do_not_meet(void **state)
{
    struct gpu_lock_folder folder = open_folder(*state);
    struct gpu_lock_conflict conflict;
    struct gpu_locks *one = locks_of(&folder, &first), *other = locks_of(&folder, &second);
    assert_int_equal(try(one, &ada, &conflict), GPU_LOCKS_TAKEN);
    assert_int_equal(try(other, &bob, &conflict), GPU_LOCKS_TAKEN);
    gpu_locks_free(one);
    gpu_locks_free(other);
    gpu_lock_folder_fini(&folder);
}

static void a_gpu_without_a_uuid_is_met_by_its_address(void **state)
{
    struct gpu_lock_folder folder = open_folder(*state);
    struct gpu_lock_conflict conflict;
    struct gpu_locks *early = locks_of(&folder, &nameless), *late = locks_of(&folder, &first);
    assert_int_equal(try(early, &ada, &conflict), GPU_LOCKS_TAKEN);
    assert_int_equal(try(late, &bob, &conflict), GPU_LOCKS_HELD);
    assert_string_equal(conflict.holder.run, "/a");
    gpu_locks_free(early);
    gpu_locks_free(late);
    gpu_lock_folder_fini(&folder);
}

static void what_was_free_is_kept_while_the_rest_is_waited_for(void **state)
{
    struct gpu_lock_folder folder = open_folder(*state);
    struct gpu_lock_conflict conflict;
    const struct gpu_device *both[] = {&second, &first};
    struct gpu_locks *one = locks_of(&folder, &second), *pair = gpu_locks_new(&folder, both, 2),
                     *third = locks_of(&folder, &nameless);
    assert_int_equal(try(one, &ada, &conflict), GPU_LOCKS_TAKEN);
    assert_int_equal(try(pair, &bob, &conflict), GPU_LOCKS_HELD);
    assert_string_equal(conflict.label, "GPU-bb");
    /* By the order of the names the first one's address comes first, whatever the order of the
     * devices. */
    assert_int_equal(try(third, &ada, &conflict), GPU_LOCKS_HELD);
    assert_string_equal(conflict.holder.run, "/b");
    gpu_locks_free(one);
    assert_int_equal(try(pair, &bob, &conflict), GPU_LOCKS_TAKEN);
    gpu_locks_free(pair);
    gpu_locks_free(third);
    gpu_lock_folder_fini(&folder);
}

static void the_lock_of_the_run_that_we_are_part_of_counts_as_ours(void **state)
{
    struct gpu_lock_folder folder = open_folder(*state);
    struct gpu_lock_conflict conflict;
    struct err err = {0};
    const struct gpu_holder passed[] = {bob, ada};
    struct gpu_locks *outer = locks_of(&folder, &first), *inner = locks_of(&folder, &first);
    assert_int_equal(try(outer, &ada, &conflict), GPU_LOCKS_TAKEN);
    assert_int_equal(gpu_locks_try(inner, &bob, passed, 1, &conflict, &err), GPU_LOCKS_HELD);
    assert_int_equal(gpu_locks_try(inner, &bob, passed, 2, &conflict, &err), GPU_LOCKS_TAKEN);
    /* It is still the outer one's. */
    gpu_locks_free(inner);
    inner = locks_of(&folder, &first);
    assert_int_equal(try(inner, &bob, &conflict), GPU_LOCKS_HELD);
    assert_string_equal(conflict.holder.run, "/a");
    gpu_locks_free(inner);
    gpu_locks_free(outer);
    gpu_lock_folder_fini(&folder);
}

static void a_new_signature_replaces_a_longer_one_whole_and_the_end_removes_the_file(void **state)
{
    struct fixture *fixture = *state;
    struct gpu_lock_folder folder = open_folder(fixture);
    struct gpu_lock_conflict conflict;
    struct gpu_locks *locks = locks_of(&folder, &nameless);
    struct gpu_holder self = {.pid = 1, .run = "/a/long/folder"};
    assert_int_equal(try(locks, &self, &conflict), GPU_LOCKS_TAKEN);
    self.run[2] = '\0';
    gpu_locks_sign(locks, &self);
    AUTO_FREE char *text = fixture_read(fixture, "locks/gpu-0000:01:00.0.lock");
    assert_string_equal(
        text,
        "{\"pid\":1,\"start_time\":0,\"pid_namespace\":0,\"since\":0,\"user\":\"\",\"host\":\"\","
        "\"run\":\"/a\"}\n");
    gpu_locks_free(locks);
    AUTO_FREE char *path = fixture_path(fixture, "locks/gpu-0000:01:00.0.lock");
    assert_int_equal(access(path, F_OK), -1);
    gpu_lock_folder_fini(&folder);
}

static void the_kernel_lets_go_when_the_holder_is_killed(void **state)
{
    struct gpu_lock_folder folder = open_folder(*state);
    struct gpu_lock_conflict conflict;
    struct gpu_locks *ours = locks_of(&folder, &first);
    int pipe_ends[2];
    assert_int_equal(pipe(pipe_ends), 0);
    pid_t child = fork();
    if (child == 0) {
        struct gpu_locks *theirs = locks_of(&folder, &first);
        /* its signature says another process: nobody reads it */
        char answer = (char)try(theirs, &ada, &conflict);
        if (write(pipe_ends[1], &answer, 1) == 1)
            pause();
        _exit(1);
    }
    char answer = -1;
    close(pipe_ends[1]);
    assert_int_equal(read(pipe_ends[0], &answer, 1), 1);
    close(pipe_ends[0]);
    assert_int_equal(answer, GPU_LOCKS_TAKEN);
    assert_int_equal(try(ours, &bob, &conflict), GPU_LOCKS_HELD);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(try(ours, &bob, &conflict), GPU_LOCKS_TAKEN);
    gpu_locks_free(ours);
    gpu_lock_folder_fini(&folder);
}

static void every_user_may_lock_the_files_and_their_owner_alone_write_them_whatever_the_umask(
    void **state)
{
    struct fixture *fixture = *state;
    mode_t before = umask(077);
    struct gpu_lock_folder folder = open_folder(fixture);
    struct gpu_lock_conflict conflict;
    struct gpu_locks *locks = locks_of(&folder, &nameless);
    assert_int_equal(try(locks, &ada, &conflict), GPU_LOCKS_TAKEN);
    umask(before);
    AUTO_FREE char *path = fixture_path(fixture, "locks/gpu-0000:01:00.0.lock");
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0644);
    assert_int_equal(stat(folder.path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 01777);
    gpu_locks_free(locks);
    gpu_lock_folder_fini(&folder);
}

static void assert_refused(const struct fixture *fixture, const char *reason)
{
    struct gpu_lock_folder folder = open_folder(fixture);
    struct gpu_lock_conflict conflict;
    struct err err = {0};
    struct gpu_locks *locks = locks_of(&folder, &nameless);
    assert_int_equal(gpu_locks_try(locks, &ada, NULL, 0, &conflict, &err), GPU_LOCKS_FAILED);
    if (!strstr(err.text, reason))
        fail_msg("%s", err.text);
    gpu_locks_free(locks);
    gpu_lock_folder_fini(&folder);
}

static void no_link_is_followed_and_nothing_but_a_file_of_one_name_is_written(void **state)
{
    struct fixture *fixture = *state;
    AUTO_FREE char *name = fixture_path(fixture, "locks/gpu-0000:01:00.0.lock");
    AUTO_FREE char *victim = fixture_path(fixture, "victim");
    fixture_write(fixture, "victim", "precious");
    fixture_write(fixture, "locks/other", "");
    assert_int_equal(symlink(victim, name), 0);
    assert_refused(fixture, "is a symbolic link");
    assert_int_equal(unlink(name), 0);
    assert_int_equal(link(victim, name), 0);
    assert_refused(fixture, "has a second name elsewhere");
    assert_int_equal(unlink(name), 0);
    assert_int_equal(mkfifo(name, 0666), 0);
    assert_refused(fixture, "is no regular file");
    assert_int_equal(unlink(name), 0);
    assert_int_equal(mkdir(name, 0777), 0);
    assert_refused(fixture, "gpu-0000:01:00.0.lock");
    AUTO_FREE char *text = fixture_read(fixture, "victim");
    assert_string_equal(text, "precious");
}

static void a_lock_that_was_taken_away_or_moved_away_and_back_is_noticed(void **state)
{
    struct fixture *fixture = *state;
    struct gpu_lock_folder folder = open_folder(fixture);
    struct gpu_lock_conflict conflict;
    struct err err = {0};
    AUTO_FREE char *name = fixture_path(fixture, "locks/gpu-0000:01:00.0.lock");
    AUTO_FREE char *aside = fixture_path(fixture, "locks/aside");
    struct gpu_locks *locks = locks_of(&folder, &nameless), *other = locks_of(&folder, &nameless);
    assert_int_equal(try(locks, &ada, &conflict), GPU_LOCKS_TAKEN);
    assert_true(gpu_locks_check(locks, &err));
    poll(NULL, 0, 20); /* more than a tick of the clock that stamps files */
    assert_int_equal(rename(name, aside), 0);
    assert_false(gpu_locks_check(locks, &err));
    assert_int_equal(rename(aside, name), 0);
    assert_false(gpu_locks_check(locks, &err));
    gpu_locks_sign(locks, &ada);
    assert_true(gpu_locks_check(locks, &err));
    assert_int_equal(unlink(name), 0);
    assert_int_equal(try(other, &bob, &conflict), GPU_LOCKS_TAKEN);
    assert_false(gpu_locks_check(locks, &err));
    assert_non_null(strstr(err.text, "was removed, replaced or changed while we held its lock"));
    /* The end of the first leaves the second's file. */
    gpu_locks_free(locks);
    assert_true(gpu_locks_check(other, &err));
    gpu_locks_free(other);
    gpu_lock_folder_fini(&folder);
}

static void a_holder_that_says_to_be_another_process_is_not_believed(void **state)
{
    struct fixture *fixture = *state;
    fixture_write(fixture, "locks/gpu-0000:01:00.0.lock",
                  "{\"pid\":1,\"user\":\"somebody\",\"run\":\"/x\"}\n");
    AUTO_FREE char *path = fixture_path(fixture, "locks/gpu-0000:01:00.0.lock");
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_SH | LOCK_NB), 0);
    struct gpu_lock_folder folder = open_folder(fixture);
    struct gpu_lock_conflict conflict;
    struct gpu_locks *locks = locks_of(&folder, &nameless);
    assert_int_equal(try(locks, &ada, &conflict), GPU_LOCKS_HELD);
    assert_false(conflict.has_holder);
    assert_int_equal(conflict.pid, getpid());
    assert_string_equal(conflict.holder.user, ada.user);
    assert_string_equal(conflict.holder.run, "");
    gpu_locks_free(locks);
    gpu_lock_folder_fini(&folder);
}

static void somebody_who_looks_sees_the_holder_and_takes_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct gpu_lock_folder folder = open_folder(fixture);
    struct gpu_lock_conflict conflict;
    struct err err = {0};
    AUTO_FREE char *path = fixture_path(fixture, "locks/gpu-GPU-aa.lock");
    assert_int_equal(gpu_lock_peek(&folder, &first, &conflict, &err), GPU_LOCKS_TAKEN);
    assert_int_equal(access(path, F_OK), -1);
    struct gpu_locks *locks = locks_of(&folder, &nameless);
    assert_int_equal(try(locks, &ada, &conflict), GPU_LOCKS_TAKEN);
    assert_int_equal(gpu_lock_peek(&folder, &first, &conflict, &err), GPU_LOCKS_HELD);
    assert_string_equal(conflict.label, "GPU-aa");
    assert_string_equal(conflict.holder.run, "/a");
    assert_int_equal(gpu_lock_peek(&folder, &second, &conflict, &err), GPU_LOCKS_TAKEN);
    gpu_locks_free(locks);
    assert_int_equal(gpu_lock_peek(&folder, &first, &conflict, &err), GPU_LOCKS_TAKEN);
    gpu_lock_folder_fini(&folder);
}

static void those_who_only_look_are_not_taken_for_a_holder(void **state)
{
    struct fixture *fixture = *state;
    fixture_write(fixture, "locks/gpu-0000:01:00.0.lock", "");
    AUTO_FREE char *path = fixture_path(fixture, "locks/gpu-0000:01:00.0.lock");
    struct gpu_lock_folder folder = open_folder(fixture);
    struct gpu_lock_conflict conflict;
    pid_t looker = fork();
    if (looker == 0) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        for (int i = 0; i < 20000; i++)
            if (flock(fd, LOCK_SH | LOCK_NB) == 0)
                flock(fd, LOCK_UN);
        _exit(0);
    }
    for (int i = 0; i < 200; i++) {
        struct gpu_locks *locks = locks_of(&folder, &nameless);
        assert_int_equal(try(locks, &ada, &conflict), GPU_LOCKS_TAKEN);
        gpu_locks_free(locks);
    }
    assert_int_equal(waitpid(looker, NULL, 0), looker);
    gpu_lock_folder_fini(&folder);
}

static void what_a_killed_holder_wrote_is_not_believed_when_nobody_holds_the_lock(void **state)
{
    struct fixture *fixture = *state;
    fixture_write(fixture, "locks/gpu-0000:01:00.0.lock", "{\"pid\":99,\"user\":\"ghost\"}\n");
    struct gpu_lock_folder folder = open_folder(fixture);
    struct gpu_lock_conflict conflict;
    struct err err = {0};
    assert_int_equal(gpu_lock_peek(&folder, &nameless, &conflict, &err), GPU_LOCKS_TAKEN);
    struct gpu_locks *locks = locks_of(&folder, &nameless);
    assert_int_equal(try(locks, &ada, &conflict), GPU_LOCKS_TAKEN);
    assert_int_equal(gpu_lock_peek(&folder, &nameless, &conflict, &err), GPU_LOCKS_HELD);
    assert_string_equal(conflict.holder.run, "/a");
    gpu_locks_free(locks);
    gpu_lock_folder_fini(&folder);
}

static void a_holder_that_has_not_signed_is_unknown(void **state)
{
    struct fixture *fixture = *state;
    fixture_write(fixture, "locks/gpu-0000:01:00.0.lock", "");
    AUTO_FREE char *path = fixture_path(fixture, "locks/gpu-0000:01:00.0.lock");
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    struct gpu_lock_folder folder = open_folder(fixture);
    struct gpu_lock_conflict conflict;
    struct gpu_locks *locks = locks_of(&folder, &nameless);
    assert_int_equal(try(locks, &ada, &conflict), GPU_LOCKS_HELD);
    assert_false(conflict.has_holder);
    gpu_locks_free(locks);
    gpu_lock_folder_fini(&folder);
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
        WITH_FOLDER(a_second_run_is_told_who_holds_the_gpu_until_it_is_free),
        WITH_FOLDER(different_gpus_do_not_meet),
        WITH_FOLDER(a_gpu_without_a_uuid_is_met_by_its_address),
        WITH_FOLDER(what_was_free_is_kept_while_the_rest_is_waited_for),
        WITH_FOLDER(the_lock_of_the_run_that_we_are_part_of_counts_as_ours),
        WITH_FOLDER(a_new_signature_replaces_a_longer_one_whole_and_the_end_removes_the_file),
        WITH_FOLDER(the_kernel_lets_go_when_the_holder_is_killed),
        WITH_FOLDER(
            every_user_may_lock_the_files_and_their_owner_alone_write_them_whatever_the_umask),
        WITH_FOLDER(no_link_is_followed_and_nothing_but_a_file_of_one_name_is_written),
        WITH_FOLDER(a_lock_that_was_taken_away_or_moved_away_and_back_is_noticed),
        WITH_FOLDER(a_holder_that_says_to_be_another_process_is_not_believed),
        WITH_FOLDER(somebody_who_looks_sees_the_holder_and_takes_nothing),
        WITH_FOLDER(those_who_only_look_are_not_taken_for_a_holder),
        WITH_FOLDER(what_a_killed_holder_wrote_is_not_believed_when_nobody_holds_the_lock),
        WITH_FOLDER(a_holder_that_has_not_signed_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
