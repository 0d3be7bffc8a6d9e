/* The CPU frequency governor of runs that live and die: several at once, without root's rights,
 * killed; in a tree of files. */
#include "machine/contain/job.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "machine/governor/governor_keeper.h"

#include "tests/unit/machine/sysroot.h"

#include <grp.h>
#include <poll.h>
#include <sys/wait.h>

#include "policies.h"

/* Far above what any of it takes. */
enum { PATIENCE_MS = 60000 };

static bool comes_to_have(const struct sysroot *root, const char *governor)
{
    for (int waited_ms = 0; waited_ms < PATIENCE_MS && !has(root, governor); waited_ms += 5)
        poll(NULL, 0, 5);
    return has(root, governor);
}

/* A record of this boot, but for what is written anew. */
static void record(const struct sysroot *root, const char *boot_id)
{
    AUTO_FREE char *text = mem_printf(
        "{\"wanted\":\"powersave\",\"former\":{\"0\":\"ondemand\"},\"boot_id\":\"%s\"}\n", boot_id);
    sysroot_file(root, RECORD, text);
}

static void a_record_is_believed_only_of_this_boot_and_when_nobody_else_could_have_written_it(
    void **state)
{
    const struct sysroot *root = *state;
    AUTO_CLOSE int folder = machine(root);
    AUTO_FREE char *path = mem_printf("%s" RECORD, root->top),
                   *other = mem_printf("%s/other.json", root->top);
    struct governor_leftover leftover;
    struct governor_hold hold;
    struct err err = {0};
    char boot_id[40];
    assert_true(boot_id_read(boot_id, &err));

    record(root, boot_id);
    /* what follows is refused for its own reason */
    assert_true(governor_leftover_look(folder, root->top, &leftover));
    governor_leftover_fini(&leftover);

    record(root, "00000000-0000-0000-0000-000000000000");
    assert_false(governor_leftover_look(folder, root->top, &leftover));
    sysroot_file(root, RECORD, "{\"wanted\":\"powersave\",\"for");
    assert_false(governor_leftover_look(folder, root->top, &leftover));

    record(root, boot_id);
    assert_int_equal(chmod(path, 0620), 0);
    assert_false(governor_leftover_look(folder, root->top, &leftover));
    assert_false(governor_hold_take(folder, root->top, "performance", &hold, &err));
    assert_string_equal(err.text, "governor.json in the state folder is not this user's own file");
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(link(path, other), 0);
    assert_false(governor_leftover_look(folder, root->top, &leftover));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("../other.json", path), 0);
    assert_false(governor_leftover_look(folder, root->top, &leftover));
    if (geteuid() == 0) {
        assert_int_equal(unlink(path), 0);
        record(root, boot_id);
        assert_int_equal(chmod(path, 0644), 0);
        assert_int_equal(chown(path, 65534, 65534), 0);
        assert_false(governor_leftover_look(folder, root->top, &leftover));
    }
    assert_true(has(root, "powersave"));
}

/* The answer to what was asked; false with err. */
static bool answered(struct governor_keeper *keeper, struct err *err)
{
    struct pollfd wait = {.fd = governor_keeper_fd(keeper), .events = POLLIN};
    enum governor_answer answer = GOVERNOR_PENDING;
    for (int looks = 0; answer == GOVERNOR_PENDING && looks < 10; looks++) {
        poll(&wait, 1, PATIENCE_MS);
        answer = governor_keeper_answer(keeper, err);
    }
    return answer == GOVERNOR_DONE;
}

static bool asked(struct governor_keeper *keeper, const char *governor, struct err *err)
{
    return governor_keeper_want(keeper, governor, err) && answered(keeper, err);
}

static void a_keeper_sets_what_it_is_asked_for_and_gives_it_back_at_the_end(void **state)
{
    const struct sysroot *root = *state;
    AUTO_CLOSE int folder = machine(root);
    struct err err = {0};
    struct governor_keeper *keeper = governor_keeper_start(folder, root->top, &err);
    assert_non_null(keeper);
    assert_true(asked(keeper, "performance", &err));
    assert_true(has(root, "performance"));
    assert_true(asked(keeper, "performance", &err));
    assert_true(asked(keeper, "schedutil", &err));
    assert_true(has(root, "schedutil"));
    assert_true(asked(keeper, NULL, &err));
    assert_true(has(root, "powersave"));
    assert_false(asked(keeper, "turbo", &err));
    assert_string_equal(err.text, "the kernel offers no CPU frequency governor \"turbo\", only: "
                                  "ondemand powersave performance "
                                  "schedutil");
    assert_false(asked(keeper, "../../x", &err));
    assert_string_equal(err.text, "\"../../x\" is no name of a CPU frequency governor");
    assert_true(has(root, "powersave"));
    assert_true(asked(keeper, "ondemand", &err));
    pid_t pid = governor_keeper_pid(keeper);
    assert_true(governor_keeper_stop(keeper, &err));
    assert_true(has(root, "powersave"));
    assert_int_equal(waitpid(pid, NULL, 0), -1); /* it was waited for */
    assert_true(governor_keeper_stop(NULL, &err));
}

static void a_keeper_that_was_killed_is_missed(void **state)
{
    const struct sysroot *root = *state;
    AUTO_CLOSE int folder = machine(root);
    struct err err = {0};
    struct governor_keeper *keeper = governor_keeper_start(folder, root->top, &err);
    assert_non_null(keeper);
    assert_true(asked(keeper, "performance", &err));
    kill_run(governor_keeper_pid(keeper));
    assert_false(asked(keeper, "ondemand", &err));
    assert_false(governor_keeper_stop(keeper, &err));
    assert_true(err.text[0] != '\0');
    assert_true(has(root, "performance"));
}

/* As root: it gives up its rights after the keeper was started, as under sudo. Lives until
 * killed. */
static _Noreturn void runner(int folder, const char *sysroot, int out)
{
    struct err err = {0};
    AUTO_FREE char *path = mem_printf("%s" POLICIES "/policy0/scaling_governor", sysroot);
    struct governor_keeper *keeper = governor_keeper_start(folder, sysroot, &err);
    char answer = 'y';
    if (!keeper ||
        (geteuid() == 0 && (setgroups(0, NULL) != 0 || setresgid(65534, 65534, 65534) != 0 ||
                            setresuid(65534, 65534, 65534) != 0 || access(path, W_OK) == 0)))
        answer = 'r';
    else if (!asked(keeper, "performance", &err))
        answer = 'n';
    if (write(out, &answer, 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static void the_rights_that_a_killed_runner_had_given_up_still_give_it_back(void **state)
{
    const struct sysroot *root = *state;
    AUTO_CLOSE int folder = machine(root);
    int ends[2];
    char answer = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        runner(folder, root->top, ends[1]);
    assert_int_equal(read(ends[0], &answer, 1), 1);
    assert_int_equal(answer, 'y');
    assert_true(has(root, "performance"));
    kill_run(pid);
    assert_true(comes_to_have(root, "powersave"));
    /* The folder is removed when the test ends: the keeper must be done with it. */
    AUTO_FREE char *record_path = mem_printf("%s" RECORD, root->top);
    struct stat status = {.st_size = 1};
    for (int waited_ms = 0; waited_ms < PATIENCE_MS && status.st_size > 0; waited_ms += 5) {
        assert_int_equal(stat(record_path, &status), 0);
        poll(NULL, 0, 5);
    }
    assert_int_equal(status.st_size, 0);
    close(ends[0]);
    close(ends[1]);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
#define ROW(name) cmocka_unit_test_setup_teardown(name, sysroot_setup, sysroot_teardown)
        ROW(a_record_is_believed_only_of_this_boot_and_when_nobody_else_could_have_written_it),
        ROW(a_keeper_sets_what_it_is_asked_for_and_gives_it_back_at_the_end),
        ROW(a_keeper_that_was_killed_is_missed),
        ROW(the_rights_that_a_killed_runner_had_given_up_still_give_it_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
