/* What goes over a GPU's PCIe link: NVML API Reference Guide, NVML_FI_DEV_PCIE_COUNT_TX_BYTES and _RX_BYTES. */
#include "base/clock.h"
#include "machine/gpu/nvml.h"

#include <time.h>

/* The counters have 32 bits, which a fast link passes through ten times a second (measured on an H200). Over this
 * time it cannot. */
static const int64_t APART_NS = 20 * NS_PER_MS;
static const double WRAP_BYTES = 4294967296.0;

struct look {
    int64_t t_ns;
    double bytes[2];
    unsigned type[2];
};

static bool take(struct gpu_sensor *sensor, struct look *out, struct err *err)
{
    static const char *const function = "nvmlDeviceGetFieldValues";
    struct nvml_field values[] = {{.field = NVML_FIELD_PCIE_SENT, .result = NVML_ERROR_NOT_SUPPORTED},
                                  {.field = NVML_FIELD_PCIE_RECEIVED, .result = NVML_ERROR_NOT_SUPPORTED}};
    if (!sensor->api->fields)
        return nvml_lacks(function, err);
    int64_t before_ns = clock_monotonic_ns();
    int result = sensor->api->fields(sensor->device, 2, values);
    out->t_ns = before_ns + (clock_monotonic_ns() - before_ns) / 2;
    for (int i = 0; i < 2; i++) {
        int one = result == NVML_SUCCESS ? values[i].result : result;
        if (one != NVML_SUCCESS) {
            nvml_fail(sensor->api, one, function, err);
            return err_wrap(err, "field %u", values[i].field);
        }
        out->type[i] = values[i].type;
        if (!nvml_number(values[i].type, &values[i].value, &out->bytes[i]))
            return nvml_garbage(function, err);
    }
    return true;
}

bool nvml_link(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err)
{
    static const enum gpu_reading of[] = {GPU_PCIE_SENT_BYTES_S, GPU_PCIE_RECEIVED_BYTES_S};
    struct look from, to;
    if (!take(sensor, &from, err))
        return false;
    nanosleep(&(struct timespec){.tv_nsec = APART_NS}, NULL);
    if (!take(sensor, &to, err))
        return false;
    for (int i = 0; i < 2; i++) {
        double bytes = to.bytes[i] - from.bytes[i];
        if (bytes < 0 && to.type[i] == NVML_VALUE_UNSIGNED_INT)
            bytes += WRAP_BYTES;
        if (bytes >= 0 && to.t_ns > from.t_ns)
            gpu_reading_set(out, of[i], bytes * (double)NS_PER_S / (double)(to.t_ns - from.t_ns));
    }
    return true;
}
