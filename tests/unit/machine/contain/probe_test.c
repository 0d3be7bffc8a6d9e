#include "machine/contain/probe.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void modes_are_read_by_the_names_they_are_written_by(void **state)
{
    (void)state;
    static const char *const names[] = {"auto", "pidns", "cgroup", "sweep"};
    static const enum containment_mode modes[] = {CONTAINMENT_AUTO, CONTAINMENT_PIDNS,
                                                  CONTAINMENT_CGROUP, CONTAINMENT_SWEEP};
    for (size_t i = 0; i < 4; i++) {
        enum containment_mode mode;
        assert_true(containment_mode_parse(names[i], &mode));
        assert_int_equal(mode, modes[i]);
        assert_string_equal(containment_mode_name(modes[i]), names[i]);
    }
    enum containment_mode unchanged = CONTAINMENT_SWEEP;
    assert_false(containment_mode_parse("docker", &unchanged));
    assert_int_equal(unchanged, CONTAINMENT_SWEEP);
}

static void the_sweep_is_always_there(void **state)
{
    (void)state;
    struct containment containment;
    struct err err = {0};
    assert_true(containment_probe(CONTAINMENT_SWEEP, &containment, &err));
    assert_false(containment.pidns);
    assert_false(containment.cgroup);
    assert_null(containment.cgroup_parent);
    assert_string_equal(containment.pidns_reason, "not asked for");
    assert_false(containment_kernel_backed(&containment));
    AUTO_FREE char *text = containment_describe(&containment);
    assert_string_equal(text, "sweep");
    containment_fini(&containment);
}

/* Bit 21 of CapEff (linux/capability.h, proc(5)): who has it needs no user namespace. */
static bool has_cap_sys_admin(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    unsigned long long effective = 0;
    assert_non_null(status);
    while (fgets(line, sizeof line, status))
        sscanf(line, "CapEff: %llx", &effective);
    fclose(status);
    return effective >> 21 & 1;
}

/* Whatever the machine allows, what is missing has a reason and what is there is usable. */
static void auto_takes_what_there_is_and_says_why_the_rest_is_not(void **state)
{
    (void)state;
    struct containment containment;
    struct err err = {0};
    assert_true(containment_probe(CONTAINMENT_AUTO, &containment, &err));
    assert_true(containment.pidns == (containment.pidns_reason == NULL));
    assert_true(containment.cgroup == (containment.cgroup_reason == NULL));
    assert_true(containment.cgroup == (containment.cgroup_parent != NULL));
    assert_true(containment.userns == (containment.pidns && !has_cap_sys_admin()));
    if (containment.cgroup)
        assert_int_equal(access(containment.cgroup_parent, F_OK), 0);
    containment_fini(&containment);
}

static void a_mode_is_given_or_refused_with_a_reason(void **state)
{
    (void)state;
    struct containment all, one;
    struct err err = {0};
    assert_true(containment_probe(CONTAINMENT_AUTO, &all, &err));
    bool pidns = containment_probe(CONTAINMENT_PIDNS, &one, &err);
    assert_true(pidns == all.pidns);
    assert_true(!pidns || one.pidns);
    containment_fini(&one);
    bool cgroup = containment_probe(CONTAINMENT_CGROUP, &one, &err);
    /* a scope that would end with the login is taken only when asked for */
    assert_true(cgroup || !all.cgroup);
    assert_true(!cgroup || (one.cgroup && !one.pidns));
    if (!cgroup)
        assert_memory_equal(err.text, "containment cgroup: ", strlen("containment cgroup: "));
    containment_fini(&one);
    containment_fini(&all);
}

static void only_a_pid_namespace_is_left_by_nobody(void **state)
{
    (void)state;
    struct containment cgroup = {.cgroup = true},
                       pidns = {.pidns = true, .userns = true, .cgroup = true};
    assert_false(containment_kernel_backed(&cgroup));
    assert_true(containment_kernel_backed(&pidns));
    AUTO_FREE char *one = containment_describe(&cgroup);
    AUTO_FREE char *three = containment_describe(&pidns);
    assert_string_equal(one, "cgroup, sweep");
    assert_string_equal(three, "user and pid namespace, cgroup, sweep");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_are_read_by_the_names_they_are_written_by),
        cmocka_unit_test(the_sweep_is_always_there),
        cmocka_unit_test(auto_takes_what_there_is_and_says_why_the_rest_is_not),
        cmocka_unit_test(a_mode_is_given_or_refused_with_a_reason),
        cmocka_unit_test(only_a_pid_namespace_is_left_by_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
