#include "doctor/doctor_host.h"
#include "base/fs_path.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/reading.h"
#include "base/value.h"
#include "doctor/clean.h"
#include "doctor/doctor_contain.h"
#include "doctor/doctor_text.h"
#include "machine/contain/mountinfo.h"
#include "machine/governor/governor.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The state folder, what dead runs left, the kernel. */

static const char state_section[] = "State", machine_section[] = "Machine";
static const char state_mend[] = "export TARE_STATE_DIR=FOLDER   # one that only you may write";

/* The nearest folder above that is there: whether the missing ones can be made in it. */
static bool can_be_made(const char *path)
{
    AUTO_FREE char *at = mem_strdup(path);
    while (access(at, F_OK) != 0 && errno == ENOENT && strcmp(at, "/") != 0) {
        char *above = fs_dirname(at);
        free(at);
        at = above;
    }
    return access(at, W_OK | X_OK) == 0;
}

static void add_bad_state(struct findings *out, const char *path, const char *reason)
{
    findings_say(out, state_section, "folder", FINDING_WRONG, reason, state_mend,
                 "%s cannot be used: dead runs are not found", path);
}

/* The home cannot be written: runs register in the second place. What is there is opened, nothing
 * is made. */
static struct state *fall_back(struct findings *out, const struct strv *paths, const char *why)
{
    struct err err = {0};
    const char *path = paths->items[0], *second = paths->count > 1 ? paths->items[1] : NULL;
    bool there = second && access(second, F_OK) == 0;
    struct state *state = there ? state_open(second, &err) : NULL;
    if (!second || (there && !state) || (!there && !can_be_made(second))) {
        add_bad_state(out, path, why);
        return NULL;
    }
    AUTO_FREE char *reason = mem_printf("%s: %s", path, why);
    findings_say(out, state_section, "folder", FINDING_NO, reason, state_mend, "%s%s", second,
                 there ? "" : " (made by the first run)");
    return state;
}

/* NULL: it does not exist yet, or cannot be used, which is then among the findings. */
static struct state *open_state_or_report(struct findings *out)
{
    struct err err = {0};
    AUTO_STRV struct strv paths = {0};
    if (!state_paths(&paths, &err)) {
        add_bad_state(out, "the state folder", err.text);
        return NULL;
    }
    const char *path = paths.items[0];
    /* To look is no reason to make it. */
    bool missing = access(path, F_OK) != 0 && errno == ENOENT;
    if (missing && !can_be_made(path))
        return fall_back(out, &paths, "it is not there, and the folder above is not writable");
    struct state *state = missing ? NULL : state_open(path, &err);
    if (!missing && !state)
        return fall_back(out, &paths, err.text);
    if (!missing && access(path, W_OK) != 0) {
        state_close(state);
        return fall_back(out, &paths, "it is not writable");
    }
    findings_say(out, state_section, "folder", FINDING_YES, NULL, NULL, "%s%s", path,
                 missing ? " (made by the first run)" : "");
    return state;
}

static void add_leftovers(const struct leftovers *leftovers, struct findings *out)
{
    size_t ours = leftovers_count_ours(leftovers);
    if (ours == 0)
        findings_say(out, state_section, "leftovers", FINDING_YES, NULL, NULL,
                     "none: nothing of a dead run lives");
    else
        findings_say(out, state_section, "leftovers", FINDING_WRONG, NULL,
                     TARE_NAME " clean --kill   # without --kill it lists them",
                     "%zu process%s of dead runs still live%s", ours, ours == 1 ? "" : "es",
                     ours == 1 ? "s" : "");
}

size_t doctor_state(struct findings *out)
{
    struct err err = {0};
    struct leftovers leftovers;
    size_t others = 0;
    struct state *state = open_state_or_report(out);
    if (leftovers_find(state, &clean_roots, &leftovers, &err)) {
        add_leftovers(&leftovers, out);
        others = leftovers.count - leftovers_count_ours(&leftovers);
        leftovers_fini(&leftovers);
    } else {
        findings_say(out, state_section, "leftovers", FINDING_WRONG, err.text, NULL,
                     "what dead runs left cannot be looked for");
    }
    state_close(state);
    return others;
}

/* Those that are read by a system call, slowly, or that tick coarsely. */
static bool is_slow_clock(const char *name)
{
    static const char *const slow[] = {"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"};
    EACH_OF (item, slow)
        if (strcmp(name, *item) == 0)
            return true;
    return false;
}

static void add_clock(const struct doctor_machine *machine, struct findings *out)
{
    AUTO_FREE char *name = doctor_read_line(
        machine, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    if (name && is_slow_clock(name))
        findings_say(out, machine_section, "clock source", FINDING_NO,
                     "the kernel does not trust the processor's own counter (dmesg | grep -i "
                     "clocksource says why)",
                     NULL, "%s: slow to read, so time stamps of lines cost more", name);
    else
        findings_say(out, machine_section, "clock source", FINDING_FACT, NULL, NULL, "%s",
                     name && *name ? name : "unknown");
}

/* "hidepid=2", "hidepid=invisible", "hidepid=ptraceable"; fresh, or NULL when nothing is hidden. */
static char *hidepid(const struct doctor_machine *machine)
{
    AUTO_FREE struct mount *mount = mem_alloc(sizeof *mount);
    const char *option = doctor_find_mount(machine, "proc", "/proc", mount)
                             ? strstr(mount->options, "hidepid=")
                             : NULL;
    AUTO_FREE char *found = option ? mem_strndup(option, strcspn(option, ",")) : NULL;
    bool hides = found && strcmp(found, "hidepid=0") != 0 && strcmp(found, "hidepid=off") != 0;
    return hides ? steal_ptr(found) : NULL;
}

static void add_proc(const struct doctor_machine *machine, struct findings *out)
{
    AUTO_FREE char *option = hidepid(machine);
    if (!option || machine->uid == 0)
        return;
    AUTO_FREE char *reason = mem_printf("/proc is mounted with %s", option);
    findings_say(out, machine_section, "processes seen", FINDING_NO, reason,
                 "sudo mount -o remount,hidepid=0 /proc",
                 "only your own: who else has a GPU open is not seen");
}

void doctor_kernel(const struct doctor_machine *machine, struct findings *out)
{
    struct utsname name = {0};
    uname(&name);
    findings_say(out, machine_section, "program", FINDING_FACT, NULL, NULL,
                 TARE_NAME " " TARE_VERSION);
    findings_say(out, machine_section, "kernel", FINDING_FACT, NULL, NULL, "%s %s, %s",
                 name.sysname, name.release, name.machine);
    add_clock(machine, out);
    add_proc(machine, out);
}

enum { PRESSURE_FILE_MAX = 4096 };

static const char section[] = "Machine";

static const double BYTES_PER_GIB = 1073741824;
/* A day's experiments with their logs and readings; and what not even one may leave. */
static const double DISK_WARN_GIB = 5, DISK_FAIL_GIB = 0.25;
static const uint64_t FILES_FAIL = 1000;

/* Of the last minute. */
static const double PRESSURE_WARN_PERCENT = 10;
/* As much as makes an experiment beside others suspect: docs/reference/evidence.md. */
static const double PRESSURE_FAIL_PERCENT = 25;

static void add_governor(const struct doctor_machine *machine, struct findings *out)
{
    char name[GOVERNOR_NAME_MAX];
    struct err err = {0};
    struct finding finding = {.section = section, .name = "governor", .advice = true};
    if (!governor_read(machine->root, name, &err))
        finding_set(&finding, FINDING_FACT, NULL, NULL,
                    "none: the CPUs' frequency is not this system's to choose");
    else if (strcmp(name, "performance") == 0)
        finding_set(&finding, FINDING_YES, NULL, NULL, "performance: CPUs do not start slow");
    else
        finding_set(
            &finding, FINDING_NO, NULL,
            "\"governor\": \"performance\" in the settings, or: echo performance | sudo tee "
            "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
            "%s: CPUs change their clocks with the load, so times and energies wander", name);
    findings_add(out, finding);
}

/* Documentation/admin-guide/pm/intel_pstate.rst and cpufreq.rst of the kernel: no_turbo says the
 * opposite of boost. */
static void add_turbo(const struct doctor_machine *machine, struct findings *out)
{
    static const struct {
        const char *path, *on, *off;
    } knobs[] = {{"/sys/devices/system/cpu/intel_pstate/no_turbo", "0", "1"},
                 {"/sys/devices/system/cpu/cpufreq/boost", "1", "0"}};
    EACH_OF (knob, knobs) {
        AUTO_FREE char *value = doctor_read_line(machine, knob->path);
        if (!value)
            continue;
        bool on = strcmp(value, knob->on) == 0;
        AUTO_FREE char *mend =
            on ? mem_printf("echo %s | sudo tee %s", knob->off, knob->path) : NULL;
        findings_say(out, section, "turbo", on ? FINDING_NO : FINDING_YES, NULL, mend,
                     on ? "on: CPU clocks rise and fall with heat and with how many CPUs work"
                        : "off: CPU clocks stay where they are");
        return;
    }
}

static struct reading pressure_over(const char *line, const char *key)
{
    struct reading reading = {0};
    const char *at = strstr(line, key);
    AUTO_FREE char *number =
        at ? mem_strndup(at + strlen(key), strcspn(at + strlen(key), " \n")) : NULL;
    reading.valid = number && number_parse(number, &reading.value) && reading.value >= 0 &&
                    reading.value <= 100;
    return reading;
}

/* Documentation/accounting/psi.rst: "some avg10=0.00 avg60=0.00 avg300=0.00 total=0". What began a
 * moment ago is in the mean of ten seconds, and hardly in that of a minute: the larger counts. */
static struct reading pressure_of(const struct doctor_machine *machine, const char *resource)
{
    AUTO_FREE char *path = mem_printf("%s/proc/pressure/%s", machine->root, resource);
    AUTO_TEXT struct text text = {0};
    if (!fs_read_kernel(AT_FDCWD, path, PRESSURE_FILE_MAX, &text, NULL) ||
        strncmp(text_get(&text), "some ", 5) != 0)
        return (struct reading){0};
    struct reading now = pressure_over(text_get(&text), " avg10="),
                   minute = pressure_over(text_get(&text), " avg60=");
    return now.valid && (!minute.valid || now.value > minute.value) ? now : minute;
}

static void judge_pressure(double worst, struct finding *finding)
{
    if (worst >= PRESSURE_FAIL_PERCENT) {
        finding->mark = FINDING_WRONG;
        finding->reason =
            mem_strdup("other programs keep the machine busy, and trainings wait for them");
    } else if (worst >= PRESSURE_WARN_PERCENT) {
        finding->mark = FINDING_NO;
        finding->reason = mem_strdup("other programs make trainings wait at times");
    }
    if (finding->mark != FINDING_YES)
        finding->mend = mem_strdup("end what need not run now: top shows it");
}

static void add_pressure(const struct doctor_machine *machine, struct findings *out)
{
    static const char *const resources[] = {"cpu", "io", "memory"};
    struct finding finding = {.section = section,
                              .name = "pressure",
                              .mark = FINDING_YES,
                              .advice = true,
                              .data = json_object()};
    struct text text = {0};
    double worst = -1;
    EACH_OF (resource, resources) {
        struct reading share = pressure_of(machine, *resource);
        json_set_reading(finding.data, *resource, share);
        if (!share.valid)
            continue;
        text_addf(&text, "%s%s %.0f %%", text.length ? ", " : "", *resource, share.value);
        worst = share.value > worst ? share.value : worst;
    }
    if (worst < 0) {
        finding.mark = FINDING_UNCHECKED;
        text_add(&text,
                 "not checked: whether programs have to wait for CPUs, disk or memory is not told");
        finding.reason = mem_strdup("this kernel does not measure it, or it is switched off");
        finding.mend =
            mem_strdup("boot with psi=1 on the kernel's command line (a kernel of 4.20 or newer)");
    } else {
        text_add(
            &text,
            " of the last minute, or of the last 10 s where that is more, some program waited");
        judge_pressure(worst, &finding);
    }
    finding.text = text_take(&text);
    findings_add(out, finding);
}

/* adjtimex(2). Durations do not need it: they are of a clock that is never set. */
static void add_clock_sync(struct findings *out)
{
    struct timex clock = {.modes = 0};
    int state = adjtimex(&clock);
    if (state >= 0 && state != TIME_ERROR && !(clock.status & STA_UNSYNC))
        findings_say(out, section, "clock sync", FINDING_YES, NULL, NULL,
                     "the clock is kept in time, so it will not be set in the middle of a run");
    else
        findings_say(
            out, section, "clock sync", FINDING_NO, NULL,
            "sudo timedatectl set-ntp true   # or start chronyd; in a container: on its host",
            "the clock is not kept in time: time stamps may jump, and do not compare between "
            "machines; durations "
            "are not concerned");
}

static void judge_disk(const struct statvfs *disk, const char *path, struct finding *finding)
{
    double free_gib = (double)disk->f_bavail * (double)disk->f_frsize / BYTES_PER_GIB;
    /* some file systems do not count files */
    bool no_files = disk->f_files > 0 && disk->f_favail < FILES_FAIL;
    finding->text = mem_printf("%.1f GiB free where results go (%s)", free_gib, path);
    json_object_set_new(finding->data, "free_bytes",
                        json_integer((json_int_t)(free_gib * BYTES_PER_GIB)));
    if (disk->f_flag & ST_RDONLY) {
        finding->mark = FINDING_WRONG;
        finding->reason = mem_strdup("it is mounted read-only");
    } else if (free_gib < DISK_FAIL_GIB || no_files) {
        finding->mark = FINDING_WRONG;
        finding->reason = mem_strdup(no_files ? "the file system has no room for more files"
                                              : "a run would soon end for want of space");
    } else if (free_gib < DISK_WARN_GIB) {
        finding->mark = FINDING_NO;
        finding->reason = mem_strdup("long logs and checkpoints may fill it");
    }
    if (finding->mark != FINDING_YES)
        finding->mend = mem_strdup("make room, or name another folder: --output DIR");
}

static void add_disk_finding(const char *results, struct findings *out)
{
    struct statvfs disk;
    AUTO_FREE char *path = fs_nearest(results);
    struct finding finding = {.section = section,
                              .name = "disk",
                              .mark = FINDING_YES,
                              .advice = true,
                              .data = json_object()};
    json_set_text(finding.data, "path", path);
    if (path && statvfs(path, &disk) == 0) {
        judge_disk(&disk, path, &finding);
    } else {
        finding.mark = FINDING_WRONG;
        finding.text = mem_printf("where results go (%s) cannot be checked", path ? path : results);
        finding.reason = mem_strdup(strerror(errno));
    }
    if (finding.mark != FINDING_WRONG && eaccess(path, W_OK | X_OK) != 0) {
        finding.mark = FINDING_WRONG;
        finding.reason = mem_strdup("you may not write there");
        free(finding.mend);
        finding.mend = mem_strdup("name another folder: --output DIR");
    }
    findings_add(out, finding);
}

void doctor_host(const struct doctor_machine *machine, const char *results, struct findings *out)
{
    add_governor(machine, out);
    add_turbo(machine, out);
    add_pressure(machine, out);
    add_clock_sync(out);
    add_disk_finding(results, out);
}
