/* Results of a submitted run that are to be had anew. */
#include "base/mem.h"
#include "slurm/tasks.h"
#include "session/command.h"
#include "session/message.h"
#include "session/submit.h"
#include "run/again.h"

#include <stdio.h>
#include <stdlib.h>

static bool plan_each(const struct submitted *submitted, const struct again *again, struct err *err)
{
    for (size_t i = 0; i < again->size; i++)
        if (again->items[i] && !collect_is_missing(submitted->collected.items[i].state) &&
            !tasks_plan_again(submitted->dir, submitted->path, &submitted->collected.plan, i + 1,
                              verdict_name(again->verdicts[i]), err))
            return false;
    return true;
}

static void say(const struct again *again, bool json)
{
    AUTO_FREE char *why = again_why(again);
    if (again->count > 0 && !json)
        message_printf("%zu to repeat (%s)\n", again->count, why);
    if (again->unjudged > 0)
        cli_note("%zu experiment%s ended before verdicts were given, and %s left as %s", again->unjudged,
                 again->unjudged == 1 ? "" : "s", again->unjudged == 1 ? "is" : "are",
                 again->unjudged == 1 ? "it is" : "they are");
}

/* What was planned so is collected: its row says so, and it counts as missing. */
static bool collect_anew(struct submitted *submitted, struct err *err)
{
    collected_fini(&submitted->collected);
    return collect_run(submitted->dir, submitted->path, &submitted->collected, err);
}

bool submit_plan_again(struct submitted *submitted, bool json, bool **only, struct err *err)
{
    struct results results;
    struct again again;
    *only = NULL;
    if (!results_read(submitted->path, &results, err))
        return false;
    again_of_results(&results, &again);
    results_fini(&results);
    say(&again, json);
    bool ok = again.count == 0 || (plan_each(submitted, &again, err) && collect_anew(submitted, err));
    if (ok && again.count > 0)
        *only = steal_ptr(again.items);
    again_fini(&again);
    return ok;
}
