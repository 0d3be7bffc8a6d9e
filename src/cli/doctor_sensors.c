/* The energy sensors: of each GPU as its meter finds them, and the host's counters. */
#include "base/clock.h"
#include "base/mem.h"
#include "cli/doctor.h"
#include "cli/meters.h"
#include "gpu/devices.h"
#include "meter/meter.h"
#include "tare_build.h"

#include <poll.h>
#include <string.h>

static const char sensor_section[] = "Sensors";

/* A driver may have to wake its GPUs; one that takes longer is said to do so. */
static const int64_t LOOK_NS = 4 * NS_PER_S;
static const double PROOF_S = 0.2;
static const double TRIED_S = 60;

static json_t *number(bool valid, double value)
{
    return valid ? json_real(value) : json_null();
}

static void take_all(struct meter *const *meters, size_t count)
{
    struct meter_response response;
    for (size_t i = 0; i < count; i++)
        for (int takes = 0; meters[i] && takes < 16 && meter_take(meters[i], &response); takes++)
            ;
}

static bool any_starting(struct meter *const *meters, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (meters[i] && meter_state(meters[i]) == METER_STARTING)
            return true;
    return false;
}

/* All at once: the wait is for the slowest of them. */
static void await_meters(struct meter *const *meters, size_t count)
{
    int64_t until_ns = clock_monotonic_ns() + LOOK_NS;
    struct pollfd *fds = mem_array(count + 1, sizeof *fds);
    for (size_t i = 0; i < count; i++)
        fds[i] = (struct pollfd){.fd = meters[i] ? meter_fd(meters[i]) : -1, .events = POLLIN};
    take_all(meters, count);
    while (any_starting(meters, count) && clock_monotonic_ns() < until_ns) {
        poll(fds, count, 50);
        take_all(meters, count);
    }
    free(fds);
}

static char *counter_text(const struct meter *meter, const struct meter_description *about, json_t *data)
{
    const struct series *series = meter_series(meter);
    double cost_ms = 0;
    bool read = series->counter_count > 0;
    if (read)
        cost_ms = (double)(series->counter[0].after_ns - series->counter[0].before_ns) / (double)NS_PER_MS;
    json_object_set_new(data, "counter", json_boolean(about->has_counter));
    json_object_set_new(data, "counter_cost_ms", number(about->has_counter && read, cost_ms));
    if (!about->has_counter)
        return mem_printf("no energy counter (%s)", about->counter_why);
    return read ? mem_printf("energy counter (nvml-counter), %.1f ms a reading", cost_ms)
                : mem_strdup("energy counter (nvml-counter)");
}

static char *trace_text(const struct meter *meter, const struct meter_description *about, json_t *data)
{
    const struct series *series = meter_series(meter);
    size_t count = series->power_count;
    int64_t length_ns = count > 1 ? series->power[count - 1].t_ns - series->power[0].t_ns : 0;
    double rate = length_ns > 0 ? (double)(count - 1) * (double)NS_PER_S / (double)length_ns : 0;
    json_object_set_new(data, "trace", json_boolean(about->has_trace));
    json_object_set_new(data, "trace_per_second", number(about->has_trace && rate > 0, rate));
    if (!about->has_trace)
        return mem_printf("no power trace (%s): power is sampled instead", about->trace_why);
    return rate > 0 ? mem_printf("power trace of %.0f samples a second", rate) : mem_strdup("power trace, empty now");
}

static void describe(const struct meter *meter, struct finding *finding, const char *label)
{
    const struct meter_description *about = meter_describe(meter);
    finding->data = json_object();
    AUTO_FREE char *counter = counter_text(meter, about, finding->data);
    AUTO_FREE char *trace = trace_text(meter, about, finding->data);
    json_object_set_new(finding->data, "uuid", json_string(about->identity.uuid));
    if (about->identity.mig == GPU_MIG_ON || about->identity.mig == GPU_MIG_PART) {
        finding->text = mem_printf("%s: no energy", label);
        finding->reason = mem_strdup("it is divided into parts (MIG), whose energy nobody can tell");
        finding->mend = mem_strdup("sudo nvidia-smi -mig 0 (ends the division; nothing may use the GPU)");
        return;
    }
    finding->mark = about->has_counter || about->has_trace ? FINDING_YES : FINDING_NO;
    finding->text = mem_printf("%s: %s, %s", label, counter, trace);
}

static char *library_mend(const struct doctor_machine *machine, const char *library)
{
    AUTO_FREE char *driver = gpu_driver_version(machine->root);
    if (library)
        return mem_strdup("TARE_NVML names it: another file, or none");
    return mem_printf(
        "install libnvidia-ml.so.1 of driver %s (Debian: libnvidia-ml1; Ubuntu: libnvidia-compute-%.*s; a "
        "container: --gpus all)",
        driver ? driver : "that is loaded", driver ? (int)strcspn(driver, ".") : 1, driver ? driver : "*");
}

static void add_gpu(const struct doctor_machine *machine, const struct meters *meters, size_t place,
                    const struct meter *meter, const struct err *why, struct findings *out)
{
    struct finding finding = {.section = sensor_section, .name = "gpu energy", .mark = FINDING_NO};
    const char *label = meters->gpus[place].label;
    if (meter && meter_describe(meter)) {
        describe(meter, &finding, label);
        findings_add(out, finding);
        return;
    }
    bool starts = meter && meter_state(meter) != METER_UNAVAILABLE;
    const char *reason = !meter ? why->text : starts ? "its driver has not answered within 4 s" : meter_reason(meter);
    finding.text = mem_printf("%s: no energy", label);
    finding.reason = mem_strdup(reason);
    if (starts)
        finding.mend =
            mem_strdup("nvidia-smi tells whether it hangs as well; then: reset the GPU, or start the machine anew");
    else if (meter && strstr(reason, "load NVIDIA's library"))
        finding.mend = library_mend(machine, meters->options.library);
    findings_add(out, finding);
}

static void add_gpus(const struct doctor_machine *machine, const struct meters *found, struct findings *out)
{
    size_t count = found->options.gpu_count;
    struct meter **meters = mem_array(count + 1, sizeof *meters);
    struct err *errs = mem_array(count + 1, sizeof *errs);
    for (size_t i = 0; i < count; i++) {
        struct meter_options options = {
            .device = found->gpus[i].device, .library = found->options.library, .start_timeout_s = TRIED_S};
        meters[i] = meter_start(&options, &errs[i]);
    }
    await_meters(meters, count);
    for (size_t i = 0; i < count; i++)
        add_gpu(machine, found, i, meters[i], &errs[i], out);
    for (size_t i = 0; i < count; i++)
        meter_free(meters[i]);
    free(meters);
    free(errs);
}

static void add_domain(const struct rapl *rapl, const struct rapl_domain *domain, struct findings *out)
{
    struct finding finding = {.section = sensor_section, .name = domain->name, .mark = FINDING_NO};
    finding.data = json_object();
    json_object_set_new(finding.data, "scope", json_string(rapl_scope_name(domain->scope)));
    json_object_set_new(finding.data, "source", json_string(rapl_source_name(domain->source)));
    json_object_set_new(finding.data, "step_j", number(domain->quantum_j.valid, domain->quantum_j.value));
    json_object_set_new(finding.data, "update_s", number(domain->update_s.valid, domain->update_s.value));
    json_object_set_new(finding.data, "cost_s", number(domain->read_s.valid, domain->read_s.value));
    if (domain->available) {
        struct text text = {0};
        text_addf(&text, "energy of the %s (%s)", rapl_scope_name(domain->scope), rapl_source_name(domain->source));
        if (domain->update_s.valid)
            text_addf(&text, ", updated every %.2f ms", domain->update_s.value * 1e3);
        if (domain->read_s.valid)
            text_addf(&text, ", %.4f ms a reading", domain->read_s.value * 1e3);
        finding.mark = FINDING_YES;
        finding.text = text_take(&text);
    } else {
        finding.text = mem_printf("no energy of the %s", rapl_scope_name(domain->scope));
        finding.reason = mem_strdup(domain->reason ? domain->reason : "unknown");
        /* The platform's is not used. */
        finding.mend = domain->scope == RAPL_PLATFORM ? NULL : mem_strdup(rapl->fix);
    }
    findings_add(out, finding);
}

static void add_host(struct host_meter *host, struct findings *out)
{
    const struct rapl *rapl = host ? host_meter_rapl(host) : NULL;
    if (rapl && rapl->count > 0)
        host_meter_prove(host, PROOF_S);
    for (size_t i = 0; rapl && i < rapl->count; i++)
        add_domain(rapl, &rapl->domains[i], out);
    if (!rapl || rapl->count > 0)
        return;
    findings_add(out, (struct finding){.section = sensor_section,
                                       .name = "cpu energy",
                                       .mark = FINDING_NO,
                                       .text = mem_strdup("no energy of CPU packages and DRAM"),
                                       .reason = mem_strdup(rapl->reason),
                                       .mend = mem_strdup(rapl->fix)});
}

void doctor_sensors(const struct doctor_machine *machine, struct host_meter *host, struct findings *out)
{
    struct meters meters;
    struct err err = {0};
    if (!meters_choose("all", NULL, &meters, &err))
        findings_add(out, (struct finding){.section = sensor_section,
                                           .name = "gpu energy",
                                           .mark = FINDING_NO,
                                           .text = mem_strdup("the GPUs cannot be listed"),
                                           .reason = mem_strdup(err.text)});
    else if (meters.options.gpu_count == 0)
        findings_add(out, (struct finding){.section = sensor_section,
                                           .name = "gpu energy",
                                           .mark = FINDING_FACT,
                                           .text = mem_strdup("no NVIDIA GPU is seen here")});
    else
        add_gpus(machine, &meters, out);
    meters_fini(&meters);
    add_host(host, out);
}
