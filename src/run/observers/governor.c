/* Evidence that the CPU frequency governor is not the one that the plan wants. */
#include "machine/governor/governor_keeper.h"
#include "run/lane.h"

#include <string.h>

static void record_governor_not_set(struct lane *lane)
{
    const struct runner_governor *governor = &lane->runner->governor;
    if (governor->wanted && governor->why.text[0])
        lane_add_evidence(lane, "governor_not_set",
                          "the CPU governor \"%s\" was wanted and not set: %s", governor->wanted,
                          governor->why.text);
}

static json_t *check_governor(struct lane *lane)
{
    const struct runner_governor *governor = &lane->runner->governor;
    char now[GOVERNOR_NAME_MAX];
    if (!governor->wanted || governor->why.text[0] || lane->attempt.end_ns == 0 ||
        !governor_read(lane->runner->request->governor->sysroot, now, NULL) ||
        strcmp(now, governor->wanted) == 0)
        return NULL;
    lane_add_evidence(
        lane, "governor_changed",
        "the CPU governor \"%s\" was set, and somebody has changed it since: it is %s",
        governor->wanted, now);
    return NULL;
}

const struct observer governor_observer = {.started = record_governor_not_set,
                                           .end = check_governor};
