#include "session/run_resources.h"

#include "base/mem.h"
#include "base/text.h"
#include "machine/contain/contain.h"
#include "machine/state/state.h"
#include "session/command.h"
#include "session/gpus.h"
#include "session/meters.h"
#include "tare_build.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void run_resources_fini(struct run_resources *means)
{
    governing_end(&means->governing);
    host_meter_free(means->host);
    caller_fini(&means->caller);
}

/* Where the machine's /sys is for this process: root looks at the machine itself, not where a user says that one is. */
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
    char *text = mem_printf("the CPU frequency governor is still \"%s\", set by a run that was killed; it was %s",
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
        cli_note("the CPU frequency governor is %s again: a run that was killed had left it at \"%s\"", former,
                 leftover.change.wanted);
    }
    governor_leftover_fini(&leftover);
    if (!why.text[0])
        return true;
    if (err)
        *err = why;
    return err_wrap(err, "the CPU frequency governor that a killed run left set");
}

/* Root's part, before root is given up and before any thread is started: gives back what a dead run left set, and
 * starts the keeper where this process may set governors. */
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

int run_resources_begin(bool will_run, const char *containment, bool as_root, bool quiet, struct run_resources *out)
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
        cli_note("under sudo: everything runs as user %u, with %s environment", (unsigned)out->caller.uid,
                 out->caller.environment_from);
    return 0;
}

void governing_settle(struct governing *governing, const struct plan *plan)
{
    bool wanted = false;
    for (size_t i = 0; i < plan->count; i++)
        wanted |= plan->experiments[i].governor != NULL;
    if (!wanted)
        governing_end(governing);
}

void governing_end(struct governing *governing)
{
    struct err err = {0};
    if (!governor_keeper_stop(governing->of_run.keeper, &err))
        cli_warning("the CPU frequency governor is not what it was before: %s; '%s clean --kill' tries again", err.text,
                    TARE_NAME);
    governing->of_run.keeper = NULL;
}
