#include "session/run_means.h"

#include "session/command.h"
#include "session/meters.h"
#include "machine/contain/contain.h"

bool run_means_begin(const struct run_means_wish *wish, struct run_means *out, struct err *err)
{
    *out = (struct run_means){.host = wish->will_run ? meters_open_host() : NULL};
    if (wish->will_run)
        governing_begin(&out->governing);
    enum containment_wish containment = CONTAINMENT_AUTO;
    containment_wish_parse(wish->containment, &containment);
    bool became = wish->will_run ? caller_become_for_jobs(wish->as_root, containment, &out->caller, err)
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
