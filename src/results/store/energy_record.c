#include "results/store/energy_record.h"

#include "base/mem.h"
#include "base/record.h"

#include <string.h>

#define COMPONENT(...) RECORD_AS(struct energy_component, __VA_ARGS__)
static const struct record_field component_fields[] = {
    COMPONENT("component", name), COMPONENT("contribution_j", contribution_j), {0}};
static const struct record_field budget_fields[] = {
    RECORD_STRUCTS(struct energy_figures, "components", components, component_count,
                   component_fields),
    {0}};

#define FIGURE(member)          RECORD(struct energy_figures, member)
#define FIGURE_AS(...)          RECORD_AS(struct energy_figures, __VA_ARGS__)
#define GPU_FIGURE(member, ...) FIGURE(member),
static const struct record_field figure_fields[] = {FIGURE_AS("device", label),
                                                    FIGURE(uuid),
                                                    FIGURE(scope),
                                                    FIGURE(source),
                                                    FIGURE(model),
                                                    FIGURE(driver),
                                                    FIGURE(sensor_profile),
                                                    FIGURE_AS("joules", energy_j),
                                                    FIGURE(half_width_j),
                                                    FIGURE_AS("net_of_bare_idle_j", net_j),
                                                    FIGURE(net_half_width_j),
                                                    FIGURE(aliasing_bound_j),
                                                    FIGURE(gain_bound),
                                                    FIGURE(power_mean_w),
                                                    FIGURE(power_min_w),
                                                    FIGURE(power_max_w),
                                                    FIGURE(power_cv_within),
                                                    FIGURE(covered_share),
                                                    FIGURE(longest_gap_s),
                                                    GPU_FIGURES(GPU_FIGURE) FIGURE(power_limit_w),
                                                    FIGURE(sm_clock_max_mhz),
                                                    FIGURE(memory_clock_max_mhz),
                                                    FIGURE(sm_clock_application_mhz),
                                                    FIGURE(memory_clock_application_mhz),
                                                    RECORD_GROUP("budget", budget_fields),
                                                    {0}};

#define ENERGY(member) RECORD(struct energy_record, member)
#define SCOPE(member)  RECORD_STRUCT(struct energy_record, #member, member, figure_fields)
static const struct record_field host_fields[] = {
    ENERGY(user_s), ENERGY(system_s), ENERGY(memory_peak_bytes), ENERGY(others_share), {0}};
static const struct record_field energy_fields[] = {
    SCOPE(gpu),
    SCOPE(cpu_package),
    SCOPE(dram),
    RECORD_GROUP("host", host_fields),
    RECORD_STRUCTS(struct energy_record, "devices", devices, device_count, figure_fields),
    {0}};

void energy_record_read(const json_t *json, struct energy_record *out)
{
    *out = (struct energy_record){.has_gpu = json_is_object(json_object_get(json, "gpu"))};
    record_get(energy_fields, json, out);
}

void energy_record_fini(struct energy_record *energy)
{
    record_free(energy_fields, energy);
}

const struct energy_figures *energy_record_device(const struct energy_record *energy,
                                                  const char *label)
{
    EACH (device, energy->devices, energy->device_count)
        if (device->label && strcmp(device->label, label) == 0)
            return device;
    return NULL;
}

static bool read_counted(const json_t *json, void *item, struct err *err)
{
    (void)err;
    return *(bool *)item = json != NULL;
}

static const struct record_field curve_fields[] = {RECORD(struct attempt_gpu_memory, peak_bytes),
                                                   {0}};
static const struct record_field memory_gpu_fields[] = {
    RECORD_AS(struct attempt_gpu_memory, "device", label),
    RECORD(struct attempt_gpu_memory, of),
    RECORD(struct attempt_gpu_memory, total_bytes),
    RECORD_GROUP("curve", curve_fields),
    RECORD_STRUCT(struct attempt_gpu_memory, "counted", is_counted, NULL, .from = read_counted),
    {0}};
static const struct record_field memory_fields[] = {
    RECORD_STRUCTS(struct attempt_use, "gpus", gpus, gpu_count, memory_gpu_fields), {0}};
static const struct record_field use_fields[] = {RECORD_GROUP("memory", memory_fields), {0}};

void attempt_use_read(const json_t *data, struct attempt_use *out)
{
    const json_t *energy = json_object_get(data, "energy");
    *out = (struct attempt_use){.has_energy = json_is_object(energy)};
    energy_record_read(energy, &out->energy);
    record_get(use_fields, data, out);
}

void attempt_use_fini(struct attempt_use *use)
{
    energy_record_fini(&use->energy);
    record_free(use_fields, use);
}
