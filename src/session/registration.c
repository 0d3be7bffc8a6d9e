#include "session/registration.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "session/command.h"
#include "tare_build.h"

#include <unistd.h>

/* For what does not die: long enough for a slow machine, short enough for somebody who waits. */
static const double RECOVERY_S = 10;

/* "a run of 3 h 05 min ago" */
static char *describe(const struct state_report *report)
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
    AUTO_FREE char *what = describe(report);
    const char *open = report->run_dir ? " (" : "", *close = report->run_dir ? ")" : "";
    const char *run_dir = report->run_dir ? report->run_dir : "";
    if (report->verdict == STATE_ENDED)
        cli_note("ended %zu process%s that %s left%s%s%s%s%s", report->killed, report->killed == 1 ? "" : "es", what,
                 open, run_dir, close, report->names[0] ? ": " : "", report->names);
    else if (report->verdict == STATE_SURVIVED)
        cli_warning("%s left something%s%s%s that cannot be ended: %s", what, open, run_dir, close, report->reason);
}

struct state *registration_open(void)
{
    struct err err = {0};
    struct state *state = state_open_user(&err);
    if (state && state_recover(state, RECOVERY_S, registration_say, NULL, &err))
        return state;
    cli_warning(
        "no state folder, so what killed runs left is not ended, and this one will not be found if it is killed: "
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
    cli_warning("this run will not be found by '%s clean' if it is killed: %s; TARE_STATE_DIR=DIR chooses another "
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
