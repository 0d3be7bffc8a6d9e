#include "session/run_means.h"

#include "session/command.h"
#include "session/meters.h"
#include "machine/contain/contain.h"

bool run_means_begin(const struct run_means_options *options, struct run_means *out, struct err *err)
{
    *out = (struct run_means){.host = options->will_run ? meters_open_host() : NULL};
    if (options->will_run)
        governing_begin(&out->governing);
    enum containment_mode containment = CONTAINMENT_AUTO;
    containment_mode_parse(options->containment, &containment);
    bool became = options->will_run ? caller_become_for_jobs(options->as_root, containment, &out->caller, err)
                                    : caller_become(options->as_root, &out->caller, err);
    if (became && out->caller.became && !options->quiet)
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
