#include "run/observers/stopped.h"
#include "machine/contain/prove.h"

#include "base/mem.h"

#include <time.h>

/* The next look for stopped processes comes when it costs less than a thousandth of the time. */
static const int64_t LOOK_SHARE = 1000;

/* A machine that slept less than this did not sleep: two clocks are read one after the other. */
static const int64_t ASLEEP_NS = 50 * NS_PER_MS;

struct lane_stops {
    int64_t look_ns; /* not before that its processes are looked at again for one that is stopped */
    bool told;       /* of this attempt: that one was */
};

LANE_STATE(stops_of, struct lane_stops, stopped_observer);

struct lane_sleep {
    /* the last look for a suspend, and how long the machine had slept since boot */
    int64_t awake_ns, asleep_ns;
};

LANE_STATE(sleep_of, struct lane_sleep, sleep_observer);

void lane_tell_stopped(struct lane *lane, const char *who, int64_t for_ns)
{
    stops_of(lane)->told = true;
    if (for_ns)
        lane_evidence(lane, "job_stopped", "%s was stopped for %.1f s", who, ns_to_s(for_ns));
    else
        lane_evidence(lane, "job_stopped", "%s was stopped", who);
}

/* Processes below the command's own, and the background's, are seen only by looking: once a second,
 * less often in a job with very many processes. */
static void check_for_stopped(struct lane *lane)
{
    int64_t now_ns = clock_monotonic_ns(), used_ns = clock_thread_cpu_ns();
    struct job *jobs[] = {lane->attempt.job, lane->background.loop.job};
    struct job_member member;
    struct lane_stops *stops = stops_of(lane);
    if (lane->phase != PHASE_RUNNING || stops->told || now_ns < stops->look_ns)
        return;
    for (size_t i = 0; i < 2 && !stops->told; i++)
        if (jobs[i] && job_has_stopped_member(jobs[i], &member)) {
            AUTO_FREE char *who = mem_printf("%s%s (pid %d)", i ? "the background's " : "",
                                             member.command, (int)member.pid);
            lane_tell_stopped(lane, who, 0);
        }
    stops->look_ns = now_ns + LOOK_SHARE * (clock_thread_cpu_ns() - used_ns);
}

void lane_stalled(struct lane *lane, int64_t from_ns, int64_t to_ns)
{
    struct attempt *attempt = &lane->attempt;
    if (lane->phase != PHASE_RUNNING)
        return;
    attempt_take_exit(attempt);
    if (attempt->end_ns)
        attempt->log_until_ns = attempt->end_ns;
    int64_t end_ns = attempt->end_ns && attempt->end_ns < to_ns ? attempt->end_ns : to_ns;
    if (from_ns < attempt->start_ns)
        from_ns = attempt->start_ns;
    if (end_ns <= from_ns)
        return;
    lane_evidence_span(lane, "runner_stopped", lane_since_start(lane, from_ns),
                       lane_since_start(lane, end_ns),
                       "this program was stopped, or got no processor, for up to %.1f s",
                       ns_to_s(to_ns - from_ns));
}

static void reset_stops(struct lane *lane)
{
    *stops_of(lane) = (struct lane_stops){0};
}

const struct observer stopped_observer = {
    .size = sizeof(struct lane_stops), .begin = reset_stops, .tick = check_for_stopped};

/* How long the machine has slept since boot. */
static int64_t asleep_now_ns(void)
{
    struct timespec boot;
    int64_t now_ns = clock_monotonic_ns();
    if (clock_gettime(CLOCK_BOOTTIME, &boot) != 0)
        return 0;
    return boot.tv_sec * NS_PER_S + boot.tv_nsec - now_ns;
}

int64_t lane_asleep_ns(const struct lane *lane)
{
    return sleep_of(lane)->asleep_ns;
}

/* What is slept from now on is slept while it is measured. */
static void ready(struct lane *lane)
{
    *sleep_of(lane) = (struct lane_sleep){clock_monotonic_ns(), asleep_now_ns()};
}

static void start_sleep_watch(struct lane *lane)
{
    sleep_of(lane)->awake_ns = lane->attempt.start_ns;
}

static void check_for_sleep(struct lane *lane)
{
    struct lane_sleep *sleep = sleep_of(lane);
    int64_t now_ns = clock_monotonic_ns(), asleep = asleep_now_ns(),
            more = asleep - sleep->asleep_ns;
    if (more > ASLEEP_NS)
        lane_evidence_span(lane, "suspend", lane_since_start(lane, sleep->awake_ns),
                           lane_since_start(lane, now_ns), "the machine slept for %.1f s",
                           ns_to_s(more));
    sleep->asleep_ns = asleep;
    sleep->awake_ns = now_ns;
}

const struct observer sleep_observer = {
    .size = sizeof(struct lane_sleep),
    .ready = ready,
    .started = start_sleep_watch,
    .look = check_for_sleep,
    .edge = check_for_sleep,
};
