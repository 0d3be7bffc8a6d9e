#include "cli/registration.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "cli/command.h"
#include "tare_build.h"

#include <unistd.h>

/* For what does not die: long enough for a slow machine, short enough for somebody who waits. */
static const double RECOVERY_S = 10;

void registration_say(void *context, const struct state_report *report)
{
    (void)context;
    const char *what = report->kind == STATE_EXEC ? "a dead '" TARE_NAME " exec'" : "a dead run";
    const char *open = report->run_dir ? " (" : "", *close = report->run_dir ? ")" : "";
    const char *run_dir = report->run_dir ? report->run_dir : "";
    if (report->verdict == STATE_ENDED)
        cli_note("ended %zu process%s that %s left%s%s%s", report->killed, report->killed == 1 ? "" : "es", what, open,
                 run_dir, close);
    else if (report->verdict == STATE_SURVIVED)
        cli_warning("%s left something%s%s%s: %s", what, open, run_dir, close, report->reason);
}

struct state *registration_open(void)
{
    struct err err = {0};
    AUTO_FREE char *path = state_path(&err);
    struct state *state = path ? state_open(path, &err) : NULL;
    if (state && state_recover(state, RECOVERY_S, registration_say, NULL, &err))
        return state;
    cli_warning("what dead runs left is not looked for, and this one is not registered: %s", err.text);
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
    cli_warning("this run is not registered: were it killed, '%s clean' would know less of it: %s", TARE_NAME,
                err.text);
    state_close(state);
    return NULL;
}

void registration_end(struct state *state)
{
    if (state)
        state_end(state);
    state_close(state);
}
