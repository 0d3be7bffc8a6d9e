#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "tests/unit/machine/sysroot.h"

#include "policies.h"

/* In another process, so that its locks are another's: takes the governor and tells by the pipe's
 * end how that went; lives until killed. */
static pid_t another_run(int folder, const char *sysroot, const char *wanted)
{
    int ends[2];
    char answer = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct governor_hold hold;
        answer = governor_hold_take(folder, sysroot, wanted, &hold, NULL) ? 'y' : 'n';
        if (write(ends[1], &answer, 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ends[0], &answer, 1), 1);
    assert_int_equal(answer, 'y');
    close(ends[0]);
    close(ends[1]);
    return pid;
}

static void the_last_of_several_runs_gives_it_back(void **state)
{
    const struct sysroot *root = *state;
    AUTO_CLOSE int folder = machine(root);
    struct governor_hold first, second, third;
    struct err err = {0};
    assert_true(governor_hold_take(folder, root->top, "performance", &first, &err));
    assert_true(has(root, "performance"));
    assert_true(governor_hold_take(folder, root->top, "performance", &second, &err));
    assert_false(governor_hold_take(folder, root->top, "ondemand", &third, &err));
    assert_string_equal(
        err.text, "another run that lives has set the CPU frequency governor \"performance\"");
    assert_true(governor_hold_end(&first, &err));
    assert_true(has(root, "performance"));
    assert_true(governor_hold_end(&second, &err));
    assert_true(has(root, "powersave"));
    assert_true(governor_hold_end(&second, &err)); /* of none: nothing */
    assert_true(governor_hold_take(folder, root->top, "ondemand", &third, &err));
    assert_true(has(root, "ondemand"));
    assert_true(governor_hold_end(&third, &err));
    assert_true(has(root, "powersave"));
}

static void what_a_killed_run_left_is_known_and_given_back_by_the_next(void **state)
{
    const struct sysroot *root = *state;
    AUTO_CLOSE int folder = machine(root);
    struct governor_leftover leftover;
    struct governor_hold hold;
    struct err err = {0};
    pid_t run = another_run(folder, root->top, "performance");
    assert_false(governor_leftover_look(folder, root->top, &leftover)); /* it lives */
    assert_false(governor_leftover_recover(folder, root->top, &leftover, &err));
    assert_string_equal(err.text, "");
    assert_true(has(root, "performance"));
    kill_run(run);
    assert_true(governor_leftover_look(folder, root->top, &leftover));
    assert_string_equal(leftover.change.wanted, "performance");
    assert_string_equal(leftover.change.policies[0].former, "powersave");
    governor_leftover_fini(&leftover);
    assert_true(has(root, "performance"));

    /* The next run must not take what the dead one set for what was before. */
    assert_true(governor_hold_take(folder, root->top, "performance", &hold, &err));
    assert_true(governor_hold_end(&hold, &err));
    assert_true(has(root, "powersave"));
    assert_false(governor_leftover_look(folder, root->top, &leftover));

    kill_run(another_run(folder, root->top, "ondemand"));
    assert_true(governor_leftover_recover(folder, root->top, &leftover, &err));
    assert_int_equal(leftover.restored.restored, 1);
    governor_leftover_fini(&leftover);
    assert_true(has(root, "powersave"));
    assert_false(governor_leftover_recover(folder, root->top, &leftover, &err));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
#define ROW(name) cmocka_unit_test_setup_teardown(name, sysroot_setup, sysroot_teardown)
        ROW(the_last_of_several_runs_gives_it_back),
        ROW(what_a_killed_run_left_is_known_and_given_back_by_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
