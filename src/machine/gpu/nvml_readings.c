#include "machine/gpu/nvml_readings.h"

#include <string.h>

static bool set_nvml_reading(struct gpu_readings *out, enum gpu_reading which, double value,
                             const char *function, struct err *err)
{
    return gpu_reading_set(out, which, value) || nvml_garbage(function, err);
}

/* One of the numbered fields, in units of 1/scale. */
static bool set_field(struct gpu_sensor *sensor, unsigned field, double scale,
                      enum gpu_reading which, struct gpu_readings *out, struct err *err)
{
    double number = 0;
    return nvml_field_read(sensor, field, &number, err) &&
           set_nvml_reading(out, which, number / scale, "nvmlDeviceGetFieldValues", err);
}

static bool power_average(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err)
{
    return nvml_whole(sensor, err) &&
           set_field(sensor, NVML_FIELD_POWER_AVERAGE, 1000, GPU_POWER_AVERAGE_W, out, err);
}

static bool power_instant(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err)
{
    return nvml_whole(sensor, err) &&
           set_field(sensor, NVML_FIELD_POWER_INSTANT, 1000, GPU_POWER_INSTANT_W, out, err);
}

static bool power_usage(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err)
{
    static const char *const function = "nvmlDeviceGetPowerUsage";
    unsigned mw = 0;
    return nvml_whole(sensor, err) && NVML_CALL(sensor, power_usage, function, err, &mw) &&
           set_nvml_reading(out, GPU_POWER_USAGE_W, mw / 1000.0, function, err);
}

static bool power_limit(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err)
{
    static const char *const function = "nvmlDeviceGetEnforcedPowerLimit";
    unsigned mw = 0;
    return NVML_CALL(sensor, power_limit, function, err, &mw) &&
           set_nvml_reading(out, GPU_POWER_LIMIT_W, mw / 1000.0, function, err);
}

static bool temperature(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err)
{
    static const char *const function = "nvmlDeviceGetTemperature";
    const struct nvml *api = sensor->api;
    unsigned celsius = 0;
    struct nvml_temperature newer = {.version = NVML_VERSION(struct nvml_temperature, 1),
                                     .sensor = NVML_TEMPERATURE_GPU};
    int result = NVML_ERROR_FUNCTION_NOT_FOUND;
    /* The older function is deprecated and may go; the newer one came with driver 560. */
    if (api->temperature)
        result = api->temperature(sensor->device, NVML_TEMPERATURE_GPU, &celsius);
    newer.temperature = (int)celsius;
    if (result == NVML_ERROR_FUNCTION_NOT_FOUND && api->temperature_v)
        result = api->temperature_v(sensor->device, &newer);
    return nvml_good(api, result, function, err) &&
           set_nvml_reading(out, GPU_TEMPERATURE_C, newer.temperature, function, err);
}

static bool temperature_memory(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err)
{
    return set_field(sensor, NVML_FIELD_MEMORY_TEMP, 1, GPU_MEMORY_TEMPERATURE_C, out, err);
}

static bool set_clock(struct gpu_sensor *sensor, unsigned type, enum gpu_reading which,
                      struct gpu_readings *out, struct err *err)
{
    static const char *const function = "nvmlDeviceGetClockInfo";
    unsigned mhz = 0;
    return NVML_CALL(sensor, clock, function, err, type, &mhz) &&
           set_nvml_reading(out, which, mhz, function, err);
}

static bool clock_sm(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err)
{
    return set_clock(sensor, NVML_CLOCK_SM, GPU_SM_CLOCK_MHZ, out, err);
}

static bool clock_memory(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err)
{
    return set_clock(sensor, NVML_CLOCK_MEM, GPU_MEMORY_CLOCK_MHZ, out, err);
}

static bool clock_reasons(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err)
{
    static const char *const function = "nvmlDeviceGetCurrentClocksEventReasons";
    unsigned long long bits = 0;
    return NVML_CALL(sensor, clock_reasons, function, err, &bits) &&
           set_nvml_reading(out, GPU_CLOCK_REASONS, (double)bits, function, err);
}

static bool utilisation(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err)
{
    static const char *const function = "nvmlDeviceGetUtilizationRates";
    struct nvml_utilization rates = {0};
    if (!NVML_CALL(sensor, utilization, function, err, &rates))
        return false;
    gpu_reading_set(out, GPU_MEMORY_UTILISATION_PERCENT, rates.memory);
    return set_nvml_reading(out, GPU_UTILISATION_PERCENT, rates.gpu, function, err);
}

static bool set_memory(unsigned long long used, unsigned long long total, const char *function,
                       struct gpu_readings *out, struct err *err)
{
    return used <= total
               ? set_nvml_reading(out, GPU_MEMORY_TOTAL_BYTES, (double)total, function, err) &&
                     set_nvml_reading(out, GPU_MEMORY_USED_BYTES, (double)used, function, err)
               : nvml_garbage(function, err);
}

static bool memory(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err)
{
    static const char *const function = "nvmlDeviceGetMemoryInfo";
    const struct nvml *api = sensor->api;
    struct nvml_memory_v2 split = {.version = NVML_VERSION(struct nvml_memory_v2, 2)};
    struct nvml_memory_v1 whole = {0};
    if (api->memory_v2 && api->memory_v2(sensor->device, &split) == NVML_SUCCESS) {
        if (!set_memory(split.used, split.total, "nvmlDeviceGetMemoryInfo_v2", out, err))
            return false;
        gpu_reading_set(out, GPU_MEMORY_RESERVED_BYTES, (double)split.reserved);
        return true;
    }
    return NVML_CALL(sensor, memory, function, err, &whole) &&
           set_memory(whole.used, whole.total, function, out, err);
}

static bool errors_ecc(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err)
{
    static const char *const function = "nvmlDeviceGetTotalEccErrors";
    unsigned long long count = 0;
    return NVML_CALL(sensor, ecc_errors, function, err, NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                     NVML_VOLATILE_ECC, &count) &&
           set_nvml_reading(out, GPU_ECC_UNCORRECTED, (double)count, function, err);
}

static const struct {
    const char *name;
    bool (*read)(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err);
} groups[] = {
    {"power.instant", power_instant},
    {"power.average", power_average},
    {"power.usage", power_usage},
    {"power.limit", power_limit},
    {"temperature.gpu", temperature},
    {"temperature.memory", temperature_memory},
    {"clock.sm", clock_sm},
    {"clock.memory", clock_memory},
    {"clock.reasons", clock_reasons},
    {"utilisation", utilisation},
    {"memory", memory},
    {"errors.ecc", errors_ecc},
    {"errors.xid", nvml_xid_read},
};
_Static_assert(sizeof groups / sizeof *groups == NVML_GROUP_COUNT, "one row a group");

const char *nvml_group_name(size_t group)
{
    return groups[group].name;
}

bool nvml_group_read(struct gpu_sensor *sensor, size_t group, struct gpu_readings *out,
                     struct err *err)
{
    return groups[group].read(sensor, out, err);
}
