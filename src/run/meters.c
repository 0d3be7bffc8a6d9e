#include "run/meters.h"
#include "machine/sensors/host_window.h"

#include "base/mem.h"

/* A driver may have to wake its GPUs first. */
static const int64_t START_NS = 10 * NS_PER_S;

enum { AWAIT_US = 10000 };

static void on_gap(void *data, const char *label, const struct meter_gap *gap)
{
    OBSERVE((struct lane *)data, gap, label, gap);
}

static void on_sample(void *data, const char *label, const struct gpu_sample *sample)
{
    struct lane *lane = data;
    OBSERVE(lane, sample, label, sample);
}

static void on_counter(void *data, size_t domain, const char *name,
                       const struct counter_reading *reading)
{
    OBSERVE((struct lane *)data, counter, domain, name, reading);
}

static void on_unavailable(void *data, const char *label, const char *reason)
{
    struct lane *lane = data;
    runner_note(lane->runner, "the energy of %s is not measured: %s", label, reason);
    OBSERVE(lane, unavailable, label);
}

static void on_users(void *data, const char *label, int64_t t_ns, const struct gpu_users *users)
{
    struct lane *lane = data;
    OBSERVE(lane, users, label, t_ns, users);
}

static void on_lost(void *data, const char *label, const char *reason)
{
    struct lane *lane = data;
    /* A single lane goes on without the GPU and reports that elsewhere. */
    if (!lane->lost && lane->runner->lane_count >= 2)
        lane->lost = mem_printf("%s is lost: %s", label, reason);
}

/* Returns the experiment to the other lanes. */
static void check_for_loss(struct lane *lane)
{
    struct runner *runner = lane->runner;
    if (!lane->lost || lane->retired)
        return;
    lane->retired = true;
    err_set(&runner->refused, "no GPU is left: %s; go on with --resume %s", lane->lost,
            runner->typed_dir);
    runner_note(runner, "%s; the other slots go on", lane->lost);
    lane_handle_event(lane, LANE_LOST);
}

static void dispatch_meters(struct lane *lane)
{
    energy_meters_dispatch(lane->energy_meters);
    OBSERVE(lane, answered);
    check_for_loss(lane);
}

static void stop_meters(struct lane *lane)
{
    step_cancel(&lane->meters_source);
    energy_meters_free(lane->energy_meters);
    lane->energy_meters = NULL;
}

static void start_meters(struct lane *lane, const struct energy_meters_options *options)
{
    struct energy_meters_listener listener = {.gap = on_gap,
                                              .sample = on_sample,
                                              .counter = on_counter,
                                              .unavailable = on_unavailable,
                                              .lost = on_lost,
                                              .users = on_users,
                                              .data = lane};
    struct err err = {0};
    int code = 0;
    lane->energy_meters = energy_meters_new(options, &listener, &err);
    if (lane->energy_meters)
        code = step_on_input(lane, &lane->meters_source, energy_meters_fd(lane->energy_meters),
                             dispatch_meters);
    if (code < 0)
        err_set(&err, "cannot watch the meters (error %d)", -code);
    if (!lane->energy_meters || code < 0) {
        stop_meters(lane);
        runner_note(lane->runner, "energy is not measured: %s", err.text);
        return;
    }
    lane->meters_deadline_ns = clock_monotonic_ns() + START_NS;
    OBSERVE(lane, meters_started, options);
}

void meters_start(struct runner *runner)
{
    const struct energy_meters_options *options = runner->request->energy_meters;
    /* The host is measured even without energy sensors. */
    if (!options || (!energy_meters_useful(options) && !options->host))
        return;
    AUTO_TEXT struct text busy = {0};
    if (options->host && host_is_busy(host_meter_sysroot(options->host), &busy))
        runner_note(runner, "%s", text_get(&busy));
    EACH (lane, runner->lanes, runner->lane_count) {
        const struct run_lane *resources = lane->resources;
        struct energy_meters_options own = *options;
        own.time_scale = runner->time_scale;
        own.shares_host = runner->lane_count > 1;
        own.watches_others = true;
        own.gpus = resources ? options->gpus + resources->gpu_first : options->gpus;
        own.gpu_count = resources ? resources->gpu_count : options->gpu_count;
        start_meters(lane, &own);
    }
}

void meters_stop(struct runner *runner)
{
    EACH (lane, runner->lanes, runner->lane_count)
        stop_meters(lane);
}

void phase_meters(struct lane *lane)
{
    struct runner *runner = lane->runner;
    if (!lane->energy_meters || !energy_meters_starting(lane->energy_meters) ||
        clock_monotonic_ns() > lane->meters_deadline_ns || runner_is_halted(runner)) {
        lane_enter_next(lane);
        return;
    }
    lane_enter_after(lane, AWAIT_US, phase_meters);
}
