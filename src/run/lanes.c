#include "run/lanes.h"

#include "base/clock.h"
#include "base/value.h"
#include "run/lane.h"

/* Lanes tick at their own moments: one division a second is enough for all. */
static const int64_t APART_NS = 900 * NS_PER_MS;

static struct host_meter *host_of(const struct runner *runner)
{
    const struct gauge_options *gauge = runner->request->gauge;
    return gauge && runner->lane_count > 1 ? gauge->host : NULL;
}

void lanes_begin(struct runner *runner)
{
    runner->begun_ns = clock_monotonic_ns();
    if (host_of(runner))
        cpu_split_begin(&runner->split, host_of(runner));
}

void lanes_fini(struct runner *runner)
{
    cpu_split_fini(&runner->split);
    links_fini(&runner->links);
}

void lanes_edge(struct runner *runner)
{
    if (runner->split.begun)
        cpu_split_step(&runner->split, host_of(runner));
}

void lanes_tick(struct runner *runner)
{
    if (runner->split.begun && clock_monotonic_ns() - runner->split.stepped_ns > APART_NS)
        lanes_edge(runner);
}

static int64_t part_mj(const struct lane *lane)
{
    const struct cpu_split *split = &lane->runner->split;
    return lane->gauge && gauge_reader(lane->gauge) < split->count ? split->parts_mj[gauge_reader(lane->gauge)] : 0;
}

void lanes_attempt_begin(struct lane *lane)
{
    lanes_link_forget(lane);
    lanes_edge(lane->runner);
    lane->tally.share_from_mj = part_mj(lane);
    lane->tally.total_from_mj = lane->runner->split.total_mj;
}

void lanes_attempt_end(struct lane *lane, json_t *energy)
{
    struct runner *runner = lane->runner;
    bool valid;
    lane->tally.attempts++;
    lane->tally.busy_s += attempt_duration_s(&lane->attempt, &valid);
    if (!runner->split.begun || !json_is_object(energy))
        return;
    lanes_edge(runner);
    json_t *json = json_object();
    int64_t share_mj = part_mj(lane) - lane->tally.share_from_mj;
    json_object_set_new(json, "estimate", json_true());
    json_object_set_new(json, "scope", json_string(gauge_scope_name(GAUGE_PACKAGE)));
    json_object_set_new(json, "by", json_string("CPU time"));
    json_object_set_new(json, "attributed_mj", json_integer(share_mj));
    json_object_set_new(json, "total_mj", json_integer(runner->split.total_mj - lane->tally.total_from_mj));
    lane->tally.attributed_mj += share_mj;
    json_object_set_new(energy, "cpu_package_share", runner->split.whole ? json : json_null());
    if (!runner->split.whole)
        json_decref(json);
}

static json_t *lane_json(const struct lane *lane, double seconds)
{
    json_t *json = json_object();
    lane_add_number(lane, json);
    json_object_set_new(json, "attempts", json_integer(lane->tally.attempts));
    json_object_set_new(json, "busy_s", json_real(lane->tally.busy_s));
    json_object_set_new(json, "busy_share", seconds > 0 ? json_real(lane->tally.busy_s / seconds) : json_null());
    json_object_set_new(json, "waited_s", json_real(lane->tally.waited_s));
    json_object_set_new(json, "lost", lane->lost ? json_string(lane->lost) : json_null());
    json_object_set_new(json, "cpu_package_mj",
                        lane->runner->split.begun && lane->runner->split.whole ? json_integer(lane->tally.attributed_mj)
                                                                               : json_null());
    return json;
}

static json_t *split_json(struct runner *runner)
{
    const struct cpu_split *split = &runner->split;
    lanes_edge(runner);
    if (!split->begun || !split->whole)
        return json_null();
    int64_t attributed_mj = 0;
    for (size_t i = 0; i < runner->lane_count; i++)
        attributed_mj += runner->lanes[i].tally.attributed_mj;
    json_t *json = json_object();
    json_object_set_new(json, "estimate", json_true());
    json_object_set_new(json, "by", json_string("CPU time"));
    json_object_set_new(json, "total_mj", json_integer(split->total_mj));
    json_object_set_new(json, "attributed_mj", json_integer(attributed_mj));
    /* With it what a job used between the attempts that have figures: it adds up to the total. */
    json_object_set_new(json, "unattributed_mj", json_integer(split->total_mj - attributed_mj));
    return json;
}

json_t *lanes_json(struct runner *runner)
{
    double seconds = (double)(clock_monotonic_ns() - runner->begun_ns) / (double)NS_PER_S;
    if (runner->lane_count < 2)
        return json_null();
    json_t *json = json_object(), *lanes = json_array();
    json_object_set_new(json, "seconds", json_real(seconds));
    json_object_set_new(json, "cpu_package", split_json(runner));
    for (size_t i = 0; i < runner->lane_count; i++)
        json_array_append_new(lanes, lane_json(&runner->lanes[i], seconds));
    json_object_set_new(json, "lanes", lanes);
    return json;
}
