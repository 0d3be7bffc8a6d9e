/* What of the machine itself makes figures wander: governor, turbo, pressure, the clock, the disk of the results. */
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/reading.h"
#include "base/value.h"
#include "doctor/doctor.h"
#include "machine/governor/governor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

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
        finding_set(&finding, FINDING_FACT, NULL, NULL, "none: the CPUs' frequency is not this system's to choose");
    else if (strcmp(name, "performance") == 0)
        finding_set(&finding, FINDING_YES, NULL, NULL, "performance: CPUs do not start slow");
    else
        finding_set(&finding, FINDING_NO, NULL,
                    "\"governor\": \"performance\" in the settings, or: echo performance | sudo tee "
                    "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
                    "%s: CPUs change their clocks with the load, so times and energies wander", name);
    findings_add(out, finding);
}

/* Documentation/admin-guide/pm/intel_pstate.rst and cpufreq.rst of the kernel: no_turbo says the opposite of boost. */
static void add_turbo(const struct doctor_machine *machine, struct findings *out)
{
    static const struct {
        const char *path, *on, *off;
    } knobs[] = {{"/sys/devices/system/cpu/intel_pstate/no_turbo", "0", "1"},
                 {"/sys/devices/system/cpu/cpufreq/boost", "1", "0"}};
    for (size_t i = 0; i < sizeof knobs / sizeof *knobs; i++) {
        AUTO_FREE char *value = doctor_read_line(machine, knobs[i].path);
        if (!value)
            continue;
        bool on = strcmp(value, knobs[i].on) == 0;
        AUTO_FREE char *mend = on ? mem_printf("echo %s | sudo tee %s", knobs[i].off, knobs[i].path) : NULL;
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
    AUTO_FREE char *number = at ? mem_strndup(at + strlen(key), strcspn(at + strlen(key), " \n")) : NULL;
    reading.valid = number && number_parse(number, &reading.value) && reading.value >= 0 && reading.value <= 100;
    return reading;
}

/* Documentation/accounting/psi.rst: "some avg10=0.00 avg60=0.00 avg300=0.00 total=0". What began a moment ago is in the mean of
 * ten seconds, and hardly in that of a minute: the larger counts. */
static struct reading pressure_of(const struct doctor_machine *machine, const char *resource)
{
    AUTO_FREE char *path = mem_printf("%s/proc/pressure/%s", machine->root, resource);
    AUTO_TEXT struct text text = {0};
    if (!fs_read_kernel(AT_FDCWD, path, PRESSURE_FILE_MAX, &text, NULL) || strncmp(text_get(&text), "some ", 5) != 0)
        return (struct reading){0};
    struct reading now = pressure_over(text_get(&text), " avg10="), minute = pressure_over(text_get(&text), " avg60=");
    return now.valid && (!minute.valid || now.value > minute.value) ? now : minute;
}

static void judge_pressure(double worst, struct finding *finding)
{
    if (worst >= PRESSURE_FAIL_PERCENT) {
        finding->mark = FINDING_WRONG;
        finding->reason = mem_strdup("other programs keep the machine busy, and trainings wait for them");
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
    struct finding finding = {
        .section = section, .name = "pressure", .mark = FINDING_YES, .advice = true, .data = json_object()};
    struct text text = {0};
    double worst = -1;
    for (size_t i = 0; i < sizeof resources / sizeof *resources; i++) {
        struct reading share = pressure_of(machine, resources[i]);
        json_set_reading(finding.data, resources[i], share);
        if (!share.valid)
            continue;
        text_addf(&text, "%s%s %.0f %%", text.length ? ", " : "", resources[i], share.value);
        worst = share.value > worst ? share.value : worst;
    }
    if (worst < 0) {
        finding.mark = FINDING_UNCHECKED;
        text_add(&text, "not checked: whether programs have to wait for CPUs, disk or memory is not told");
        finding.reason = mem_strdup("this kernel does not measure it, or it is switched off");
        finding.mend = mem_strdup("boot with psi=1 on the kernel's command line (a kernel of 4.20 or newer)");
    } else {
        text_add(&text, " of the last minute, or of the last 10 s where that is more, some program waited");
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
            "the clock is not kept in time: time stamps may jump, and do not compare between machines; durations "
            "are not concerned");
}

static void judge_disk(const struct statvfs *disk, const char *path, struct finding *finding)
{
    double free_gib = (double)disk->f_bavail * (double)disk->f_frsize / BYTES_PER_GIB;
    bool no_files = disk->f_files > 0 && disk->f_favail < FILES_FAIL; /* some file systems do not count files */
    finding->text = mem_printf("%.1f GiB free where results go (%s)", free_gib, path);
    json_object_set_new(finding->data, "free_bytes", json_integer((json_int_t)(free_gib * BYTES_PER_GIB)));
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

static void add_disk(const char *results, struct findings *out)
{
    struct statvfs disk;
    AUTO_FREE char *path = fs_nearest(results);
    struct finding finding = {
        .section = section, .name = "disk", .mark = FINDING_YES, .advice = true, .data = json_object()};
    json_object_set_new(finding.data, "path", json_text_or_null(path));
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
    add_disk(results, out);
}
