#include "run/observers/stopped.h"
#include "machine/contain/prove.h"

#include "base/mem.h"

/* A check may use a thousandth of the time. */
static const int64_t CHECK_SHARE = 1000;

struct lane_stops {
    int64_t next_check_ns;
    bool told;
};

LANE_STATE(stops_of, struct lane_stops, stopped_observer);

void lane_stopped_record(struct lane *lane, const char *who, int64_t for_ns)
{
    stops_of(lane)->told = true;
    if (for_ns)
        lane_add_evidence(lane, "job_stopped", "%s was stopped for %.1f s", who, ns_to_s(for_ns));
    else
        lane_add_evidence(lane, "job_stopped", "%s was stopped", who);
}

/* Stopped children are visible only in /proc: checked each second, less often for large jobs. */
static void check_for_stopped(struct lane *lane)
{
    int64_t now_ns = clock_monotonic_ns(), used_ns = clock_thread_cpu_ns();
    struct job *jobs[] = {lane->attempt.job, lane->background.loop.job};
    struct job_member member;
    struct lane_stops *stops = stops_of(lane);
    if (lane->phase != PHASE_RUNNING || stops->told || now_ns < stops->next_check_ns)
        return;
    for (size_t i = 0; i < 2 && !stops->told; i++)
        if (jobs[i] && job_has_stopped_member(jobs[i], &member)) {
            AUTO_FREE char *who = mem_printf("%s%s (pid %d)", i ? "the background's " : "",
                                             member.command, (int)member.pid);
            lane_stopped_record(lane, who, 0);
        }
    stops->next_check_ns = now_ns + CHECK_SHARE * (clock_thread_cpu_ns() - used_ns);
}

static void reset_stops(struct lane *lane)
{
    *stops_of(lane) = (struct lane_stops){0};
}

const struct observer stopped_observer = {
    .size = sizeof(struct lane_stops), .begin = reset_stops, .tick = check_for_stopped};
