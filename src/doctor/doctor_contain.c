#include "doctor/doctor_contain.h"
#include "base/fs.h"
#include "base/mem.h"
#include "doctor/doctor_text.h"
#include "machine/contain/cgroup.h"
#include "machine/contain/mountinfo.h"
#include "tare_build.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MAX = 4 << 20 };

static const char section[] = "Containment";

static char *machine_path(const struct doctor_machine *machine, const char *path)
{
    return mem_printf("%s%s", machine->root, path);
}

static bool machine_has_path(const struct doctor_machine *machine, const char *path)
{
    AUTO_FREE char *whole = machine_path(machine, path);
    return access(whole, F_OK) == 0;
}

char *doctor_read_line(const struct doctor_machine *machine, const char *path)
{
    AUTO_FREE char *whole = machine_path(machine, path);
    AUTO_TEXT struct text text = {0};
    if (!fs_read_kernel(AT_FDCWD, whole, FILE_MAX, &text, NULL))
        return NULL;
    return mem_strndup(text_get(&text), strcspn(text_get(&text), "\n"));
}

/* Settings of the kernel that forbid namespaces to some, with the value that forbids and the one
 * that mends. */
static const struct knob {
    const char *name, *path, *forbids, *mend;
    bool users_only; /* root is not concerned, while it has CAP_SYS_ADMIN */
} knobs[] = {
    {"kernel.unprivileged_userns_clone", "/proc/sys/kernel/unprivileged_userns_clone", "0", "1",
     true},
    {"kernel.apparmor_restrict_unprivileged_userns",
     "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "0", true},
    {"user.max_user_namespaces", "/proc/sys/user/max_user_namespaces", "0", "15000", true},
    {"user.max_pid_namespaces", "/proc/sys/user/max_pid_namespaces", "0", "15000", false},
    {"user.max_mnt_namespaces", "/proc/sys/user/max_mnt_namespaces", "0", "15000", false},
};

static bool is_container(const struct doctor_machine *machine)
{
    return machine_has_path(machine, "/.dockerenv") ||
           machine_has_path(machine, "/run/.containerenv") ||
           machine_has_path(machine, "/run/systemd/container");
}

/* What concerns ordinary users concerns root without CAP_SYS_ADMIN, too: bit 21 of CapEff,
 * capabilities(7). */
static bool has_all_rights(const struct doctor_machine *machine)
{
    AUTO_FREE char *path = machine_path(machine, "/proc/self/status");
    AUTO_TEXT struct text text = {0};
    unsigned long long effective = ULLONG_MAX;
    fs_read_kernel(AT_FDCWD, path, FILE_MAX, &text, NULL);
    const char *line = strstr(text_get(&text), "\nCapEff:");
    if (line)
        sscanf(line, "\nCapEff: %llx", &effective);
    return machine->uid == 0 && (effective >> 21 & 1);
}

static char *suggest_pidns_fix(const struct doctor_machine *machine)
{
    AUTO_TEXT struct text settings = {0};
    bool all_rights = has_all_rights(machine);
    EACH_OF (knob, knobs) {
        if (knob->users_only && all_rights)
            continue;
        AUTO_FREE char *value = doctor_read_line(machine, knob->path);
        if (value && strcmp(value, knob->forbids) == 0)
            text_addf(&settings, " %s=%s", knob->name, knob->mend);
    }
    if (settings.length)
        return mem_printf("sudo sysctl -w%s", text_get(&settings));
    if (is_container(machine))
        return mem_strdup(
            "docker run --cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt "
            "apparmor=unconfined --security-opt systempaths=unconfined ...");
    return NULL;
}

static void add_pidns(const struct doctor_machine *machine, const struct containment *containment,
                      struct findings *out)
{
    AUTO_FREE char *mend = containment->pidns ? NULL : suggest_pidns_fix(machine);
    if (containment->pidns)
        findings_say(out, section, "pid namespace", FINDING_YES, NULL, NULL,
                     "%sthe kernel ends every process of a job with its first; a run's folder is "
                     "read-only for its jobs",
                     containment->userns ? "inside a user namespace: " : "");
    else
        findings_say(
            out, section, "pid namespace", FINDING_NO, containment->pidns_reason, mend,
            "the kernel does not let a job have one; jobs can write to their run's folder");
}

bool doctor_find_mount(const struct doctor_machine *machine, const char *type, const char *point,
                       struct mount *out)
{
    AUTO_FREE char *path = machine_path(machine, "/proc/self/mountinfo");
    AUTO_FREE struct mount *mount = mem_alloc(sizeof *mount);
    AUTO_TEXT struct text text = {0};
    bool found = false;
    if (!fs_read_kernel(AT_FDCWD, path, FILE_MAX, &text, NULL))
        return false;
    const char *at = text_get(&text), *end = at + text.length;
    while (mountinfo_next(&at, end, mount))
        if (strcmp(mount->type, type) == 0 && (!point || strcmp(mount->point, point) == 0)) {
            *out = *mount;
            found = true;
        }
    return found;
}

static char *suggest_user_cgroup_fix(const struct doctor_machine *machine, const char *point)
{
    AUTO_FREE char *manager = mem_printf("/run/user/%u/systemd", (unsigned)machine->uid);
    if (machine_has_path(machine, manager))
        return mem_strdup("systemd-run --user --scope -p Delegate=yes " TARE_NAME " run ...");
    if (machine_has_path(machine, "/run/systemd/system"))
        return mem_printf("sudo loginctl enable-linger %s   # then log in anew, and: systemd-run "
                          "--user --scope -p "
                          "Delegate=yes " TARE_NAME " run ...",
                          machine->user);
    return mem_printf("sudo sh -c 'mkdir -p %s/%s-%u && chown -R %u %s/%s-%u && echo '$$' "
                      ">%s/%s-%u/cgroup.procs'",
                      point, TARE_NAME, (unsigned)machine->uid, (unsigned)machine->uid, point,
                      TARE_NAME, (unsigned)machine->uid, point, TARE_NAME, (unsigned)machine->uid);
}

static char *suggest_cgroup_fix(const struct doctor_machine *machine,
                                const struct containment *containment, bool *advice)
{
    AUTO_FREE struct mount *mount = mem_alloc(sizeof *mount);
    const char *point = doctor_find_mount(machine, "cgroup2", NULL, mount) ? mount->point : NULL;
    if (!point && is_container(machine))
        return mem_strdup("docker run --cgroupns=private ...   # on a machine with cgroup v2");
    *advice = !point;
    if (!point)
        return mem_strdup(
            "boot with systemd.unified_cgroup_hierarchy=1 on the kernel's command line");
    if (containment->cgroup_reason && strstr(containment->cgroup_reason, "Read-only"))
        return mem_printf("mount -o remount,rw %s   # in a container: docker run --privileged ...",
                          point);
    return machine->uid != 0 ? suggest_user_cgroup_fix(machine, point) : NULL;
}

static void add_cgroup(const struct doctor_machine *machine, const struct containment *containment,
                       struct findings *out)
{
    struct finding finding = {.section = section, .name = "cgroup"};
    AUTO_FREE char *mend =
        containment->cgroup ? NULL : suggest_cgroup_fix(machine, containment, &finding.advice);
    if (containment->cgroup)
        finding_set(&finding, FINDING_YES, NULL, NULL, "each job gets its own below %s",
                    containment->cgroup_parent ? containment->cgroup_parent : "/");
    else
        finding_set(
            &finding, FINDING_NO, containment->cgroup_reason, mend,
            containment->pidns
                ? "not needed for the promise; without it memory is neither limited nor summed"
                : "no cgroup v2 can be made for a job");
    findings_add(out, finding);
}

/* cgroup v1 has the controller, so v2 does not: proc(5), /proc/cgroups: name, hierarchy, number,
 * enabled. */
static void explain_no_controller(const struct doctor_machine *machine, struct finding *finding)
{
    AUTO_FREE char *path = machine_path(machine, "/proc/cgroups");
    AUTO_TEXT struct text text = {0};
    unsigned hierarchy = 0, number, enabled = 1;
    fs_read_kernel(AT_FDCWD, path, FILE_MAX, &text, NULL);
    static const char word[] = "\nmemory\t";
    const char *line = strstr(text_get(&text), word);
    if (line && sscanf(line + sizeof word - 1, "%u %u %u", &hierarchy, &number, &enabled) == 3 &&
        enabled == 0) {
        finding->reason = mem_strdup("the kernel was booted without its memory controller");
        finding->advice = true;
        finding->mend = mem_strdup("boot with cgroup_enable=memory on the kernel's command line");
    } else if (hierarchy != 0) {
        finding->reason = mem_strdup("the memory controller belongs to cgroup v1 on this machine");
        finding->advice = true;
        finding->mend =
            mem_strdup("boot with systemd.unified_cgroup_hierarchy=1 on the kernel's command line");
    } else {
        finding->reason = mem_strdup("the memory controller is not handed down to this cgroup");
    }
}

static void add_memory_limits(const struct doctor_machine *machine,
                              const struct containment *containment, struct findings *out)
{
    struct finding finding = {.section = section, .name = "memory limits"};
    const char *parent = containment->cgroup ? containment->cgroup_parent : NULL;
    if (parent && cgroup_has_memory(parent, "cgroup.subtree_control")) {
        findings_say(out, section, finding.name, FINDING_YES, NULL, NULL,
                     "a job's limit is held by its cgroup");
        return;
    }
    finding_set(&finding, FINDING_NO, NULL, NULL, "a limit in the settings is not held");
    if (!parent) {
        finding.reason = mem_strdup("there is no cgroup");
    } else if (!cgroup_has_memory(parent, "cgroup.controllers")) {
        explain_no_controller(machine, &finding);
    } else {
        finding.reason = mem_printf(
            "processes live in %s itself, and the kernel hands the controller down only where "
            "none do",
            parent);
        finding.mend = mem_printf("systemd-run %s--scope -p MemoryMax=32G " TARE_NAME
                                  " run ...   # for a run as a whole",
                                  machine->uid != 0 ? "--user " : "");
    }
    findings_add(out, finding);
}

void doctor_containment(const struct doctor_machine *machine, const struct containment *containment,
                        struct findings *out)
{
    add_pidns(machine, containment, out);
    add_cgroup(machine, containment, out);
    findings_say(out, section, "sweep", FINDING_YES, NULL, NULL,
                 "searches /proc for what is left; alone, best effort");
    add_memory_limits(machine, containment, out);
}
