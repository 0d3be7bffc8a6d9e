/* The state folder, what dead runs left, the kernel. */
#include "base/fs.h"
#include "base/mem.h"
#include "doctor/clean.h"
#include "doctor/doctor.h"
#include "machine/contain/mountinfo.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

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

/* The home cannot be written: runs register in the second place. What is there is opened, nothing is made. */
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

/* NULL: there is none yet, or it cannot be used, which is in the findings then. */
static struct state *open_state(struct findings *out)
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
        findings_say(out, state_section, "leftovers", FINDING_YES, NULL, NULL, "none: nothing of a dead run lives");
    else
        findings_say(out, state_section, "leftovers", FINDING_WRONG, NULL,
                     TARE_NAME " clean --kill   # without --kill it lists them",
                     "%zu process%s of dead runs still live%s", ours, ours == 1 ? "" : "es", ours == 1 ? "s" : "");
}

size_t doctor_state(struct findings *out)
{
    struct err err = {0};
    struct leftovers leftovers;
    size_t others = 0;
    struct state *state = open_state(out);
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
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++)
        if (strcmp(name, slow[i]) == 0)
            return true;
    return false;
}

static void add_clock(const struct doctor_machine *machine, struct findings *out)
{
    AUTO_FREE char *name =
        doctor_read_line(machine, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    if (name && is_slow_clock(name))
        findings_say(out, machine_section, "clock source", FINDING_NO,
                     "the kernel does not trust the processor's own counter (dmesg | grep -i clocksource says why)",
                     NULL, "%s: slow to read, so time stamps of lines cost more", name);
    else
        findings_say(out, machine_section, "clock source", FINDING_FACT, NULL, NULL, "%s",
                     name && *name ? name : "unknown");
}

/* "hidepid=2", "hidepid=invisible", "hidepid=ptraceable"; fresh, or NULL when nothing is hidden. */
static char *hidepid(const struct doctor_machine *machine)
{
    AUTO_FREE struct mount *mount = mem_alloc(sizeof *mount);
    const char *option = doctor_find_mount(machine, "proc", "/proc", mount) ? strstr(mount->options, "hidepid=") : NULL;
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
    findings_say(out, machine_section, "processes seen", FINDING_NO, reason, "sudo mount -o remount,hidepid=0 /proc",
                 "only your own: who else has a GPU open is not seen");
}

void doctor_kernel(const struct doctor_machine *machine, struct findings *out)
{
    struct utsname name = {0};
    uname(&name);
    findings_say(out, machine_section, "program", FINDING_FACT, NULL, NULL, TARE_NAME " " TARE_VERSION);
    findings_say(out, machine_section, "kernel", FINDING_FACT, NULL, NULL, "%s %s, %s", name.sysname, name.release,
                 name.machine);
    add_clock(machine, out);
    add_proc(machine, out);
}
