#include "run/observers/energy_split.h"
#include "measure/energy_meters_measure.h"

#include "base/mem.h"

#include <string.h>
#include <sys/epoll.h>

/* Lanes tick at different times: one division per second is enough. */
static const int64_t APART_NS = 900 * NS_PER_MS;

/* One lane in this session. */
struct lane_tally {
    int64_t attempts;
    double busy_s;         /* with a job */
    int64_t attributed_mj; /* energy of the CPU packages */
    int64_t share_from_mj, total_from_mj;
};

LANE_STATE(tally_of, struct lane_tally, split_observer);

static struct host_meter *find_host_meter(const struct runner *runner)
{
    const struct energy_meters_options *energy_meters = runner->request->energy_meters;
    return energy_meters && runner->lane_count > 1 ? energy_meters->host : NULL;
}

void energy_split_begin(struct runner *runner)
{
    runner->begun_ns = clock_monotonic_ns();
    if (find_host_meter(runner))
        cpu_split_begin(&runner->split, find_host_meter(runner));
}

/* At the edges of a job, even soon after the last step. */
static void step_cpu_split(struct runner *runner)
{
    if (runner->split.begun)
        cpu_split_step(&runner->split, find_host_meter(runner));
}

static void step_cpu_split_when_due(struct lane *lane)
{
    struct runner *runner = lane->runner;
    if (runner->split.begun && clock_monotonic_ns() - runner->split.stepped_ns > APART_NS)
        step_cpu_split(runner);
}

int64_t energy_split_part_mj(const struct lane *lane)
{
    const struct cpu_split *split = &lane->runner->split;
    size_t reader = lane->energy_meters ? energy_meters_reader(lane->energy_meters) : split->count;
    return reader < split->count ? split->parts_mj[reader] : 0;
}

static void begin_tally(struct lane *lane)
{
    if (!lane->energy_meters)
        return;
    step_cpu_split(lane->runner);
    tally_of(lane)->share_from_mj = energy_split_part_mj(lane);
    tally_of(lane)->total_from_mj = lane->runner->split.total_mj;
}

/* Adds "cpu_package_share" to the energy (docs/reference/measuring.md). */
static json_t *end_tally(struct lane *lane)
{
    struct runner *runner = lane->runner;
    json_t *energy = json_object_get(lane->ended, "energy");
    bool valid;
    if (!json_is_object(energy))
        return NULL;
    tally_of(lane)->attempts++;
    tally_of(lane)->busy_s += attempt_duration_s(&lane->attempt, &valid);
    if (!runner->split.begun)
        return NULL;
    step_cpu_split(runner);
    int64_t share_mj = energy_split_part_mj(lane) - tally_of(lane)->share_from_mj;
    json_t *json = json_pack("{s:b, s:s, s:s, s:I, s:I}", "estimate", true, "scope",
                             energy_meters_scope_name(ENERGY_PACKAGE), "by", "CPU time",
                             "attributed_mj", (json_int_t)share_mj, "total_mj",
                             (json_int_t)(runner->split.total_mj - tally_of(lane)->total_from_mj));
    tally_of(lane)->attributed_mj += share_mj;
    json_object_set_new(energy, "cpu_package_share", runner->split.whole ? json : json_null());
    if (!runner->split.whole)
        json_decref(json);
    return NULL;
}

static json_t *lane_tally_json(const struct lane *lane, double seconds)
{
    json_t *json = json_object();
    lane_add_identity(lane, json);
    const struct lane_tally *tally = tally_of(lane);
    bool split = lane->runner->split.begun && lane->runner->split.whole;
    json_object_update_new(
        json, json_pack("{s:I, s:o, s:o, s:o, s:o*, s:o}", "attempts", (json_int_t)tally->attempts,
                        "busy_s", json_finite(tally->busy_s), "busy_share",
                        seconds > 0 ? json_finite(tally->busy_s / seconds) : json_null(),
                        "waited_s", json_finite(lane->waited_s), "lost",
                        lane->lost ? json_string(lane->lost) : json_null(), "cpu_package_mj",
                        split ? json_integer(tally->attributed_mj) : json_null()));
    return json;
}

static json_t *cpu_split_json(struct runner *runner)
{
    const struct cpu_split *split = &runner->split;
    step_cpu_split(runner);
    if (!split->begun || !split->whole)
        return json_null();
    int64_t attributed_mj = 0;
    EACH (lane, runner->lanes, runner->lane_count)
        attributed_mj += tally_of(lane)->attributed_mj;
    /* Unattributed energy includes jobs between measured attempts, so the parts add up. */
    return json_pack("{s:b, s:s, s:I, s:I, s:I}", "estimate", true, "by", "CPU time", "total_mj",
                     (json_int_t)split->total_mj, "attributed_mj", (json_int_t)attributed_mj,
                     "unattributed_mj", (json_int_t)(split->total_mj - attributed_mj));
}

json_t *energy_split_json(struct runner *runner)
{
    double seconds = ns_to_s(clock_monotonic_ns() - runner->begun_ns);
    if (runner->lane_count < 2)
        return json_null();
    json_t *lanes = json_array();
    json_t *split = cpu_split_json(runner); /* first, so that all parts are of the same moment */
    EACH (lane, runner->lanes, runner->lane_count)
        json_array_append_new(lanes, lane_tally_json(lane, seconds));
    return json_pack("{s:o, s:o, s:o}", "seconds", json_finite(seconds), "cpu_package", split,
                     "lanes", lanes);
}

const struct observer split_observer = {.size = sizeof(struct lane_tally),
                                        .begin = begin_tally,
                                        .measure = step_cpu_split_when_due,
                                        .end = end_tally};
