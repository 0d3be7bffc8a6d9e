#include "run/energy.h"

#include "base/clock.h"
#include "base/mem.h"
#include "run/lane.h"

#include <string.h>
#include <sys/epoll.h>

/* A driver may have to wake its GPUs first; no job waits longer for that. */
static const int64_t START_NS = 10 * NS_PER_S;

static void on_gap(void *data, const char *label, const struct meter_gap *gap)
{
    struct runner *runner = data;
    for (size_t i = 0; i < runner->lane_count; i++)
        lane_energy_gap(&runner->lanes[i], label, gap);
}

static void on_sample(void *data, const char *label, const struct gpu_sample *sample)
{
    struct runner *runner = data;
    for (size_t i = 0; i < runner->lane_count; i++) {
        lane_energy_sample(&runner->lanes[i], label, sample);
        lane_guard_sample(&runner->lanes[i], label, sample);
        lane_load_sample(&runner->lanes[i], label, sample);
    }
}

static void on_counter(void *data, size_t domain, const char *name, const struct counter_reading *reading)
{
    struct runner *runner = data;
    for (size_t i = 0; i < runner->lane_count; i++)
        lane_energy_counter(&runner->lanes[i], domain, name, reading);
}

static void say(struct runner *runner, char *text)
{
    json_t *data = json_object();
    json_object_set_new(data, "text", json_string(text));
    runner_tell(runner, (struct runner_entry){.type = EVENT_NOTE, .data = data});
    free(text);
}

static void on_unavailable(void *data, const char *label, const char *reason)
{
    struct runner *runner = data;
    say(data, mem_printf("the energy of %s is not measured: %s", label, reason));
    for (size_t i = 0; i < runner->lane_count; i++)
        lane_guard_unavailable(&runner->lanes[i], label);
}

static void on_users(void *data, const char *label, int64_t t_ns, const struct gpu_users *users)
{
    struct runner *runner = data;
    for (size_t i = 0; i < runner->lane_count; i++) {
        lane_guard_users(&runner->lanes[i], label, t_ns, users);
        lane_load_users(&runner->lanes[i], label, t_ns, users);
    }
}

static int on_gauge(sd_event_source *source, int fd, uint32_t events, void *context)
{
    (void)source;
    (void)fd;
    (void)events;
    struct runner *runner = context;
    gauge_dispatch(runner->gauge);
    for (size_t i = 0; i < runner->lane_count; i++) {
        lane_energy_look(&runner->lanes[i]);
        lane_guard_look(&runner->lanes[i]);
    }
    return 0;
}

void energy_start(struct runner *runner)
{
    const struct gauge_options *options = runner->request->gauge;
    struct gauge_listener listener = {.gap = on_gap,
                                      .sample = on_sample,
                                      .counter = on_counter,
                                      .unavailable = on_unavailable,
                                      .users = on_users,
                                      .data = runner};
    struct err err = {0};
    if (!options || !gauge_useful(options))
        return;
    runner->gauge = gauge_new(options, &listener, &err);
    int code = 0;
    if (runner->gauge)
        code = sd_event_add_io(runner->loop, &runner->gauge_source, gauge_fd(runner->gauge), EPOLLIN, on_gauge, runner);
    if (code < 0)
        err_set(&err, "cannot watch the meters (error %d)", -code);
    if (!runner->gauge || code < 0) {
        energy_stop(runner);
        say(runner, mem_printf("energy is not measured: %s", err.text));
        return;
    }
    runner->gauge_until_ns = clock_monotonic_ns() + START_NS;
    for (size_t i = 0; i < runner->lane_count; i++)
        lane_guard_start(&runner->lanes[i]);
}

void energy_stop(struct runner *runner)
{
    runner->gauge_source = sd_event_source_disable_unref(runner->gauge_source);
    gauge_free(runner->gauge);
    runner->gauge = NULL;
}
