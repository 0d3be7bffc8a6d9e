#include "machine/sensors/gpu_process.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const int64_t PERIOD_NS = 1000 * NS_PER_MS; /* a counter that has not changed twice by then does not move */

static const struct reading none = {0};

struct probe {
    const struct gpu_backend *backend;
    struct gpu_sensor *sensor;
    const char *device;
    void (*row)(const struct gpu_probe_row *row);
    void *data;
};

static struct reading since(int64_t began_ns)
{
    return (struct reading){(double)(clock_monotonic_ns() - began_ns) / 1000, true};
}

static void say(const struct probe *probe, const char *what, struct reading value, const char *unit, const char *text,
                struct reading cost_us)
{
    probe->row(&(struct gpu_probe_row){probe->device, what, value, unit, text, cost_us});
}

static void say_value(const struct probe *probe, const char *what, double value, const char *unit)
{
    say(probe, what, (struct reading){value, true}, unit, "", none);
}

static void say_text(const struct probe *probe, const char *what, const char *text)
{
    say(probe, what, none, "", text[0] ? text : "unknown", none);
}

static void probe_identity(const struct probe *probe)
{
    static const char *const mig[] = {"unknown", "off", "on: energy is not to be had",
                                      "a part: energy is not to be had"};
    static const char *const persistence[] = {"unknown", "off", "on"};
    struct gpu_identity who;
    probe->backend->identify(probe->sensor, &who);
    say_text(probe, "name", who.name);
    say_text(probe, "uuid", who.uuid);
    say_text(probe, "pci", who.pci);
    say_text(probe, "driver", who.driver);
    say_text(probe, "library", who.library);
    say_text(probe, "mig", mig[who.mig]);
    say_text(probe, "persistence", persistence[who.persistence]);
}

/* The value, and between which instants it changes. */
static void probe_counter(const struct probe *probe)
{
    struct err err = {0};
    uint64_t first = 0, now = 0;
    int64_t began_ns = clock_monotonic_ns(), changes_ns[2] = {0};
    if (!probe->backend->counter(probe->sensor, &first, &err)) {
        say(probe, "counter", none, "mJ", err.text, since(began_ns));
        return;
    }
    say(probe, "counter", (struct reading){(double)first, true}, "mJ", "", since(began_ns));
    int64_t worst_ns = 0, calls = 0;
    for (int changes = 0; changes < 2 && clock_monotonic_ns() - began_ns < PERIOD_NS; calls++) {
        int64_t before_ns = clock_monotonic_ns();
        if (!probe->backend->counter(probe->sensor, &now, &err))
            break;
        int64_t after_ns = clock_monotonic_ns();
        if (after_ns - before_ns > worst_ns)
            worst_ns = after_ns - before_ns;
        if (now != first)
            changes_ns[changes++] = after_ns;
        first = now;
    }
    if (changes_ns[1])
        say_value(probe, "counter.period", (double)(changes_ns[1] - changes_ns[0]) / 1e6, "ms");
    else
        say_text(probe, "counter.period", "it did not change within a second");
    say_value(probe, "counter.worst_call", (double)worst_ns / 1000, "us");
    say_value(probe, "counter.calls", (double)calls, "");
}

static void say_steps(const struct probe *probe, const struct gpu_trace *trace, int64_t now_ns)
{
    int64_t shortest_ns = INT64_MAX, longest_ns = 0;
    for (uint32_t i = 1; i < trace->count; i++) {
        int64_t step_ns = trace->samples[i].t_ns - trace->samples[i - 1].t_ns;
        shortest_ns = step_ns < shortest_ns ? step_ns : shortest_ns;
        longest_ns = step_ns > longest_ns ? step_ns : longest_ns;
    }
    const struct gpu_power_sample *last = &trace->samples[trace->count - 1];
    int64_t length_ns = last->t_ns - trace->samples[0].t_ns;
    say_value(probe, "trace.step_min", (double)shortest_ns / 1e6, "ms");
    say_value(probe, "trace.step_max", (double)longest_ns / 1e6, "ms");
    say_value(probe, "trace.length", (double)length_ns / 1e6, "ms");
    say_value(probe, "trace.newest_age", (double)(now_ns - last->t_ns) / 1e6, "ms");
    say_value(probe, "trace.rate", (trace->count - 1) * 1e9 / (double)length_ns, "samples/s");
    say_value(probe, "trace.newest", last->power_w, "W");
}

static void probe_trace(const struct probe *probe)
{
    struct gpu_trace trace;
    struct err err = {0};
    int64_t began_ns = clock_monotonic_ns();
    bool good = probe->backend->trace(probe->sensor, &trace, &err);
    struct reading cost_us = since(began_ns);
    if (!good) {
        say(probe, "trace", none, "", err.text, cost_us);
        return;
    }
    say(probe, "trace", (struct reading){trace.count, true}, "samples", "", cost_us);
    say_value(probe, "trace.refused", trace.refused, "samples");
    if (trace.count > 1)
        say_steps(probe, &trace, began_ns);
}

static void probe_readings(const struct probe *probe)
{
    for (size_t group = 0; group < probe->backend->group_count; group++) {
        struct gpu_readings readings = {0};
        struct err err = {0};
        int64_t began_ns = clock_monotonic_ns();
        bool good = probe->backend->group_read(probe->sensor, group, &readings, &err);
        struct reading cost_us = since(began_ns);
        if (!good)
            say(probe, probe->backend->group_name(group), none, "", err.text, cost_us);
        for (int i = 0; i < GPU_READING_COUNT; i++)
            if (readings.of[i].valid) {
                enum gpu_reading which = (enum gpu_reading)i;
                say(probe, gpu_reading_rows[which].name, readings.of[i], gpu_reading_rows[which].unit, "", cost_us);
                cost_us.valid = false;
            }
    }
}

static void probe_users(const struct probe *probe)
{
    struct gpu_users users;
    struct err err = {0};
    char text[160];
    int64_t began_ns = clock_monotonic_ns();
    bool good = probe->backend->users(probe->sensor, &users, &err);
    struct reading cost_us = since(began_ns);
    bool told = good && users.told;
    say(probe, "processes", (struct reading){users.count, told}, "", told ? "" : err.text, cost_us);
    for (uint32_t i = 0; i < users.count; i++) {
        const struct gpu_user *user = &users.users[i];
        int used = snprintf(text, sizeof text, "pid %" PRId32 "%s%s", user->pid, user->compute ? " compute" : "",
                            user->graphics ? " graphics" : "");
        if (user->memory_bytes.valid)
            used += snprintf(text + used, sizeof text - (size_t)used, " %.0f bytes", user->memory_bytes.value);
        if (user->sm_percent.valid)
            snprintf(text + used, sizeof text - (size_t)used, " %.0f %% of the multiprocessors",
                     user->sm_percent.value);
        say_text(probe, "process", text);
    }
}

static bool probe_one(const struct gpu_backend *backend, struct gpu_driver *driver, struct probe *probe,
                      struct err *err)
{
    probe->sensor = backend->sensor_open(driver, probe->device, err);
    if (!probe->sensor)
        return false;
    probe_identity(probe);
    probe_trace(probe);
    probe_readings(probe);
    probe_users(probe);
    probe_counter(probe);
    backend->sensor_close(probe->sensor);
    return true;
}

bool gpu_probe(const struct gpu_backend *backend, const char *library, const char *device,
               void (*row)(const struct gpu_probe_row *row), struct err *err)
{
    struct probe probe = {.backend = backend, .device = device, .row = row};
    struct gpu_driver *driver = backend->open(library, err);
    uint32_t count = 0;
    if (!driver)
        return false;
    bool good = true;
    if (device) {
        good = probe_one(backend, driver, &probe, err);
    } else {
        good = backend->count(driver, &count, err);
        for (uint32_t i = 0; i < count && good; i++) {
            char number[16];
            snprintf(number, sizeof number, "%" PRIu32, i);
            probe.device = number;
            good = probe_one(backend, driver, &probe, err);
        }
    }
    backend->close(driver);
    return good;
}
