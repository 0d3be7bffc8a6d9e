#include "machine/gpu/sensor.h"

#include <errno.h>
#include <math.h>

/* The bounds are far beyond any GPU: they only keep out what an uninitialised or torn answer looks like. */
#define POWER_MAX_W      20000
#define TEMPERATURE_MIN  (-60)
#define TEMPERATURE_MAX  200
#define CLOCK_MAX_MHZ    100000
#define MEMORY_MAX_BYTES 1e15
#define EXACT_MAX        9007199254740991.0 /* up to there a double holds every whole number */
#define LINK_MAX         1e13

static const struct {
    const char *name, *unit;
    double low, high;
} rows[GPU_READING_COUNT] = {
    [GPU_POWER_AVERAGE_W] = {"power.average", "W", 0, POWER_MAX_W},
    [GPU_POWER_INSTANT_W] = {"power.instant", "W", 0, POWER_MAX_W},
    [GPU_POWER_USAGE_W] = {"power.usage", "W", 0, POWER_MAX_W},
    [GPU_POWER_LIMIT_W] = {"power.limit", "W", 0, POWER_MAX_W},
    [GPU_TEMPERATURE_C] = {"temperature.gpu", "C", TEMPERATURE_MIN, TEMPERATURE_MAX},
    [GPU_MEMORY_TEMPERATURE_C] = {"temperature.memory", "C", TEMPERATURE_MIN, TEMPERATURE_MAX},
    [GPU_SM_CLOCK_MHZ] = {"clock.sm", "MHz", 0, CLOCK_MAX_MHZ},
    [GPU_MEMORY_CLOCK_MHZ] = {"clock.memory", "MHz", 0, CLOCK_MAX_MHZ},
    [GPU_CLOCK_REASONS] = {"clock.reasons", "", 0, EXACT_MAX},
    [GPU_UTILISATION_PERCENT] = {"utilisation.gpu", "%", 0, 100},
    [GPU_MEMORY_UTILISATION_PERCENT] = {"utilisation.memory", "%", 0, 100},
    [GPU_MEMORY_USED_BYTES] = {"memory.used", "bytes", 0, MEMORY_MAX_BYTES},
    [GPU_MEMORY_TOTAL_BYTES] = {"memory.total", "bytes", 1, MEMORY_MAX_BYTES},
    [GPU_MEMORY_RESERVED_BYTES] = {"memory.reserved", "bytes", 0, MEMORY_MAX_BYTES},
    [GPU_ECC_UNCORRECTED] = {"errors.ecc", "", 0, EXACT_MAX},
    [GPU_XID_COUNT] = {"errors.xid", "", 0, EXACT_MAX},
    [GPU_XID_LAST] = {"errors.xid_last", "", 0, EXACT_MAX},
    [GPU_PCIE_SENT_BYTES_S] = {"pcie.sent", "bytes/s", 0, LINK_MAX},
    [GPU_PCIE_RECEIVED_BYTES_S] = {"pcie.received", "bytes/s", 0, LINK_MAX},
};

static const char *const reasons[] = {"idle",        "application-setting", "power-cap",
                                      "hw-slowdown", "sync-boost",          "sw-thermal",
                                      "hw-thermal",  "power-brake",         "display-setting"};

const char *gpu_reading_name(enum gpu_reading which)
{
    return rows[which].name;
}

const char *gpu_reading_unit(enum gpu_reading which)
{
    return rows[which].unit;
}

bool gpu_reading_set(struct gpu_readings *readings, enum gpu_reading which, double value)
{
    bool valid = isfinite(value) && value >= rows[which].low && value <= rows[which].high;
    readings->of[which] = (struct reading){.value = valid ? value : 0, .valid = valid};
    return valid;
}

const char *gpu_clock_reason_name(uint64_t bit)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (bit == UINT64_C(1) << i)
            return reasons[i];
    return NULL;
}

bool gpu_readings_take(const struct gpu_backend *backend, struct gpu_sensor *sensor, struct gpu_readings *out,
                       struct err *err)
{
    *out = (struct gpu_readings){0};
    for (size_t group = 0; group < backend->group_count; group++) {
        struct err why = {0};
        if (!backend->group_read(sensor, group, out, &why) && why.code == ENODEV) {
            if (err)
                *err = why;
            return false;
        }
    }
    return true;
}

struct reading gpu_readings_power_w(const struct gpu_readings *readings)
{
    static const enum gpu_reading order[] = {GPU_POWER_INSTANT_W, GPU_POWER_USAGE_W, GPU_POWER_AVERAGE_W};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (readings->of[order[i]].valid)
            return readings->of[order[i]];
    return (struct reading){0};
}
