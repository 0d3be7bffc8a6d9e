#include "run/observers/sleep.h"

#include "base/mem.h"

#include <time.h>

/* Covers the time between reading both clocks. */
static const int64_t ASLEEP_NS = 50 * NS_PER_MS;

struct lane_sleep {
    int64_t awake_ns, asleep_ns;
};

LANE_STATE(sleep_of, struct lane_sleep, sleep_observer);

static int64_t asleep_now_ns(void)
{
    struct timespec boot;
    int64_t now_ns = clock_monotonic_ns();
    if (clock_gettime(CLOCK_BOOTTIME, &boot) != 0)
        return 0;
    return boot.tv_sec * NS_PER_S + boot.tv_nsec - now_ns;
}

int64_t lane_sleep_total_ns(const struct lane *lane)
{
    return sleep_of(lane)->asleep_ns;
}

static void start_sleep_watch_at_gate(struct lane *lane)
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
        lane_add_evidence_span(lane, "suspend", lane_seconds_since_start(lane, sleep->awake_ns),
                               lane_seconds_since_start(lane, now_ns),
                               "the machine slept for %.1f s", ns_to_s(more));
    sleep->asleep_ns = asleep;
    sleep->awake_ns = now_ns;
}

const struct observer sleep_observer = {
    .size = sizeof(struct lane_sleep),
    .ready = start_sleep_watch_at_gate,
    .started = start_sleep_watch,
    .measure = check_for_sleep,
    .command_ended = check_for_sleep,
};
