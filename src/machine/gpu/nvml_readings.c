#include "machine/gpu/nvml.h"

#include <string.h>

/* Milliwatts, from a function that gives nothing else. */
static bool set_mw(struct gpu_sensor *sensor, int (*call)(nvml_device, unsigned *), enum gpu_reading which,
                   const char *function, struct gpu_readings *out, struct err *err)
{
    unsigned mw = 0;
    if (!call)
        return nvml_lacks(function, err);
    int result = call(sensor->device, &mw);
    if (result != NVML_SUCCESS)
        return nvml_fail(sensor->api, result, function, err);
    return gpu_reading_set(out, which, mw / 1000.0) || nvml_garbage(function, err);
}

/* One of the numbered fields, in units of 1/scale. */
static bool set_field(struct gpu_sensor *sensor, unsigned field, double scale, enum gpu_reading which,
                      struct gpu_readings *out, struct err *err)
{
    static const char *const function = "nvmlDeviceGetFieldValues";
    struct nvml_field value = {.field = field, .result = NVML_ERROR_NOT_SUPPORTED};
    double number;
    if (!sensor->api->fields)
        return nvml_lacks(function, err);
    int result = sensor->api->fields(sensor->device, 1, &value);
    if (result == NVML_SUCCESS)
        result = value.result;
    if (result != NVML_SUCCESS) {
        nvml_fail(sensor->api, result, function, err);
        return err_wrap(err, "field %u", field);
    }
    return (nvml_number(value.type, &value.value, &number) && gpu_reading_set(out, which, number / scale)) ||
           nvml_garbage(function, err);
}

static bool power_average(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err)
{
    return nvml_whole(sensor, err) && set_field(sensor, NVML_FIELD_POWER_AVERAGE, 1000, GPU_POWER_AVERAGE_W, out, err);
}

static bool power_instant(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err)
{
    return nvml_whole(sensor, err) && set_field(sensor, NVML_FIELD_POWER_INSTANT, 1000, GPU_POWER_INSTANT_W, out, err);
}

static bool power_usage(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err)
{
    return nvml_whole(sensor, err) &&
           set_mw(sensor, sensor->api->power_usage, GPU_POWER_USAGE_W, "nvmlDeviceGetPowerUsage", out, err);
}

static bool power_limit(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err)
{
    return set_mw(sensor, sensor->api->power_limit, GPU_POWER_LIMIT_W, "nvmlDeviceGetEnforcedPowerLimit", out, err);
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
    if (result != NVML_SUCCESS)
        return nvml_fail(api, result, function, err);
    return gpu_reading_set(out, GPU_TEMPERATURE_C, newer.temperature) || nvml_garbage(function, err);
}

static bool temperature_memory(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err)
{
    return set_field(sensor, NVML_FIELD_MEMORY_TEMP, 1, GPU_MEMORY_TEMPERATURE_C, out, err);
}

static bool set_clock(struct gpu_sensor *sensor, unsigned type, enum gpu_reading which, struct gpu_readings *out,
                      struct err *err)
{
    static const char *const function = "nvmlDeviceGetClockInfo";
    unsigned mhz = 0;
    if (!sensor->api->clock)
        return nvml_lacks(function, err);
    int result = sensor->api->clock(sensor->device, type, &mhz);
    if (result != NVML_SUCCESS)
        return nvml_fail(sensor->api, result, function, err);
    return gpu_reading_set(out, which, mhz) || nvml_garbage(function, err);
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
    if (!sensor->api->clock_reasons)
        return nvml_lacks(function, err);
    int result = sensor->api->clock_reasons(sensor->device, &bits);
    if (result != NVML_SUCCESS)
        return nvml_fail(sensor->api, result, function, err);
    return gpu_reading_set(out, GPU_CLOCK_REASONS, (double)bits) || nvml_garbage(function, err);
}

static bool utilisation(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err)
{
    static const char *const function = "nvmlDeviceGetUtilizationRates";
    struct nvml_utilization rates = {0};
    if (!sensor->api->utilization)
        return nvml_lacks(function, err);
    int result = sensor->api->utilization(sensor->device, &rates);
    if (result != NVML_SUCCESS)
        return nvml_fail(sensor->api, result, function, err);
    gpu_reading_set(out, GPU_MEMORY_UTILISATION_PERCENT, rates.memory);
    return gpu_reading_set(out, GPU_UTILISATION_PERCENT, rates.gpu) || nvml_garbage(function, err);
}

static bool set_memory(unsigned long long used, unsigned long long total, const char *function,
                       struct gpu_readings *out, struct err *err)
{
    if (used > total || !gpu_reading_set(out, GPU_MEMORY_TOTAL_BYTES, (double)total))
        return nvml_garbage(function, err);
    return gpu_reading_set(out, GPU_MEMORY_USED_BYTES, (double)used) || nvml_garbage(function, err);
}

static bool memory(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err)
{
    const struct nvml *api = sensor->api;
    struct nvml_memory_v2 split = {.version = NVML_VERSION(struct nvml_memory_v2, 2)};
    struct nvml_memory_v1 whole = {0};
    if (api->memory_v2 && api->memory_v2(sensor->device, &split) == NVML_SUCCESS) {
        if (!set_memory(split.used, split.total, "nvmlDeviceGetMemoryInfo_v2", out, err))
            return false;
        gpu_reading_set(out, GPU_MEMORY_RESERVED_BYTES, (double)split.reserved);
        return true;
    }
    if (!api->memory)
        return nvml_lacks("nvmlDeviceGetMemoryInfo", err);
    int result = api->memory(sensor->device, &whole);
    if (result != NVML_SUCCESS)
        return nvml_fail(api, result, "nvmlDeviceGetMemoryInfo", err);
    return set_memory(whole.used, whole.total, "nvmlDeviceGetMemoryInfo", out, err);
}

static bool errors_ecc(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err)
{
    static const char *const function = "nvmlDeviceGetTotalEccErrors";
    unsigned long long count = 0;
    if (!sensor->api->ecc_errors)
        return nvml_lacks(function, err);
    int result = sensor->api->ecc_errors(sensor->device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, &count);
    if (result != NVML_SUCCESS)
        return nvml_fail(sensor->api, result, function, err);
    return gpu_reading_set(out, GPU_ECC_UNCORRECTED, (double)count) || nvml_garbage(function, err);
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

bool nvml_group_read(struct gpu_sensor *sensor, size_t group, struct gpu_readings *out, struct err *err)
{
    return groups[group].read(sensor, out, err);
}
