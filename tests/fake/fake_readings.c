/* What the GPUs read. */
#include "fake.h"
#include "planted.h"

#include <stdio.h>

/* The scripted load and that of the processes there. */
static double power_now(nvmlDevice_t device)
{
    const struct fake_gpu *gpu = &scenario.gpus[number_of(device)];
    struct fake_load load;
    int64_t t_ns = now_ns();
    fake_users_load(&scenario, number_of(device), t_ns, &load);
    return fake_power_w(gpu, fake_update_ns(gpu, t_ns)) + fake_load_power_w(&load, t_ns);
}

static bool busy(nvmlDevice_t device)
{
    return power_now(device) > scenario.gpus[number_of(device)].idle_w + 20;
}

EXPORT nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *out);
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *out)
{
    ENTER("nvmlDeviceGetPowerUsage", device);
    *out = garbage ? ~0U : (unsigned)(power_now(device) * 1000);
    return OK;
}

EXPORT nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned sensor, unsigned *out);
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned sensor, unsigned *out)
{
    ENTER("nvmlDeviceGetTemperature", device);
    if (sensor != 0)
        return INVALID;
    *out = garbage ? 4000
                   : (unsigned)(fake_temperature_c(gpu, now_ns()) +
                                fake_planted(&scenario, "heat", number_of(device)) + 0.5);
    return OK;
}

EXPORT nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, unsigned type, unsigned *out);
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, unsigned type, unsigned *out)
{
    ENTER("nvmlDeviceGetClockInfo", device);
    if (type > 3)
        return INVALID;
    unsigned sm = busy(device) ? 1980 : 345, memory = busy(device) ? 3201 : 2619;
    *out = garbage ? ~0U : type == 2 ? memory : sm;
    return OK;
}

EXPORT nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, unsigned type, unsigned *out);
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, unsigned type, unsigned *out)
{
    ENTER("nvmlDeviceGetMaxClockInfo", device);
    if (type > 3)
        return INVALID;
    *out = garbage ? ~0U : (unsigned)(type == 2 ? gpu->memory_clock_max : gpu->sm_clock_max);
    return OK;
}

EXPORT nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t device, unsigned type,
                                                   unsigned *out);
nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t device, unsigned type, unsigned *out)
{
    ENTER("nvmlDeviceGetApplicationsClock", device);
    if (type > 3)
        return INVALID;
    int set = type == 2 ? gpu->memory_clock_application : gpu->sm_clock_application;
    if (set == 0)
        return UNSUPPORTED;
    *out = garbage ? ~0U : (unsigned)set;
    return OK;
}

EXPORT nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *out);
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *out)
{
    ENTER("nvmlDeviceGetUtilizationRates", device);
    *out = garbage        ? (nvmlUtilization_t){250, 999}
           : busy(device) ? (nvmlUtilization_t){97, 41}
                          : (nvmlUtilization_t){0, 0};
    return OK;
}

static ull memory_used(nvmlDevice_t device)
{
    struct fake_users users;
    fake_users_read(&scenario, number_of(device), &users);
    ull used = scenario.gpus[number_of(device)].leak +
               (ull)fake_planted(&scenario, "leak", number_of(device));
    for (int i = 0; i < users.count; i++)
        used += users.users[i].bytes;
    return used;
}

EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *out);
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *out)
{
    ENTER("nvmlDeviceGetMemoryInfo", device);
    out->total = garbage ? 5 : gpu->memory_total;
    out->used = memory_used(device) + gpu->memory_reserved;
    out->free = gpu->memory_total - out->used;
    return OK;
}

EXPORT nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, ull *out);
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, ull *out)
{
    ENTER("nvmlDeviceGetCurrentClocksEventReasons", device);
    double power = power_now(device);
    *out = garbage ? ~0ULL : power >= gpu->limit_w - 10 ? 0x4ULL : busy(device) ? 0 : 0x1ULL;
    if (!garbage)
        *out |= (ull)fake_planted(&scenario, "reasons", number_of(device));
    return OK;
}

EXPORT nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned *out);
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned *out)
{
    ENTER("nvmlDeviceGetEnforcedPowerLimit", device);
    double planted_w = fake_planted(&scenario, "limit", number_of(device));
    *out = garbage ? ~0U : (unsigned)((planted_w > 0 ? planted_w : gpu->limit_w) * 1000);
    return OK;
}

#ifndef FAKE_OLDER
EXPORT nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, ull *out);
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, ull *out)
{
    ENTER("nvmlDeviceGetTotalEnergyConsumption", device);
    struct fake_load load;
    pass(gpu->counter_cost_us / 2);
    int64_t t_ns = now_ns();
    fake_users_load(&scenario, number_of(device), t_ns, &load);
    double extra_j = fake_load_energy_j(&load, fake_update_ns(gpu, t_ns));
    *out = garbage ? ~0ULL : fake_counter_mj(gpu, t_ns) + (ull)(extra_j * 1000);
    pass(gpu->counter_cost_us / 2);
    return OK;
}

EXPORT nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *out);
nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *out)
{
    ENTER("nvmlDeviceGetTemperatureV", device);
    if (out->version != (sizeof *out | 1U << 24))
        return MISMATCH;
    out->temperature = (int)(fake_temperature_c(gpu, now_ns()) +
                             fake_planted(&scenario, "heat", number_of(device)) + 0.5);
    return OK;
}

EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *out);
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *out)
{
    ENTER("nvmlDeviceGetMemoryInfo_v2", device);
    if (out->version != (sizeof *out | 2U << 24))
        return MISMATCH;
    out->total = gpu->memory_total;
    out->reserved = gpu->memory_reserved;
    out->used = garbage ? gpu->memory_total * 2 : memory_used(device);
    out->free = out->total - out->used - out->reserved;
    return OK;
}

static nvmlReturn_t field(nvmlDevice_t device, nvmlFieldValue_t *value)
{
    char call[32];
    snprintf(call, sizeof call, "field:%u", value->fieldId);
    ENTER(call, device);
    struct fake_load load;
    int64_t t_ns = now_ns(), update_ns = fake_update_ns(gpu, t_ns);
    fake_users_load(&scenario, number_of(device), t_ns, &load);
    double extra_w = fake_load_power_w(&load, update_ns);
    double extra_j =
        fake_load_energy_j(&load, update_ns) - fake_load_energy_j(&load, update_ns - 1000000000);
    value->timestamp = wall_us(wall_offset_ns(), now_ns());
    value->valueType = garbage ? 77 : 1;
    switch (value->fieldId) {
    case 82:
        value->value.uiVal = (unsigned)(fake_temperature_c(gpu, now_ns()) + 6.5);
        return OK;
    case 185:
        value->value.uiVal =
            (unsigned)((fake_energy_j(gpu, update_ns - 1000000000, update_ns) + extra_j) * 1000);
        return OK;
    case 186:
        value->value.uiVal = (unsigned)((fake_power_w(gpu, update_ns) + extra_w) * 1000);
        return OK;
    default:
        return UNSUPPORTED;
    }
}

EXPORT nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int values,
                                             nvmlFieldValue_t *inout);
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int values, nvmlFieldValue_t *inout)
{
    ENTER("nvmlDeviceGetFieldValues", device);
    for (int i = 0; i < values; i++)
        inout[i].nvmlReturn = field(device, &inout[i]);
    return OK;
}

EXPORT nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, unsigned type,
                                                unsigned counter, ull *out);
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, unsigned type, unsigned counter,
                                         ull *out)
{
    ENTER("nvmlDeviceGetTotalEccErrors", device);
    if (type != 1 || counter != 0)
        return INVALID;
    *out = (ull)gpu->ecc;
    return OK;
}

/* Nonsense among the good ones: no stamp, one of the far future, one out of order, no power. */
static void spoil(nvmlSample_t *samples, unsigned number)
{
    if (number < 8)
        return;
    samples[1].timeStamp = 0;
    samples[3].timeStamp = ~0ULL / 3;
    samples[5].timeStamp = samples[2].timeStamp - 1;
    samples[6].sampleValue.uiVal = ~0U;
}

EXPORT nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, unsigned type, ull since_us,
                                         unsigned *value_type, unsigned *inout, nvmlSample_t *out);
nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, unsigned type, ull since_us,
                                  unsigned *value_type, unsigned *inout, nvmlSample_t *out)
{
    ENTER("nvmlDeviceGetSamples", device);
    if (type != 0)
        return UNSUPPORTED;
    unsigned room = *inout, number = 0;
    struct fake_load load;
    int64_t last = fake_sample_number(gpu, now_ns());
    fake_users_load(&scenario, number_of(device), now_ns(), &load);
    int64_t offset_ns = wall_offset_ns();
    *value_type = 1;
    if (!out) {
        *inout = (unsigned)gpu->sample_count;
        return OK;
    }
    for (int64_t k = last - gpu->sample_count + 1; k <= last && number < room; k++) {
        int64_t t_ns = fake_sample_ns(gpu, k);
        if ((ull)wall_us(offset_ns, t_ns) <= since_us)
            continue;
        out[number].timeStamp = (ull)wall_us(offset_ns, t_ns);
        out[number++].sampleValue.uiVal =
            (unsigned)((fake_power_w(gpu, t_ns) + fake_load_power_w(&load, t_ns)) * 1000 + 0.5);
    }
    if (garbage)
        spoil(out, number);
    *inout = number;
    return OK;
}
#endif
