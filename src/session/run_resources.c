#include "session/run_resources.h"
#include "base/fs_path.h"
#include "machine/contain/probe.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "machine/state/state.h"
#include "session/command.h"
#include "session/gpus.h"
#include "session/measuring.h"
#include "tare_build.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For what does not die: long enough for a slow machine, short enough for somebody who waits. */
static const double RECOVERY_S = 10;

/* "a run of 3 h 05 min ago" */
static char *describe_ended_run(const struct state_report *report)
{
    char age[32];
    const char *what = report->kind == STATE_EXEC ? "a '" TARE_NAME " exec'" : "a run";
    if (report->age_s < 0)
        return mem_strdup(what);
    clock_format_duration(report->age_s, age);
    return mem_printf("%s of %s ago", what, age);
}

void registration_say(void *context, const struct state_report *report)
{
    (void)context;
    AUTO_FREE char *what = describe_ended_run(report);
    const char *open = report->run_dir ? " (" : "", *close = report->run_dir ? ")" : "";
    const char *run_dir = report->run_dir ? report->run_dir : "";
    if (report->verdict == STATE_ENDED)
        cli_note("ended %zu process%s that %s left%s%s%s%s%s", report->killed,
                 report->killed == 1 ? "" : "es", what, open, run_dir, close,
                 report->names[0] ? ": " : "", report->names);
    else if (report->verdict == STATE_SURVIVED)
        cli_warning("%s left something%s%s%s that cannot be ended: %s", what, open, run_dir, close,
                    report->reason);
}

struct state *registration_open(void)
{
    struct err err = {0};
    struct state *state = state_open_user(&err);
    if (state && state_recover(state, RECOVERY_S, registration_say, NULL, &err))
        return state;
    cli_warning("no state folder, so what killed runs left is not ended, and this one will not be "
                "found if it is killed: "
                "%s; TARE_STATE_DIR=DIR chooses another folder",
                err.text);
    state_close(state);
    return NULL;
}

void registration_recover(struct state *state)
{
    struct err err = {0};
    if (state && !state_recover(state, RECOVERY_S, registration_say, NULL, &err))
        cli_warning("what dead runs left is not looked for: %s", err.text);
}

struct state *registration_begin(struct state *state, enum state_kind kind, const char *run_dir)
{
    struct err err = {0};
    AUTO_FREE char *cwd = run_dir ? get_current_dir_name() : NULL;
    AUTO_FREE char *absolute = run_dir ? fs_resolve(cwd, run_dir, NULL) : NULL;
    if (!state || state_register(state, kind, absolute, &err))
        return state;
    cli_warning("this run will not be found by '%s clean' if it is killed: %s; TARE_STATE_DIR=DIR "
                "chooses another "
                "folder",
                TARE_NAME, err.text);
    state_close(state);
    return NULL;
}

void registration_end(struct state *state)
{
    if (state)
        state_end(state);
    state_close(state);
}

void run_resources_fini(struct run_resources *means)
{
    governing_end(&means->governing);
    host_meter_free(means->host);
    caller_fini(&means->caller);
}

/* Where the machine's /sys is for this process: root looks at the machine itself, not where a user
 * says that one is. */
static const char *sys_root(void)
{
    return geteuid() == 0 && getenv("SUDO_UID") ? "" : gpus_root();
}

/* "powersave", or each of them that was. */
static char *former_names(const struct governor_change *change)
{
    struct text text = {0};
    for (size_t i = 0; i < change->count; i++) {
        size_t first = 0;
        while (strcmp(change->policies[first].former, change->policies[i].former) != 0)
            first++;
        if (first == i)
            text_addf(&text, "%s%s", i > 0 ? ", " : "", change->policies[i].former);
    }
    return text_take(&text);
}

char *governing_leftover_text(int folder)
{
    AUTO(governor_leftover_fini) struct governor_leftover leftover = {0};
    if (!governor_leftover_look(folder, sys_root(), &leftover))
        return NULL;
    AUTO_FREE char *former = former_names(&leftover.change);
    char *text = mem_printf(
        "the CPU frequency governor is still \"%s\", set by a run that was killed; it was %s",
        leftover.change.wanted, former);
    return text;
}

bool governing_recover(int folder, struct err *err)
{
    struct governor_leftover leftover;
    struct err why = {0};
    bool back = governor_leftover_recover(folder, sys_root(), &leftover, &why);
    if (back) {
        AUTO_FREE char *former = former_names(&leftover.change);
        cli_note(
            "the CPU frequency governor is %s again: a run that was killed had left it at \"%s\"",
            former, leftover.change.wanted);
    }
    governor_leftover_fini(&leftover);
    if (!why.text[0])
        return true;
    if (err)
        *err = why;
    return err_wrap(err, "the CPU frequency governor that a killed run left set");
}

/* Root's part, before root is given up and before any thread is started: gives back what a dead run
 * left set, and starts the keeper where this process may set governors. */
static void governing_begin(struct governing *out)
{
    const char *root = sys_root();
    *out = (struct governing){.of_run = {.sysroot = root, .why = &out->why}};
    if (!governor_may_set(root))
        return;
    struct state *state = state_open_user(&out->why);
    if (!state) {
        err_wrap(&out->why, "what the CPU frequency governor was cannot be written down");
        return;
    }
    if (governing_recover(state_folder(state), &out->why))
        out->of_run.keeper = governor_keeper_start(state_folder(state), root, &out->why);
    state_close(state);
}

int run_resources_begin(bool will_run, const char *containment, bool as_root, bool quiet,
                        struct run_resources *out)
{
    struct err err = {0};
    *out = (struct run_resources){.host = will_run ? meters_open_host() : NULL};
    if (will_run)
        governing_begin(&out->governing);
    enum containment_mode mode = CONTAINMENT_AUTO;
    containment_mode_parse(containment, &mode);
    if (!(will_run ? caller_become_for_jobs(as_root, mode, &out->caller, &err)
                   : caller_become(as_root, &out->caller, &err)))
        return cli_failed(CLI_BROKEN, &err);
    if (out->caller.became && !quiet)
        cli_note("under sudo: everything runs as user %u, with %s environment",
                 (unsigned)out->caller.uid, out->caller.environment_from);
    return 0;
}

void governing_settle(struct governing *governing, const struct plan *plan)
{
    bool wanted = false;
    EACH (experiment, plan->experiments, plan->count)
        wanted |= experiment->governor != NULL;
    if (!wanted)
        governing_end(governing);
}

void governing_end(struct governing *governing)
{
    struct err err = {0};
    if (!governor_keeper_stop(governing->of_run.keeper, &err))
        cli_warning("the CPU frequency governor is not what it was before: %s; '%s clean --kill' "
                    "tries again",
                    err.text, TARE_NAME);
    governing->of_run.keeper = NULL;
}
