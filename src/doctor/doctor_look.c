#include "doctor/doctor.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "machine/sensors/series.h"

#include <poll.h>
#include <string.h>

/* A driver may have to wake its GPUs; one that takes longer is said to do so. */
static const int64_t LOOK_NS = 4 * NS_PER_S;

/* Edges in a row: so many updates of the counter. */
enum { EDGES = 4, TAKES_MAX = 16 };

static json_t *number(bool valid, double value)
{
    return valid ? json_finite(value) : json_null();
}

static void take(struct doctor_look *look)
{
    struct meter_response response;
    for (int takes = 0; look->meter && takes < TAKES_MAX && meter_take(look->meter, &response); takes++) {
        if (response.kind == METER_TICK && response.status == METER_OK)
            look->trace_us = response.trace_us;
        if (response.kind != METER_GROUPS || response.status == METER_LOST)
            continue;
        memcpy(look->groups, response.groups, sizeof look->groups);
        look->group_count = response.group_count;
    }
}

static bool is_starting(void *one, int *fd)
{
    struct doctor_look *look = one;
    take(look);
    *fd = look->meter ? meter_fd(look->meter) : -1;
    return look->meter && meter_state(look->meter) == METER_STARTING;
}

static bool is_answering(void *one, int *fd)
{
    const struct doctor_look *look = one;
    is_starting(one, fd);
    return look->meter && meter_state(look->meter) == METER_READY && meter_pending(look->meter) > 0;
}

void doctor_await(void *all, size_t count, size_t size, bool (*step)(void *one, int *fd))
{
    int64_t until_ns = clock_monotonic_ns() + LOOK_NS;
    AUTO_FREE struct pollfd *fds = mem_array(count + 1, sizeof *fds);
    for (;;) {
        bool any = false;
        for (size_t i = 0; i < count; i++) {
            fds[i] = (struct pollfd){.fd = -1, .events = POLLIN};
            any |= step((char *)all + i * size, &fds[i].fd);
        }
        if (!any || clock_monotonic_ns() >= until_ns)
            return;
        poll(fds, count, 50);
    }
}

void doctor_look(struct doctor_look *looks, size_t count)
{
    doctor_await(looks, count, sizeof *looks, is_starting);
    for (size_t i = 0; i < count; i++) {
        struct meter *meter = looks[i].meter;
        if (!meter || meter_state(meter) != METER_READY)
            continue;
        for (uint64_t edge = 0; edge < EDGES; edge++)
            meter_request(meter, METER_EDGE, edge);
        meter_request(meter, METER_TICK, EDGES);
        meter_request(meter, METER_GROUPS, EDGES + 1);
    }
    doctor_await(looks, count, sizeof *looks, is_answering);
}

char *doctor_look_counter(const struct doctor_look *look, const char *source, json_t *data)
{
    const struct meter_description *about = meter_describe(look->meter);
    const struct series *series = meter_series(look->meter);
    struct reading period_s = rhythm_counter_s(series);
    double cost_ms = 0;
    for (size_t i = 0; i < series->counter_count; i++)
        cost_ms += (double)(series->counter[i].after_ns - series->counter[i].before_ns) / (double)NS_PER_MS /
                   (double)series->counter_count;
    bool read = about->has_counter && series->counter_count > 0;
    json_object_set_new(data, "counter", json_boolean(about->has_counter));
    json_object_set_new(data, "counter_update_ms", number(read && period_s.valid, period_s.value * 1000));
    json_object_set_new(data, "counter_cost_ms", number(read, cost_ms));
    if (!about->has_counter)
        return mem_printf("no energy counter (%s)", about->counter_why);
    if (!read)
        return mem_printf("energy counter (%s)", source);
    AUTO_FREE char *updates =
        period_s.valid ? mem_printf("updated every %.0f ms", period_s.value * 1000) : mem_strdup("update rate unknown");
    return mem_printf("energy counter (%s), %s, %.1f ms a reading", source, updates, cost_ms);
}

char *doctor_look_trace(const struct doctor_look *look, json_t *data)
{
    const struct meter_description *about = meter_describe(look->meter);
    struct reading rate_hz = rhythm_trace_hz(meter_series(look->meter));
    bool costs = about->has_trace && look->trace_us > 0;
    json_object_set_new(data, "trace", json_boolean(about->has_trace));
    json_object_set_new(data, "trace_per_second", number(about->has_trace && rate_hz.valid, rate_hz.value));
    json_object_set_new(data, "trace_cost_ms", number(costs, look->trace_us / 1000));
    if (!about->has_trace)
        return mem_printf("no power trace (%s): power is sampled instead", about->trace_why);
    if (!rate_hz.valid)
        return mem_strdup("power trace, empty now");
    AUTO_FREE char *cost = costs ? mem_printf(", %.2f ms for all of them", look->trace_us / 1000) : mem_strdup("");
    return mem_printf("power trace of %.0f samples a second%s", rate_hz.value, cost);
}

void doctor_look_readings(const struct doctor_look *look, const char *label, const char *section, struct findings *out)
{
    struct finding finding = {.section = section, .name = "gpu readings", .mark = FINDING_FACT};
    AUTO_TEXT struct text missing = {0};
    size_t there = 0;
    double cost_us = 0;
    if (look->group_count == 0)
        return;
    json_t *rows = json_array();
    for (size_t i = 0; i < look->group_count; i++) {
        const struct meter_group *group = &look->groups[i];
        json_array_append_new(rows,
                              json_pack("{s:s, s:o, s:o}", "name", group->name, "cost_ms",
                                        json_finite(group->cost_us / 1000), "reason", json_filled_or_null(group->why)));
        there += group->why[0] == '\0';
        cost_us += group->cost_us;
        if (group->why[0])
            text_addf(&missing, "%s%s (%s)", missing.length > 0 ? ", " : "", group->name, group->why);
    }
    finding.text = mem_printf("%s: %zu of %zu kinds of readings (power, temperatures, clocks, utilisation, memory, "
                              "errors), %.2f ms for all, once a second",
                              label, there, look->group_count, cost_us / 1000);
    finding.reason = missing.length > 0 ? mem_printf("missing: %s", text_get(&missing)) : NULL;
    finding.data = json_pack("{s:o}", "readings", rows);
    findings_add(out, finding);
}
