#include "run/observers/energy_split.h"
#include "machine/contain/job.h"
#include "machine/contain/probe.h"
#include "machine/sensors/host_window.h"
#include "measure/energy_meters_measure.h"
#include "run/runner.h"

#include "base/mem.h"
#include "machine/contain/guardian.h"
#include "machine/state/state.h"

#include <string.h>
#include <sys/epoll.h>

/* Lanes tick at their own moments: one division a second is enough for all. */
static const int64_t APART_NS = 900 * NS_PER_MS;

/* What a lane has done in this session. */
struct lane_tally {
    int64_t attempts;
    double busy_s;                        /* jobs ran */
    int64_t attributed_mj;                /* of the CPU packages, to its attempts */
    int64_t share_from_mj, total_from_mj; /* when the attempt began */
};

LANE_STATE(tally_of, struct lane_tally, split_observer);

static struct host_meter *host_of(const struct runner *runner)
{
    const struct energy_meters_options *energy_meters = runner->request->energy_meters;
    return energy_meters && runner->lane_count > 1 ? energy_meters->host : NULL;
}

void lanes_begin(struct runner *runner)
{
    runner->begun_ns = clock_monotonic_ns();
    if (host_of(runner))
        cpu_split_begin(&runner->split, host_of(runner));
}

/* At the edges of a job, however soon after the last step. */
static void step_cpu_split(struct runner *runner)
{
    if (runner->split.begun)
        cpu_split_step(&runner->split, host_of(runner));
}

static void step_cpu_split_when_due(struct lane *lane)
{
    struct runner *runner = lane->runner;
    if (runner->split.begun && clock_monotonic_ns() - runner->split.stepped_ns > APART_NS)
        step_cpu_split(runner);
}

int64_t lanes_part_mj(const struct lane *lane)
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
    tally_of(lane)->share_from_mj = lanes_part_mj(lane);
    tally_of(lane)->total_from_mj = lane->runner->split.total_mj;
}

/* Adds "cpu_package_share" to the energy that was measured (docs/reference/measuring.md). */
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
    int64_t share_mj = lanes_part_mj(lane) - tally_of(lane)->share_from_mj;
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
    lane_add_number(lane, json);
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
    /* Unattributed: with what a job used between the attempts that have figures: it adds up to the
     * total. */
    return json_pack("{s:b, s:s, s:I, s:I, s:I}", "estimate", true, "by", "CPU time", "total_mj",
                     (json_int_t)split->total_mj, "attributed_mj", (json_int_t)attributed_mj,
                     "unattributed_mj", (json_int_t)(split->total_mj - attributed_mj));
}

json_t *lanes_json(struct runner *runner)
{
    double seconds = ns_to_s(clock_monotonic_ns() - runner->begun_ns);
    if (runner->lane_count < 2)
        return json_null();
    json_t *lanes = json_array();
    json_t *split =
        cpu_split_json(runner); /* before the lanes: their parts are of the same moment */
    EACH (lane, runner->lanes, runner->lane_count)
        json_array_append_new(lanes, lane_tally_json(lane, seconds));
    return json_pack("{s:o, s:o, s:o}", "seconds", json_finite(seconds), "cpu_package", split,
                     "lanes", lanes);
}

const struct observer split_observer = {.size = sizeof(struct lane_tally),
                                        .begin = begin_tally,
                                        .look = step_cpu_split_when_due,
                                        .end = end_tally};

/* ---- Pressure. */

/* Less than this of an attempt's time without a processor, or of the machine's CPU time, is
 * everyday. */
static const double WAITED_SHARE = 0.25, OTHERS_SHARE = 0.05, PRESSURE_MIN_S = 1;
enum { NAMED_MAX = 8 };

/* Of an attempt's time in which every program stood still for want of it, or some waited for
 * memory. */
static const double FULL_MEMORY_SHARE = 0.05, SOME_MEMORY_SHARE = 0.20, FULL_IO_SHARE = 0.25;

/* A shorter attempt is judged by what these shares of a second are: the start of every program
 * waits for the disk for a moment. */
static const double PRESSURE_LEAST_S = 1;

/* Evidence for the whole attempt. Takes text; "; on other slots: ID, ID" comes behind it: those
 * that have an experiment in work. */
static void record_pressure_by_others(struct lane *lane, const char *kind, struct text *text,
                                      double duration_s)
{
    json_t *numbers = json_array();
    size_t named = 0;
    EACH (other, lane->runner->lanes, lane->runner->lane_count) {
        if (other == lane || !other->experiment)
            continue;
        json_array_append_new(numbers, json_integer((json_int_t)other->experiment->number));
        if (named++ < NAMED_MAX)
            text_addf(text, "%s%s", named > 1 ? ", " : "; on other slots: ", other->experiment->id);
    }
    if (named > NAMED_MAX)
        text_addf(text, " and %zu more", named - NAMED_MAX);
    lane_evidence_at(lane, (struct lane_evidence_entry){.kind = kind,
                                                        .experiments = numbers,
                                                        .text = text_take(text),
                                                        .from_s = {0, true},
                                                        .to_s = {duration_s, true}});
}

static void record_host_pressure(struct lane *lane, const struct host_window *host)
{
    struct reading some = host->pressure[HOST_MEMORY].some_share,
                   full = host->pressure[HOST_MEMORY].full_share;
    struct reading io = host->pressure[HOST_IO].full_share;
    double part = host->duration_s < PRESSURE_LEAST_S ? host->duration_s / PRESSURE_LEAST_S : 1;
    bool memory = (full.valid && part * full.value > FULL_MEMORY_SHARE) ||
                  (some.valid && part * some.value > SOME_MEMORY_SHARE);
    bool disk = io.valid && part * io.value > FULL_IO_SHARE;
    enum host_delay delay = host_window_delay(host);
    if ((!memory && !disk) || delay == HOST_PUNCTUAL)
        return;
    if (delay == HOST_DELAY_UNKNOWN) {
        lane_evidence(
            lane, "cpu_unchecked",
            "programs waited for memory or disks; whether the job did was not checked: %s",
            host_window_unknown(host));
        return;
    }
    struct text text = {0};
    text_addf(&text,
              "programs waited for memory %.0f %% of the time, and all stood still for disks %.0f "
              "%% of it",
              100 * (some.valid ? some.value : 0), 100 * (io.valid ? io.value : 0));
    record_pressure_by_others(lane, "host_pressure", &text, host->duration_s);
}

static void record_cpu_pressure(struct lane *lane, const struct host_window *host,
                                struct reading cpu_s)
{
    struct reading waited = host->pressure[HOST_CPU].some_share;
    if (lane->runner->lane_count < 2 || host->duration_s < PRESSURE_MIN_S || !waited.valid ||
        !cpu_s.valid || !host->jobs_cpu_s.valid || host->jobs_cpu_s.value <= 0)
        return;
    double others_share = host->jobs_share.value * (1 - cpu_s.value / host->jobs_cpu_s.value);
    if (waited.value < WAITED_SHARE || others_share < OTHERS_SHARE)
        return;
    struct text text = {0};
    text_addf(&text,
              "programs waited for a processor %.0f %% of the time, and the run's other "
              "experiments used %.0f %% of the "
              "machine's CPU time",
              100 * waited.value, 100 * others_share);
    record_pressure_by_others(lane, "cpu_contended", &text, host->duration_s);
}

static void report_pressure(struct lane *lane, const struct energy_meters_result *result)
{
    record_host_pressure(lane, &result->host);
    record_cpu_pressure(lane, &result->host, result->job.cpu_s);
}

const struct observer pressure_observer = {.measured = report_pressure};

/* ---- Their guardian. */

void lane_unguarded(struct lane *lane, int64_t since_ns)
{
    int64_t now_ns = clock_monotonic_ns(), start_ns = lane->attempt.start_ns;
    bool begun = start_ns != 0;
    if (begun && since_ns < start_ns)
        since_ns = start_ns;
    AUTO_FREE char *layers =
        lane->attempt.job ? containment_describe(job_layers(lane->attempt.job)) : NULL;
    lane_evidence_span(
        lane, "guardian_absent", lane_since_start(lane, since_ns), lane_since_start(lane, now_ns),
        "no guardian for up to %.1f s: had this program been killed then, only other layers "
        "(%s) would have ended the job",
        ns_to_s(now_ns - since_ns), layers ? layers : "those it has");
}

static int on_guardian(sd_event_source *source, int fd, uint32_t events, void *context)
{
    (void)source;
    (void)fd;
    (void)events;
    runner_check_guardian(context);
    return 0;
}

void runner_watch_guardian(struct runner *runner)
{
    struct guardian *guardian = runner->request->guardian;
    runner->guardian_source = sd_event_source_disable_unref(runner->guardian_source);
    if (guardian && guardian_fd(guardian) >= 0)
        sd_event_add_io(runner->loop, &runner->guardian_source, guardian_fd(guardian), EPOLLIN,
                        on_guardian, runner);
}

void runner_check_guardian(struct runner *runner)
{
    struct err err = {0};
    int64_t since_ns;
    enum guardian_state state = runner->request->guardian
                                    ? guardian_check(runner->request->guardian, &since_ns, &err)
                                    : GUARDIAN_THERE;
    if (state == GUARDIAN_THERE)
        return;
    runner_watch_guardian(runner);
    if (state == GUARDIAN_ABSENT) {
        if (!runner->unguarded_ns)
            runner_say(runner, "the guardian is gone, and there is no other yet: %s", err.text);
        runner->unguarded_ns = since_ns;
        return;
    }
    runner->unguarded_ns = 0;
    EACH (lane, runner->lanes, runner->lane_count)
        if (lane_has_job(lane))
            lane_unguarded(lane, since_ns);
}

/* Without guardian or state folder the other layers and the journal still hold: that is said, and
 * the run goes on. */
void lane_job_watch(struct lane *lane, const struct job *job)
{
    struct guardian *guardian = lane->runner->request->guardian;
    struct err err = {0};
    if (guardian && !guardian_watch(guardian, job_identity(job), &err))
        runner_check_guardian(lane->runner);
    if (guardian && lane->runner->unguarded_ns)
        lane_say(lane, "the guardian does not watch this job: %s", err.text);
    struct state *state = lane->runner->request->state;
    if (state && !state_job_born(state, job_identity(job), &err))
        lane_say(lane, "this job is not in the state folder: %s", err.text);
}
