/* A lane whose GPU is lost: what it has in work is given back, and done by another lane. */
#include "run/lane.h"

#include "base/mem.h"
#include "base/shell_words.h"

#include <stdio.h>

void lane_lost_take(struct lane *lane, const char *label, const char *reason)
{
    /* Where it is the only lane, what is measured without the GPU says so itself. */
    if (lane->lost || lane->runner->lane_count < 2)
        return;
    lane->lost = mem_printf("%s is lost: %s", label, reason);
}

void lane_lost_look(struct lane *lane)
{
    struct runner *runner = lane->runner;
    if (!lane->lost || lane->retired)
        return;
    lane->retired = true;
    AUTO_FREE char *typed = shell_words_path(runner->run_dir);
    err_set(&runner->refused, "no GPU is left: %s; go on with --resume %s", lane->lost, typed);
    runner_say(runner, mem_printf("%s; the other lanes go on", lane->lost));
    switch (lane->phase) {
    case LANE_LOADING:
    case LANE_RUNNING:
        lane_lost_detail(lane);
        lane_stop(lane, STOP_GPU_LOST);
        break;
    case LANE_GUARDING:
        lane_guard_cancel(lane);
        break;
    case LANE_PAUSING:
        if (!lane->experiment)
            break; /* it has not taken one yet */
        lane_guard_cancel(lane);
        lane_give_back(lane);
        break;
    case LANE_RETRY_WAIT:
        lane_guard_cancel(lane);
        lane_after_attempt(lane);
        break;
    case LANE_WAITING:
        lane_finish(lane);
        break;
    default:
        break; /* a step that is on its way looks by itself */
    }
}

void lane_lost_detail(struct lane *lane)
{
    free(lane->attempt.detail);
    lane->attempt.detail = mem_strdup(lane->lost);
}

enum stop_reason lane_stop_reason(struct lane *lane)
{
    if (!lane->lost || runner_halted(lane->runner))
        return STOP_INTERRUPTED;
    lane_lost_detail(lane);
    return STOP_GPU_LOST;
}
