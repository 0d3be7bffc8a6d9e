/* The energy sensors: of each GPU as its meter finds them, and the host's counters. */
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/record.h"
#include "doctor/doctor.h"
#include "session/meters.h"
#include "machine/sensors/meter.h"

#include <string.h>

static const char sensor_section[] = "Sensors";

static const double PROOF_S = 0.2;
static const double TRIED_S = 60;

struct meter *doctor_meter(const struct energy_meters_gpu *gpu, struct err *err)
{
    return meter_start(
        &(struct meter_options){
            .device = gpu->device, .library = gpu->library, .vendor = gpu->vendor, .start_timeout_s = TRIED_S},
        err);
}

static void describe(const struct doctor_look *look, struct finding *finding, const struct energy_meters_gpu *gpu)
{
    const struct meter_description *about = meter_describe(look->meter);
    finding->data = json_object();
    AUTO_FREE char *counter = doctor_look_counter(look, gpu->vendor->counter_source, finding->data);
    AUTO_FREE char *trace = doctor_look_trace(look, finding->data);
    json_object_set_new(finding->data, "uuid", json_string(about->identity.uuid));
    if (about->identity.mig == GPU_MIG_ON || about->identity.mig == GPU_MIG_PART) {
        finding_set(finding, FINDING_NO, "it is divided into parts (MIG), whose energy nobody can tell",
                    gpu->vendor->fixes[GPU_FIX_PARTS], "%s: no energy", gpu->label);
        return;
    }
    finding_set(finding, about->has_counter || about->has_trace ? FINDING_YES : FINDING_NO, NULL, NULL, "%s: %s, %s",
                gpu->label, counter, trace);
}

static char *library_mend(const struct doctor_machine *machine, const struct energy_meters_gpu *gpu)
{
    AUTO_FREE char *driver = gpu->vendor->driver_version(machine->root);
    if (gpu->library)
        return mem_printf("unset %s   # or name another file by it", gpu->vendor->library_variable);
    return gpu->vendor->library_fix(driver);
}

static void add_gpu(const struct doctor_machine *machine, const struct meters *meters, size_t place,
                    const struct doctor_look *look, const struct err *why, struct findings *out)
{
    struct finding finding = {.section = sensor_section, .name = "gpu energy", .mark = FINDING_NO};
    const struct energy_meters_gpu *gpu = &meters->gpus[place];
    AUTO_FREE char *not_loaded = mem_printf("load %s's library", gpu->vendor->name);
    const char *label = gpu->label;
    const struct meter *meter = look->meter;
    if (meter && meter_describe(meter)) {
        describe(look, &finding, gpu);
        findings_add(out, finding);
        doctor_look_readings(look, label, sensor_section, out);
        return;
    }
    bool starts = meter && meter_state(meter) != METER_UNAVAILABLE;
    const char *reason = !meter ? why->text : starts ? "its driver has not answered within 4 s" : meter_reason(meter);
    finding.text = mem_printf("%s: no energy", label);
    finding.reason = mem_strdup(reason);
    if (starts)
        finding.mend = mem_strdup(gpu->vendor->fixes[GPU_FIX_SILENT]);
    else if (meter && strstr(reason, not_loaded))
        finding.mend = library_mend(machine, gpu);
    finding.advice = starts || !gpu->library;
    findings_add(out, finding);
}

static void add_gpus(const struct doctor_machine *machine, const struct meters *found, struct findings *out)
{
    size_t count = found->options.gpu_count;
    struct doctor_look *looks = mem_array(count + 1, sizeof *looks);
    struct err *errs = mem_array(count + 1, sizeof *errs);
    for (size_t i = 0; i < count; i++)
        looks[i].meter = doctor_meter(&found->gpus[i], &errs[i]);
    doctor_look(looks, count);
    for (size_t i = 0; i < count; i++)
        add_gpu(machine, found, i, &looks[i], &errs[i], out);
    for (size_t i = 0; i < count; i++)
        meter_free(looks[i].meter);
    free(looks);
    free(errs);
}

static void add_domain(const struct rapl *rapl, const struct rapl_domain *domain, struct findings *out)
{
    static const struct record_field fields[] = {RECORD_ENUM(struct rapl_domain, "scope", scope, rapl_scope_name),
                                                 RECORD_ENUM(struct rapl_domain, "source", source, rapl_source_name),
                                                 RECORD_AS(struct rapl_domain, "step_j", quantum_j),
                                                 RECORD_AS(struct rapl_domain, "update_s", update_s),
                                                 RECORD_AS(struct rapl_domain, "cost_s", read_s),
                                                 {0}};
    struct finding finding = {.section = sensor_section, .name = domain->name, .data = record_json(fields, domain)};
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
        /* The platform's is not used. */
        finding_set(&finding, FINDING_NO, domain->reason ? domain->reason : "unknown",
                    domain->scope == RAPL_PLATFORM ? NULL : rapl->fix, "no energy of the %s",
                    rapl_scope_name(domain->scope));
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
    findings_say(out, sensor_section, "cpu energy", FINDING_NO, rapl->reason, rapl->fix,
                 "no energy of CPU packages and DRAM");
}

void doctor_sensors(const struct doctor_machine *machine, struct host_meter *host, struct findings *out)
{
    AUTO(meters_fini) struct meters meters = {0};
    AUTO_FREE char *vendors = gpu_vendor_names();
    struct err err = {0};
    if (!meters_choose("all", NULL, &meters, &err))
        findings_say(out, sensor_section, "gpu energy", FINDING_NO, err.text, NULL, "the GPUs cannot be listed");
    else if (meters.options.gpu_count == 0)
        findings_say(out, sensor_section, "gpu energy", FINDING_FACT, NULL, NULL, "no %s GPU is seen here", vendors);
    else
        add_gpus(machine, &meters, out);
    add_host(host, out);
}
