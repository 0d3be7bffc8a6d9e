/* The CPU frequency governor, in a tree of files like that of a real machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "machine/governor/governor.h"

#include "tests/unit/machine/sysroot.h"

#include <sys/wait.h>

#define POLICIES "/sys/devices/system/cpu/cpufreq"

static void policy(const struct sysroot *root, unsigned number, const char *governor)
{
    char path[128];
    AUTO_FREE char *line = mem_printf("%s\n", governor);
    snprintf(path, sizeof path, POLICIES "/policy%u/scaling_governor", number);
    sysroot_file(root, path, line);
    snprintf(path, sizeof path, POLICIES "/policy%u/scaling_available_governors", number);
    sysroot_file(root, path, "conservative ondemand powersave performance schedutil \n");
}

/* The first line of what a policy has; the kernel takes a name without a newline, and a plain file
 * keeps what was longer. */
static void assert_has(const struct sysroot *root, unsigned number, const char *governor)
{
    char path[128], text[64];
    snprintf(path, sizeof path, POLICIES "/policy%u/scaling_governor", number);
    sysroot_read(root, path, text, sizeof text);
    assert_true(strncmp(text, governor, strlen(governor)) == 0);
}

/* In a plain file a shorter name leaves the end of the longer one behind: what the kernel would
 * show is written for it. */
static void settle(const struct sysroot *root, unsigned number, const char *governor)
{
    assert_has(root, number, governor);
    policy(root, number, governor);
}

static void three_policies(const struct sysroot *root)
{
    policy(root, 0, "powersave");
    policy(root, 2, "performance");
    policy(root, 10, "schedutil");
    sysroot_file(root, POLICIES "/boost", "1\n");
}

static void what_is_changed_is_told_before_and_given_back_after(void **state)
{
    const struct sysroot *root = *state;
    struct governor_change change;
    struct governor_restored restored;
    struct err err;
    char name[GOVERNOR_NAME_MAX];
    three_policies(root);
    assert_true(governor_read(root->top, name, &err));
    assert_string_equal(name, "mixed");
    assert_true(governor_plan(root->top, "performance", false, &change, &err));
    assert_int_equal(change.count, 2); /* policy 2 has it already */
    assert_int_equal(change.policies[0].number, 0);
    assert_string_equal(change.policies[0].former, "powersave");
    assert_int_equal(change.policies[1].number, 10);
    assert_string_equal(change.policies[1].former, "schedutil");
    assert_has(root, 0, "powersave"); /* nothing was changed yet */

    assert_true(governor_apply(root->top, &change, &err));
    settle(root, 0, "performance");
    settle(root, 10, "performance");
    assert_true(governor_read(root->top, name, &err));
    assert_string_equal(name, "performance");

    assert_true(governor_restore(root->top, &change, &restored, &err));
    assert_int_equal(restored.restored, 2);
    assert_int_equal(restored.left, 0);
    settle(root, 0, "powersave");
    settle(root, 10, "schedutil");
    settle(root, 2, "performance");
    /* a second time does nothing */
    assert_true(governor_restore(root->top, &change, &restored, &err));
    assert_int_equal(restored.restored, 0);
    assert_int_equal(restored.left, 2);
    governor_change_fini(&change);
}

static void another_process_restores_from_the_journal_only_what_is_still_ours(void **state)
{
    const struct sysroot *root = *state;
    struct governor_change change, read;
    struct governor_restored restored;
    struct err err;
    three_policies(root);
    policy(root, 2, "ondemand");
    assert_true(governor_plan(root->top, "performance", false, &change, &err));
    json_t *json = governor_change_to_json(&change);
    AUTO_FREE char *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    governor_change_fini(&change);
    assert_string_equal(text, "{\"wanted\":\"performance\",\"former\":{\"0\":\"powersave\",\"2\":"
                              "\"ondemand\",\"10\":\"schedutil\"}}");

    policy(root, 0, "performance");  /* set by the run that was killed */
    policy(root, 2, "conservative"); /* and set by somebody else since */
    AUTO_FREE char *gone = mem_printf("%s" POLICIES "/policy10/scaling_governor", root->top);
    assert_int_equal(unlink(gone), 0); /* its processors went offline */
    json = json_loads(text, 0, NULL);
    assert_true(governor_change_from_json(json, &read));
    json_decref(json);
    assert_true(governor_restore(root->top, &read, &restored, &err));
    assert_int_equal(restored.restored, 1);
    assert_int_equal(restored.left, 2);
    assert_int_equal(restored.failed, 0);
    assert_has(root, 0, "powersave");
    assert_has(root, 2, "conservative");
    governor_change_fini(&read);
}

/* For a name that is not listed the kernel would load a module. */
static void a_governor_that_the_kernel_does_not_list_is_not_given_back(void **state)
{
    const struct sysroot *root = *state;
    struct governor_change read;
    struct governor_restored restored;
    struct err err = {0};
    three_policies(root);
    policy(root, 0, "performance");
    json_t *json =
        json_loads("{\"wanted\": \"performance\", \"former\": {\"0\": \"planted\"}}", 0, NULL);
    assert_true(governor_change_from_json(json, &read));
    json_decref(json);
    assert_false(governor_restore(root->top, &read, &restored, &err));
    assert_int_equal(restored.failed, 1);
    assert_non_null(strstr(err.text, "offers no CPU frequency governor \"planted\""));
    assert_has(root, 0, "performance");
    governor_change_fini(&read);
}

static void a_journal_that_names_anything_else_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "[]",
        "{}",
        "{\"wanted\": \"performance\"}",
        "{\"wanted\": \"performance\", \"former\": []}",
        "{\"wanted\": \"\", \"former\": {}}",
        "{\"wanted\": \"a/b\", \"former\": {}}",
        "{\"wanted\": \"performance\", \"former\": {\"0\": \"power save\"}}",
        "{\"wanted\": \"performance\", \"former\": {\"0\": 3}}",
        "{\"wanted\": \"performance\", \"former\": {\"0/../../x\": \"powersave\"}}",
        "{\"wanted\": \"performance\", \"former\": {\"-1\": \"powersave\"}}",
        "{\"wanted\": \"performance\", \"former\": {\"4096\": \"powersave\"}}",
        "{\"wanted\": \"performance\", \"former\": {\"0\": \"sixteen_letters_\"}}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct governor_change change;
        json_t *json = json_loads(wrong[i], 0, NULL);
        assert_non_null(json);
        assert_false(governor_change_from_json(json, &change));
        assert_int_equal(change.count, 0);
        json_decref(json);
    }
}

static void a_governor_that_the_kernel_does_not_offer_is_named(void **state)
{
    const struct sysroot *root = *state;
    struct governor_change change;
    struct err err;
    three_policies(root);
    assert_false(governor_plan(root->top, "perform", false, &change, &err));
    assert_string_equal(err.text, "the kernel offers no CPU frequency governor \"perform\", only: "
                                  "conservative ondemand powersave "
                                  "performance schedutil ");
    assert_false(governor_plan(root->top, "../x", false, &change, &err));
    assert_string_equal(err.text, "\"../x\" is no name of a CPU frequency governor");
}

static void a_machine_without_governors_says_so(void **state)
{
    const struct sysroot *root = *state;
    struct governor_change change;
    struct err err;
    char name[GOVERNOR_NAME_MAX];
    assert_false(governor_read(root->top, name, &err));
    assert_false(governor_plan(root->top, "performance", false, &change, &err));
    assert_string_equal(err.text,
                        "this machine shows no CPU frequency governor (no policy in " POLICIES
                        "; virtual machines have none)");
}

static void either_all_policies_are_set_or_none(void **state)
{
    const struct sysroot *root = *state;
    struct governor_change change;
    struct err err;
    three_policies(root);
    assert_true(governor_plan(root->top, "performance", false, &change, &err));
    AUTO_FREE char *path = mem_printf("%s" POLICIES "/policy10/scaling_governor", root->top);
    assert_int_equal(unlink(path), 0);
    assert_false(governor_apply(root->top, &change, &err));
    assert_string_equal(err.text,
                        "open " POLICIES "/policy10/scaling_governor: No such file or directory");
    assert_has(root, 0, "powersave");
    governor_change_fini(&change);
}

/* As another user: 0 when all was as it should be. */
static int without_rights(const char *top, const struct governor_change *held)
{
    struct governor_change change;
    struct governor_restored restored;
    struct err err;
    if (chdir(top) != 0 || (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)))
        return 1;
    if (governor_plan(".", "performance", false, &change, &err))
        return 2;
    if (strcmp(err.text,
               "setting the CPU frequency governor needs root (sudo, or beforehand: echo "
               "performance | sudo tee " POLICIES "/policy*/scaling_governor): open " POLICIES
               "/policy0/scaling_governor: Permission denied") != 0)
        return 3;
    /* What was opened before the rights were given up still works. */
    if (!governor_apply(".", held, &err))
        return 4;
    return governor_restore(".", held, &restored, &err) && restored.restored == 1 ? 0 : 5;
}

static void without_permission_the_command_is_named_and_what_was_held_open_still_works(void **state)
{
    const struct sysroot *root = *state;
    struct governor_change held;
    struct err err;
    /* as long as the other name, so that a plain file holds each of them whole */
    policy(root, 0, "schedutil__");
    assert_true(governor_plan(root->top, "performance", true, &held, &err));
    AUTO_FREE char *path = mem_printf("%s" POLICIES "/policy0/scaling_governor", root->top);
    assert_int_equal(chmod(path, 0444), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(without_rights(root->top, &held));
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_has(root, 0, "schedutil__");
    governor_change_fini(&held);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
#define ROW(name) cmocka_unit_test_setup_teardown(name, sysroot_setup, sysroot_teardown)
        ROW(what_is_changed_is_told_before_and_given_back_after),
        ROW(another_process_restores_from_the_journal_only_what_is_still_ours),
        ROW(a_governor_that_the_kernel_does_not_list_is_not_given_back),
        ROW(a_journal_that_names_anything_else_is_refused),
        ROW(a_governor_that_the_kernel_does_not_offer_is_named),
        ROW(a_machine_without_governors_says_so),
        ROW(either_all_policies_are_set_or_none),
        ROW(without_permission_the_command_is_named_and_what_was_held_open_still_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
