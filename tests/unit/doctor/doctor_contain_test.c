#include "doctor/doctor_contain.h"
#include "doctor/doctor_text.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "session/command.h"
#include "tare_build.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "root_folder.h"

/* A mend that is a command is to be pasted: a shell must be able to read it. */
static void read_by_a_shell(const struct finding *finding)
{
    if (!finding->mend || finding->advice)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        execlp("sh", "sh", "-n", "-c", finding->mend, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status != 0)
        fail_msg("no shell can read: %s", finding->mend);
}

/* The mark, reason and mend of one finding, for this user and containment. */
static void expect(const char *top, uid_t uid, const struct containment *containment,
                   const char *name, enum finding_mark mark, const char *reason, const char *mend)
{
    struct doctor_machine machine = {.root = top, .uid = uid, .user = "ada"};
    struct findings findings = {0};
    doctor_containment(&machine, containment, &findings);
    const struct finding *finding = find(&findings, name);
    assert_int_equal(finding->mark, mark);
    same_text(finding->reason, reason);
    same_text(finding->mend, mend);
    read_by_a_shell(finding);
    findings_fini(&findings);
}

static char refused[] = "clone a user and pid namespace: Operation not permitted";
static char denied[] = "mkdir /sys/fs/cgroup/x: Permission denied";
static char read_only[] = "mkdir /sys/fs/cgroup/x: Read-only file system";

#define SYS "/proc/sys/"

static void each_setting_that_forbids_namespaces_has_its_mend(void **state)
{
    const char *top = *state;
    const struct containment none = {.pidns_reason = refused, .cgroup_reason = denied};
    expect(top, 1000, &none, "pid namespace", FINDING_NO, refused, NULL);
    put(top, SYS "kernel/unprivileged_userns_clone", "0\n");
    expect(top, 1000, &none, "pid namespace", FINDING_NO, refused,
           "sudo sysctl -w kernel.unprivileged_userns_clone=1");
    put(top, SYS "kernel/unprivileged_userns_clone", "1\n");
    put(top, SYS "kernel/apparmor_restrict_unprivileged_userns", "1\n");
    expect(top, 1000, &none, "pid namespace", FINDING_NO, refused,
           "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0");
    put(top, SYS "user/max_user_namespaces", "0\n");
    expect(top, 1000, &none, "pid namespace", FINDING_NO, refused,
           "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 "
           "user.max_user_namespaces=15000");
}

static void what_concerns_users_only_is_not_told_to_root(void **state)
{
    const char *top = *state;
    const struct containment none = {.pidns_reason = refused, .cgroup_reason = denied};
    put(top, SYS "kernel/unprivileged_userns_clone", "0\n");
    put(top, SYS "user/max_user_namespaces", "0\n");
    expect(top, 0, &none, "pid namespace", FINDING_NO, refused, NULL);
    put(top, SYS "user/max_pid_namespaces", "0\n");
    expect(top, 0, &none, "pid namespace", FINDING_NO, refused,
           "sudo sysctl -w user.max_pid_namespaces=15000");
}

/* CapEff as a container's root has it without --cap-add SYS_ADMIN (docker's default set), and with
 * it. */
static void what_concerns_users_concerns_root_without_cap_sys_admin(void **state)
{
    const char *top = *state;
    const struct containment none = {.pidns_reason = refused};
    put(top, SYS "kernel/unprivileged_userns_clone", "0\n");
    put(top, "/proc/self/status", "Name:\ttare\nCapEff:\t00000000a80425fb\n");
    expect(top, 0, &none, "pid namespace", FINDING_NO, refused,
           "sudo sysctl -w kernel.unprivileged_userns_clone=1");
    put(top, "/proc/self/status", "Name:\ttare\nCapEff:\t00000000a82425fb\n");
    expect(top, 0, &none, "pid namespace", FINDING_NO, refused, NULL);
}

static void in_a_container_its_own_options_are_the_mend(void **state)
{
    const char *top = *state;
    const struct containment none = {.pidns_reason = refused, .cgroup_reason = read_only};
    put(top, "/.dockerenv", "");
    expect(top, 0, &none, "pid namespace", FINDING_NO, refused,
           "docker run --cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt "
           "apparmor=unconfined "
           "--security-opt systempaths=unconfined ...");
    expect(top, 0, &none, "cgroup", FINDING_NO, read_only,
           "docker run --cgroupns=private ...   # on a machine with cgroup v2");
    put(top, "/proc/self/mountinfo",
        "30 23 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup2 ro\n");
    expect(top, 0, &none, "cgroup", FINDING_NO, read_only,
           "mount -o remount,rw /sys/fs/cgroup   # in a container: docker run --privileged ...");
}

static void a_user_gets_a_cgroup_from_systemd_or_else_from_root(void **state)
{
    const char *top = *state;
    const struct containment none = {.pidns_reason = refused, .cgroup_reason = denied};
    expect(top, 1000, &none, "cgroup", FINDING_NO, denied,
           "boot with systemd.unified_cgroup_hierarchy=1 on the kernel's command line");
    put(top, "/proc/self/mountinfo",
        "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n");
    expect(top, 1000, &none, "cgroup", FINDING_NO, denied,
           "sudo sh -c 'mkdir -p /sys/fs/cgroup/" TARE_NAME
           "-1000 && chown -R 1000 /sys/fs/cgroup/" TARE_NAME
           "-1000 && echo '$$' >/sys/fs/cgroup/" TARE_NAME "-1000/cgroup.procs'");
    put(top, "/run/systemd/system/x", "");
    expect(
        top, 1000, &none, "cgroup", FINDING_NO, denied,
        "sudo loginctl enable-linger ada   # then log in anew, and: systemd-run --user --scope -p "
        "Delegate=yes " TARE_NAME " run ...");
    put(top, "/run/user/1000/systemd/x", "");
    expect(top, 1000, &none, "cgroup", FINDING_NO, denied,
           "systemd-run --user --scope -p Delegate=yes " TARE_NAME " run ...");
    expect(top, 0, &none, "cgroup", FINDING_NO, denied, NULL);
}

static void layers_that_hold_need_no_mend(void **state)
{
    const char *top = *state;
    AUTO_FREE char *parent = mem_printf("%s/cgroup", top);
    const struct containment all = {
        .pidns = true, .userns = true, .cgroup = true, .cgroup_parent = parent};
    put(top, "/cgroup/cgroup.controllers", "cpu memory pids\n");
    put(top, "/cgroup/cgroup.subtree_control", "cpu memory\n");
    expect(top, 1000, &all, "pid namespace", FINDING_YES, NULL, NULL);
    expect(top, 1000, &all, "cgroup", FINDING_YES, NULL, NULL);
    expect(top, 1000, &all, "sweep", FINDING_YES, NULL, NULL);
    expect(top, 1000, &all, "memory limits", FINDING_YES, NULL, NULL);
}

static void why_memory_is_not_limited_is_found_out(void **state)
{
    const char *top = *state;
    AUTO_FREE char *parent = mem_printf("%s/cgroup", top);
    AUTO_FREE char *lived_in = mem_printf(
        "processes live in %s itself, and the kernel hands the controller down only where none do",
        parent);
    const struct containment all = {.pidns = true, .cgroup = true, .cgroup_parent = parent};
    const struct containment none = {.pidns = true, .cgroup_reason = denied};
    expect(top, 1000, &none, "memory limits", FINDING_NO, "there is no cgroup", NULL);
    put(top, "/cgroup/cgroup.controllers", "cpu memory pids\n");
    put(top, "/cgroup/cgroup.subtree_control", "cpu memoryless\n");
    expect(top, 1000, &all, "memory limits", FINDING_NO, lived_in,
           "systemd-run --user --scope -p MemoryMax=32G " TARE_NAME
           " run ...   # for a run as a whole");
    expect(top, 0, &all, "memory limits", FINDING_NO, lived_in,
           "systemd-run --scope -p MemoryMax=32G " TARE_NAME " run ...   # for a run as a whole");
    put(top, "/cgroup/cgroup.controllers", "cpu\n");
    expect(top, 0, &all, "memory limits", FINDING_NO,
           "the memory controller is not handed down to this cgroup", NULL);
    put(top, "/proc/cgroups",
        "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t0\t100\t1\nmemory\t4\t90\t1\n");
    expect(top, 0, &all, "memory limits", FINDING_NO,
           "the memory controller belongs to cgroup v1 on this machine",
           "boot with systemd.unified_cgroup_hierarchy=1 on the kernel's command line");
    put(top, "/proc/cgroups",
        "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t0\t100\t1\nmemory\t0\t90\t0\n");
    expect(top, 0, &all, "memory limits", FINDING_NO,
           "the kernel was booted without its memory controller",
           "boot with cgroup_enable=memory on the kernel's command line");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(each_setting_that_forbids_namespaces_has_its_mend),
        WITH_FOLDER(what_concerns_users_only_is_not_told_to_root),
        WITH_FOLDER(what_concerns_users_concerns_root_without_cap_sys_admin),
        WITH_FOLDER(in_a_container_its_own_options_are_the_mend),
        WITH_FOLDER(a_user_gets_a_cgroup_from_systemd_or_else_from_root),
        WITH_FOLDER(layers_that_hold_need_no_mend),
        WITH_FOLDER(why_memory_is_not_limited_is_found_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
