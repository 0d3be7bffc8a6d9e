#include "doctor/doctor_sensors.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/record.h"
#include "doctor/doctor_text.h"
#include "machine/sensors/meter.h"
#include "machine/sensors/series.h"
#include "session/measuring.h"

#include <poll.h>
#include <string.h>

/* A driver may have to wake its GPUs; one that takes longer is said to do so. */
static const int64_t LOOK_NS = 4 * NS_PER_S;

/* Edges in a row: so many updates of the counter. */
enum { EDGES = 4, TAKES_MAX = 16 };

static json_t *number_or_null(bool valid, double value)
{
    return valid ? json_finite(value) : json_null();
}

static void receive_meter_responses(struct doctor_look *look)
{
    struct meter_response response;
    for (int takes = 0; look->meter && takes < TAKES_MAX && meter_take(look->meter, &response);
         takes++) {
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
    receive_meter_responses(look);
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
    EACH (look, looks, count) {
        struct meter *meter = look->meter;
        if (!meter || meter_state(meter) != METER_READY)
            continue;
        for (uint64_t edge = 0; edge < EDGES; edge++)
            meter_request(meter, METER_EDGE, edge);
        meter_request(meter, METER_TICK, EDGES);
        meter_request(meter, METER_GROUPS, EDGES + 1);
    }
    doctor_await(looks, count, sizeof *looks, is_answering);
}

static char *doctor_look_counter(const struct doctor_look *look, const char *source, json_t *data)
{
    const struct meter_description *about = meter_describe(look->meter);
    const struct series *series = meter_series(look->meter);
    struct reading period_s = rhythm_counter(series).period_s;
    double cost_ms = 0;
    EACH (item, series->counter, series->counter_count)
        cost_ms += (double)(item->after_ns - item->before_ns) / (double)NS_PER_MS /
                   (double)series->counter_count;
    bool read = about->has_counter && series->counter_count > 0;
    json_object_set_new(data, "counter", json_boolean(about->has_counter));
    json_object_set_new(data, "counter_update_ms",
                        number_or_null(read && period_s.valid, period_s.value * 1000));
    json_object_set_new(data, "counter_cost_ms", number_or_null(read, cost_ms));
    if (!about->has_counter)
        return mem_printf("no energy counter (%s)", about->counter_why);
    if (!read)
        return mem_printf("energy counter (%s)", source);
    AUTO_FREE char *updates = period_s.valid
                                  ? mem_printf("updated every %.0f ms", period_s.value * 1000)
                                  : mem_strdup("update rate unknown");
    return mem_printf("energy counter (%s), %s, %.1f ms a reading", source, updates, cost_ms);
}

/* Half a sentence each, and the same in data. The meter is there. source: the vendor's name of its
 * counter. */
static char *doctor_look_trace(const struct doctor_look *look, json_t *data)
{
    const struct meter_description *about = meter_describe(look->meter);
    struct reading rate_hz = rhythm_trace_hz(meter_series(look->meter));
    bool costs = about->has_trace && look->trace_us > 0;
    json_object_set_new(data, "trace", json_boolean(about->has_trace));
    json_object_set_new(data, "trace_per_second",
                        number_or_null(about->has_trace && rate_hz.valid, rate_hz.value));
    json_object_set_new(data, "trace_cost_ms", number_or_null(costs, look->trace_us / 1000));
    if (!about->has_trace)
        return mem_printf("no power trace (%s): power is sampled instead", about->trace_why);
    if (!rate_hz.valid)
        return mem_strdup("power trace, empty now");
    AUTO_FREE char *cost =
        costs ? mem_printf(", %.2f ms for all of them", look->trace_us / 1000) : mem_strdup("");
    return mem_printf("power trace of %.0f samples a second%s", rate_hz.value, cost);
}

/* One finding about everything but energy. */
static void doctor_look_readings(const struct doctor_look *look, const char *label,
                                 const char *section, struct findings *out)
{
    struct finding finding = {.section = section, .name = "gpu readings", .mark = FINDING_FACT};
    AUTO_TEXT struct text missing = {0};
    size_t there = 0;
    double cost_us = 0;
    if (look->group_count == 0)
        return;
    json_t *rows = json_array();
    EACH (group, look->groups, look->group_count) {
        json_array_append_new(rows, json_pack("{s:s, s:o, s:o}", "name", group->name, "cost_ms",
                                              json_finite(group->cost_us / 1000), "reason",
                                              json_filled_or_null(group->why)));
        there += group->why[0] == '\0';
        cost_us += group->cost_us;
        if (group->why[0])
            text_addf(&missing, "%s%s (%s)", missing.length > 0 ? ", " : "", group->name,
                      group->why);
    }
    finding.text = mem_printf(
        "%s: %zu of %zu kinds of readings (power, temperatures, clocks, utilisation, memory, "
        "errors), %.2f ms for all, once a second",
        label, there, look->group_count, cost_us / 1000);
    finding.reason = missing.length > 0 ? mem_printf("missing: %s", text_get(&missing)) : NULL;
    finding.data = json_pack("{s:o}", "readings", rows);
    findings_add(out, finding);
}

static const char sensor_section[] = "Sensors";

static const double TRIED_S = 60;

struct meter *doctor_meter(const struct energy_meters_gpu *gpu, struct err *err)
{
    return meter_start(&(struct meter_options){.device = gpu->device,
                                               .library = gpu->library,
                                               .vendor = gpu->vendor,
                                               .start_timeout_s = TRIED_S},
                       err);
}

static void describe_sensor(const struct doctor_look *look, struct finding *finding,
                            const struct energy_meters_gpu *gpu)
{
    const struct meter_description *about = meter_describe(look->meter);
    finding->data = json_object();
    AUTO_FREE char *counter = doctor_look_counter(look, gpu->vendor->counter_source, finding->data);
    AUTO_FREE char *trace = doctor_look_trace(look, finding->data);
    json_object_set_new(finding->data, "uuid", json_string(about->identity.uuid));
    if (about->identity.mig == GPU_MIG_ON || about->identity.mig == GPU_MIG_PART) {
        finding_set(finding, FINDING_NO,
                    "it is divided into parts (MIG), whose energy nobody can tell",
                    gpu->vendor->fixes[GPU_FIX_PARTS], "%s: no energy", gpu->label);
        return;
    }
    finding_set(finding, about->has_counter || about->has_trace ? FINDING_YES : FINDING_NO, NULL,
                NULL, "%s: %s, %s", gpu->label, counter, trace);
}

static char *suggest_library_fix(const struct doctor_machine *machine,
                                 const struct energy_meters_gpu *gpu)
{
    AUTO_FREE char *driver = gpu->vendor->driver_version(machine->root);
    if (gpu->library)
        return mem_printf("unset %s   # or name another file by it", gpu->vendor->library_variable);
    return gpu->vendor->library_fix(driver);
}

static void add_gpu_sensor_finding(const struct doctor_machine *machine,
                                   const struct meters *meters, size_t place,
                                   const struct doctor_look *look, const struct err *why,
                                   struct findings *out)
{
    struct finding finding = {.section = sensor_section, .name = "gpu energy", .mark = FINDING_NO};
    const struct energy_meters_gpu *gpu = &meters->gpus[place];
    AUTO_FREE char *not_loaded = mem_printf("load %s's library", gpu->vendor->name);
    const char *label = gpu->label;
    const struct meter *meter = look->meter;
    if (meter && meter_describe(meter)) {
        describe_sensor(look, &finding, gpu);
        findings_add(out, finding);
        doctor_look_readings(look, label, sensor_section, out);
        return;
    }
    bool starts = meter && meter_state(meter) != METER_UNAVAILABLE;
    const char *reason = !meter   ? why->text
                         : starts ? "its driver has not answered within 4 s"
                                  : meter_reason(meter);
    finding.text = mem_printf("%s: no energy", label);
    finding.reason = mem_strdup(reason);
    if (starts)
        finding.mend = mem_strdup(gpu->vendor->fixes[GPU_FIX_SILENT]);
    else if (meter && strstr(reason, not_loaded))
        finding.mend = suggest_library_fix(machine, gpu);
    finding.advice = starts || !gpu->library;
    findings_add(out, finding);
}

static void add_gpu_sensor_findings(const struct doctor_machine *machine,
                                    const struct meters *found, struct findings *out)
{
    size_t count = found->options.gpu_count;
    struct doctor_look *looks = mem_array(count + 1, sizeof *looks);
    struct err *errs = mem_array(count + 1, sizeof *errs);
    for (size_t i = 0; i < count; i++)
        looks[i].meter = doctor_meter(&found->gpus[i], &errs[i]);
    doctor_look(looks, count);
    for (size_t i = 0; i < count; i++)
        add_gpu_sensor_finding(machine, found, i, &looks[i], &errs[i], out);
    EACH (look, looks, count)
        meter_free(look->meter);
    free(looks);
    free(errs);
}

static void add_domain(const struct rapl *rapl, const struct rapl_domain *domain,
                       struct findings *out)
{
    static const struct record_field fields[] = {
        RECORD_ENUM(struct rapl_domain, "scope", scope, rapl_scope_name),
        RECORD_ENUM(struct rapl_domain, "source", source, rapl_source_name),
        RECORD_AS(struct rapl_domain, "step_j", quantum_j),
        RECORD_AS(struct rapl_domain, "update_s", update_s),
        RECORD_AS(struct rapl_domain, "cost_s", read_s),
        {0}};
    struct finding finding = {
        .section = sensor_section, .name = domain->name, .data = record_json(fields, domain)};
    if (domain->available) {
        struct text text = {0};
        text_addf(&text, "energy of the %s (%s)", rapl_scope_name(domain->scope),
                  rapl_source_name(domain->source));
        if (domain->update_s.valid)
            text_addf(&text, ", updated every %.2f ms", domain->update_s.value * 1e3);
        if (domain->read_s.valid)
            text_addf(&text, ", %.4f ms a reading", domain->read_s.value * 1e3);
        finding.mark = FINDING_YES;
        finding.text = text_take(&text);
    } else {
        /* The platform's is not used. */
        finding_set(&finding, FINDING_NO, domain->reason ? domain->reason : "unknown",
                    domain->scope == RAPL_PLATFORM ? NULL : rapl->fix, "no energy of the %s",
                    rapl_scope_name(domain->scope));
    }
    findings_add(out, finding);
}

static void add_host_findings(struct host_meter *host, struct findings *out)
{
    const struct rapl *rapl = host ? host_meter_rapl(host) : NULL;
    if (rapl && rapl->count > 0)
        host_meter_prove(host);
    for (size_t i = 0; rapl && i < rapl->count; i++)
        add_domain(rapl, &rapl->domains[i], out);
    if (!rapl || rapl->count > 0)
        return;
    findings_say(out, sensor_section, "cpu energy", FINDING_NO, rapl->reason, rapl->fix,
                 "no energy of CPU packages and DRAM");
}

void doctor_sensors(const struct doctor_machine *machine, struct host_meter *host,
                    struct findings *out)
{
    AUTO(meters_fini) struct meters meters = {0};
    AUTO_FREE char *vendors = gpu_vendor_names();
    struct err err = {0};
    if (!meters_choose("all", NULL, &meters, &err))
        findings_say(out, sensor_section, "gpu energy", FINDING_NO, err.text, NULL,
                     "the GPUs cannot be listed");
    else if (meters.options.gpu_count == 0)
        findings_say(out, sensor_section, "gpu energy", FINDING_FACT, NULL, NULL,
                     "no %s GPU is seen here", vendors);
    else
        add_gpu_sensor_findings(machine, &meters, out);
    add_host_findings(host, out);
}
