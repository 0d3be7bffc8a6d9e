#include "report/oom_snapshot.h"
#include "base/cleanup.h"
#include "gpu_memory/allocator/usage.h"

/* As a run keeps it: run/attempt.h. */
static const char snapshot_name[] = "memory_snapshot.pickle";

bool oom_snapshot_steps(int folder, struct oom_steps *out)
{
    AUTO(snapshot_fini) struct snapshot snapshot = {0};
    AUTO(program_fini) struct program program = {0};
    AUTO(owners_fini) struct owners owners = {0};
    AUTO(usage_growth_fini) struct growth growth = {0};
    size_t device = 0;
    if (!snapshot_load_at(folder, snapshot_name, &snapshot, NULL) || snapshot.device_count == 0)
        return false;
    for (size_t i = 1; i < snapshot.device_count; i++)
        if (snapshot.devices[i].count > snapshot.devices[device].count)
            device = i;
    if (!program_build(&snapshot, device, &program, NULL))
        return false;
    owners_find(&snapshot, device, &program, &owners);
    usage_growth(&snapshot, device, &program, &owners, &growth);
    if (!growth.grows)
        return false;
    *out = (struct oom_steps){.spans = growth.span_count - growth.warm_up,
                              .bytes_per_span = growth.slope_bytes,
                              .first_bytes = (double)growth.spans[growth.warm_up].low,
                              .last_bytes = (double)growth.spans[growth.span_count - 1].low};
    return true;
}
