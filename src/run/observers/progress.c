/* Progress bars in the job's output, for displays. */
#include "run/lane.h"

static void report_bars(struct lane *lane)
{
    uint64_t *told = lane_observer_state(lane, &output_observer);
    const struct bars *bars = lane->attempt.log ? joblog_bars(lane->attempt.log) : NULL;
    if (lane->phase != PHASE_RUNNING || !bars || bars->changes == *told)
        return;
    *told = bars->changes;
    json_t *list = json_array();
    for (size_t i = 0; i < bars->count; i++) {
        struct reading total = bars->items[i].total;
        json_t *bar = json_pack(
            "{s:o*, s:o*, s:o, s:o, s:I, s:b}", "name", json_string(bars->items[i].name), "first",
            json_string(bars->first[i]), "done", json_finite(bars->items[i].done), "total",
            total.valid ? json_finite(total.value) : json_null(), "restarts",
            (json_int_t)bars->restarts[i], "latest", i == bars->latest);
        json_array_append_new(list, bar);
    }
    lane_report(lane, EVENT_METRIC, json_pack("{s:s, s:o}", "sensor", "bars", "bars", list));
}

static void begin_output(struct lane *lane)
{
    *(uint64_t *)lane_observer_state(lane, &output_observer) = 0;
}

const struct observer output_observer = {
    .size = sizeof(uint64_t), .begin = begin_output, .tick = report_bars};
