#include "machine/gpu/sensor.h"

#include "base/mem.h"

#include <errno.h>
#include <math.h>

#define ROW(which, called, in, from, to, ...) \
    [which] = {.name = called, .unit = in, .low = from, .high = to, __VA_ARGS__},
const struct gpu_reading_row gpu_reading_rows[GPU_READING_COUNT] = {GPU_READINGS(ROW)};
#undef ROW

#define ROW(...) {__VA_ARGS__},
const struct gpu_curve gpu_curves[GPU_CURVE_COUNT] = {GPU_CURVES(ROW)};
#undef ROW

#define ROW(member, ...) {#member, __VA_ARGS__},
const struct gpu_figure gpu_figures[GPU_FIGURE_COUNT] = {GPU_FIGURES(ROW)};

static const char *const reasons[] = {"idle",        "application-setting", "power-cap",
                                      "hw-slowdown", "sync-boost",          "sw-thermal",
                                      "hw-thermal",  "power-brake",         "display-setting"};

bool gpu_reading_set(struct gpu_readings *readings, enum gpu_reading which, double value)
{
    bool valid = isfinite(value) && value >= gpu_reading_rows[which].low &&
                 value <= gpu_reading_rows[which].high;
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

bool gpu_readings_take(const struct gpu_backend *backend, struct gpu_sensor *sensor,
                       struct gpu_readings *out, struct err *err)
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
    static const enum gpu_reading order[] = {GPU_POWER_INSTANT_W, GPU_POWER_USAGE_W,
                                             GPU_POWER_AVERAGE_W};
    EACH_OF (item, order)
        if (readings->of[*item].valid)
            return readings->of[*item];
    return (struct reading){0};
}
