#include "cli/run_means.h"

#include "cli/command.h"
#include "cli/meters.h"
#include "contain/contain.h"

#include <string.h>

static bool wants_cgroup(const struct run_means_wish *wish)
{
    return wish->will_run && strcmp(wish->containment, containment_wish_name(CONTAINMENT_SWEEP)) != 0;
}

bool run_means_begin(const struct run_means_wish *wish, struct run_means *out, struct err *err)
{
    *out = (struct run_means){.host = wish->will_run ? meters_open_host() : NULL};
    if (wish->will_run)
        governing_begin(&out->governing);
    bool became = wants_cgroup(wish) ? caller_become_with_cgroup(wish->as_root, &out->caller, err)
                                     : caller_become(wish->as_root, &out->caller, err);
    if (became && out->caller.became && !wish->quiet)
        cli_note("under sudo: everything runs as user %u, with %s environment", (unsigned)out->caller.uid,
                 out->caller.environment_from);
    return became;
}

void run_means_fini(struct run_means *means)
{
    governing_end(&means->governing);
    host_meter_free(means->host);
    caller_fini(&means->caller);
}
