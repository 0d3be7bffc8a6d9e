#include "machine/sensors/gpu_process.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const int64_t PERIOD_NS = 1000 * NS_PER_MS; /* a counter that has not changed twice by then does not move */

struct probe {
    const struct gpu_backend *backend;
    struct gpu_sensor *sensor;
    const char *device;
    void (*row)(void *data, const struct gpu_probe_row *row);
    void *data;
};

static struct reading some(double value)
{
    return (struct reading){.value = value, .valid = true};
}

static struct reading since(int64_t began_ns)
{
    return some((double)(clock_monotonic_ns() - began_ns) / 1000);
}

static void say(const struct probe *probe, struct gpu_probe_row row)
{
    row.device = probe->device;
    if (!row.unit)
        row.unit = "";
    if (!row.text)
        row.text = "";
    probe->row(probe->data, &row);
}

static void say_text(const struct probe *probe, const char *what, const char *text)
{
    say(probe, (struct gpu_probe_row){.what = what, .text = text[0] ? text : "unknown"});
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
        say(probe,
            (struct gpu_probe_row){.what = "counter", .unit = "mJ", .text = err.text, .cost_us = since(began_ns)});
        return;
    }
    say(probe, (struct gpu_probe_row){
                   .what = "counter", .value = some((double)first), .unit = "mJ", .cost_us = since(began_ns)});
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
        say(probe, (struct gpu_probe_row){.what = "counter.period",
                                          .value = some((double)(changes_ns[1] - changes_ns[0]) / 1e6),
                                          .unit = "ms"});
    else
        say_text(probe, "counter.period", "it did not change within a second");
    say(probe,
        (struct gpu_probe_row){.what = "counter.worst_call", .value = some((double)worst_ns / 1000), .unit = "us"});
    say(probe, (struct gpu_probe_row){.what = "counter.calls", .value = some((double)calls)});
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
    const struct {
        const char *what;
        int64_t ns;
    } rows[] = {{"trace.step_min", shortest_ns},
                {"trace.step_max", longest_ns},
                {"trace.length", last->t_ns - trace->samples[0].t_ns},
                {"trace.newest_age", now_ns - last->t_ns}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        say(probe, (struct gpu_probe_row){.what = rows[i].what, .value = some((double)rows[i].ns / 1e6), .unit = "ms"});
    say(probe,
        (struct gpu_probe_row){.what = "trace.rate",
                               .value = some((trace->count - 1) * 1e9 / (double)(last->t_ns - trace->samples[0].t_ns)),
                               .unit = "samples/s"});
    say(probe, (struct gpu_probe_row){.what = "trace.newest", .value = some(last->power_w), .unit = "W"});
}

static void probe_trace(const struct probe *probe)
{
    struct gpu_trace trace;
    struct err err = {0};
    int64_t began_ns = clock_monotonic_ns();
    bool good = probe->backend->trace(probe->sensor, &trace, &err);
    struct reading cost_us = since(began_ns);
    if (!good) {
        say(probe, (struct gpu_probe_row){.what = "trace", .text = err.text, .cost_us = cost_us});
        return;
    }
    say(probe,
        (struct gpu_probe_row){.what = "trace", .value = some(trace.count), .unit = "samples", .cost_us = cost_us});
    say(probe, (struct gpu_probe_row){.what = "trace.refused", .value = some(trace.refused), .unit = "samples"});
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
            say(probe, (struct gpu_probe_row){
                           .what = probe->backend->group_name(group), .text = err.text, .cost_us = cost_us});
        for (int i = 0; i < GPU_READING_COUNT; i++)
            if (readings.of[i].valid) {
                say(probe, (struct gpu_probe_row){.what = gpu_reading_name((enum gpu_reading)i),
                                                  .value = readings.of[i],
                                                  .unit = gpu_reading_unit((enum gpu_reading)i),
                                                  .cost_us = cost_us});
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
    if (good && users.told)
        say(probe, (struct gpu_probe_row){.what = "processes", .value = some(users.count), .cost_us = cost_us});
    else
        say(probe, (struct gpu_probe_row){.what = "processes", .text = err.text, .cost_us = cost_us});
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
               void (*row)(void *data, const struct gpu_probe_row *row), void *data, struct err *err)
{
    struct probe probe = {.backend = backend, .device = device, .row = row, .data = data};
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
