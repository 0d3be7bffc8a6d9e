/* The pause between trainings, on GPUs: as long as the settings say, or until they are idle and cool. What the idle window before
 * the next attempt takes is part of it. */
#include "run/lane_guard.h"

#include "base/clock.h"
#include "base/mem.h"

enum { POLL_US = 500000 };

static double window_s(const struct lane *lane)
{
    return lane->runner->plan->guard.preflight.baseline_s;
}

static void tell(struct lane *lane, double took_s, bool settled)
{
    struct lane_guard *guard = guard_of(lane);
    double planned_s = guard->planned_s * lane->runner->time_scale, saved_s = planned_s - took_s;
    json_t *devices = json_array();
    for (size_t i = 0; i < guard->count; i++)
        json_array_append_new(devices, guard_device_json(&guard->devices[i]));
    AUTO_FREE char *text =
        mem_printf("paused %.1f s, %s: %.1f s %s than the fixed %g s", took_s,
                   settled ? "until the GPUs were idle and cool" : "the longest pause, and the GPUs are still not idle and cool",
                   saved_s < 0 ? -saved_s : saved_s, saved_s < 0 ? "more" : "less", planned_s);
    json_t *data = json_pack("{s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o*}", "phase", "cooldown", "mode", "adaptive",
                             "settled", settled, "planned_s", json_finite(planned_s), "took_s", json_finite(took_s),
                             "saved_s", json_finite(saved_s), "devices", devices, "text", json_string(text));
    guard_record(lane, guard->former.experiment, guard->former.attempt, data, lane_next);
}

static void looked(struct lane *lane);

static void poll(struct lane *lane)
{
    guard_ask(lane, looked);
}

static void looked(struct lane *lane)
{
    struct lane_guard *guard = guard_of(lane);
    double scale = lane->runner->time_scale, took_s = guard_since_s(guard->begun_ns) + window_s(lane) * scale;
    bool settled = true;
    for (size_t i = 0; i < guard->count; i++) {
        struct guard_device *device = &guard->devices[i];
        struct guard_look look;
        guard_look_of(device, guard->asked_ns, &look);
        settled = cooldown_look(&device->cooldown, &device->known, &look) && settled;
    }
    enum cooldown_state state = cooldown_decide(&lane->runner->plan->guard.cooldown, guard->planned_s, took_s, settled,
                                                guard_blind(guard), scale);
    if (state == COOLDOWN_GOES_ON)
        lane_after(lane, (uint64_t)(POLL_US * scale), poll);
    else
        tell(lane, took_s, settled);
}

void lane_guard_pause(struct lane *lane, double seconds)
{
    struct lane_guard *guard = guard_of(lane);
    double scale = lane->runner->time_scale;
    if (!guard || guard_blind(guard)) {
        lane_after(lane, (uint64_t)(seconds * scale * 1e6), lane_next);
        return;
    }
    guard->begun_ns = clock_monotonic_ns();
    guard->planned_s = seconds;
    if (lane->runner->plan->guard.cooldown.mode == COOLDOWN_FIXED || seconds <= 0) {
        double left_s = seconds > window_s(lane) ? seconds - window_s(lane) : 0;
        lane_after(lane, (uint64_t)(left_s * scale * 1e6), lane_next);
        return;
    }
    for (size_t i = 0; i < guard->count; i++)
        cooldown_begin(&guard->devices[i].cooldown);
    poll(lane);
}
