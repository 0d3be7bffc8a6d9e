/* Evidence that others delayed an attempt: programs waited for processors, memory or disks. */
#include "machine/sensors/host_window.h"
#include "run/lane.h"

#include "base/mem.h"

/* Smaller shares are normal. */
static const double WAITED_SHARE = 0.25, OTHERS_SHARE = 0.05, PRESSURE_MIN_S = 1;
enum { NAMED_MAX = 8 };

/* All programs waited, or some waited for memory. */
static const double FULL_MEMORY_SHARE = 0.05, SOME_MEMORY_SHARE = 0.20, FULL_IO_SHARE = 0.25;

/* Shorter attempts are judged by shares of a second: every start waits for the disk. */
static const double PRESSURE_LEAST_S = 1;

/* Covers the whole attempt; owns text and appends "; on other slots: ID, ID". */
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
    lane_add_evidence_entry(lane, (struct lane_evidence_entry){.kind = kind,
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
        lane_add_evidence(
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
              "experiments used %.0f %% of the machine's CPU time",
              100 * waited.value, 100 * others_share);
    record_pressure_by_others(lane, "cpu_contended", &text, host->duration_s);
}

static void report_pressure(struct lane *lane, const struct energy_meters_result *result)
{
    record_host_pressure(lane, &result->host);
    record_cpu_pressure(lane, &result->host, result->job.cpu_s);
}

const struct observer pressure_observer = {.measured = report_pressure};
