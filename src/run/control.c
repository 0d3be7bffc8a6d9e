/* What the run's owner asks for from outside (results/store/live.h), by a file in the run's folder: so it works from any node that sees it. */
#include "run/lane.h"

#include "base/mem.h"
#include "results/store/live.h"

#include <signal.h>

enum { LOOK_US = 1000000, LOOK_ACCURACY_US = 250000 };

static void set_paused(struct runner *runner, bool paused)
{
    if (runner->paused == paused)
        return;
    runner->paused = paused;
    const char *text = paused ? "paused on request: nothing more begins until it is to continue" : "continues on request";
    runner_tell(runner, EVENT_NOTE, 0, 0, json_pack("{s:s, s:b}", "text", text, "paused", paused));
    if (!paused)
        runner_wake(runner);
}

/* Only what runs: an attempt that does not can have come to its end, or has a pause before it. */
static void skip(struct runner *runner, size_t number)
{
    for (size_t i = 0; i < runner->lane_count; i++) {
        struct lane *lane = &runner->lanes[i];
        if (lane->experiment && lane->experiment->number == number &&
            (lane->phase == PHASE_RUNNING || lane->phase == PHASE_LOADING)) {
            lane_say(lane, "skipped on request: --resume runs it");
            lane_stop(lane, STOP_SKIPPED);
            return;
        }
    }
    runner_say(runner, "experiment %zu cannot be skipped now: it does not run", number);
}

static int on_look(sd_event_source *source, uint64_t us, void *context)
{
    (void)us;
    struct runner *runner = context;
    struct err err;
    enum live_request request = LIVE_REQUESTS;
    size_t experiment;
    int taken = live_take_request(runner->request->dir, &request, &experiment, &err);
    if (taken < 0)
        runner_say(runner, "a request was refused: %s", err.text);
    else if (taken > 0 && request == LIVE_SKIP)
        skip(runner, experiment);
    else if (taken > 0 && request == LIVE_STOP)
        runner_stop(runner, SIGTERM);
    else if (taken > 0)
        set_paused(runner, request == LIVE_PAUSE);
    int code = sd_event_source_set_time_relative(source, LOOK_US);
    return code < 0 ? code : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int control_watch(struct runner *runner)
{
    return sd_event_add_time_relative(runner->loop, &runner->control_source, CLOCK_MONOTONIC, LOOK_US, LOOK_ACCURACY_US,
                                      on_look, runner);
}
