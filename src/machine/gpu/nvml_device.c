/* Opens NVIDIA's GPUs through NVML and reads their properties. */
#include "base/mem.h"
#include "machine/gpu/nvml_readings.h"
#include "machine/gpu/nvml_trace.h"
#include "machine/gpu/nvml_users.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct gpu_driver *driver_open(const char *library, struct err *err)
{
    struct gpu_driver *driver = mem_alloc(sizeof *driver);
    if (!nvml_load(library, &driver->api, err)) {
        free(driver);
        return NULL;
    }
    int result = driver->api.init();
    if (result == NVML_SUCCESS)
        return driver;
    nvml_fail(&driver->api, result, "nvmlInit", err);
    nvml_unload(&driver->api);
    free(driver);
    return NULL;
}

static void driver_close(struct gpu_driver *driver)
{
    if (!driver)
        return;
    if (driver->api.shutdown)
        driver->api.shutdown();
    nvml_unload(&driver->api);
    free(driver);
}

static bool driver_count(struct gpu_driver *driver, uint32_t *out, struct err *err)
{
    unsigned count = 0;
    bool good = nvml_good(&driver->api, driver->api.count(&count), "nvmlDeviceGetCount", err);
    if (good)
        *out = count;
    return good;
}

static enum gpu_mig mig_of(const struct nvml *api, nvml_device device)
{
    unsigned part = 0, current = 0, pending = 0;
    if (api->is_mig_part && api->is_mig_part(device, &part) == NVML_SUCCESS && part)
        return GPU_MIG_PART;
    if (!api->mig_mode)
        return GPU_MIG_OFF; /* older than MIG */
    int result = api->mig_mode(device, &current, &pending);
    if (result == NVML_ERROR_NOT_SUPPORTED)
        return GPU_MIG_OFF;
    if (result != NVML_SUCCESS)
        return GPU_MIG_UNKNOWN;
    return current == NVML_DEVICE_MIG_ENABLE ? GPU_MIG_ON : GPU_MIG_OFF;
}

static bool find_device_handle(const struct nvml *api, const char *device, nvml_device *out,
                               struct err *err)
{
    bool by_index =
        device[0] != '\0' && strlen(device) < 10 && device[strspn(device, "0123456789")] == '\0';
    const char *function = by_index ? "nvmlDeviceGetHandleByIndex" : "nvmlDeviceGetHandleByUUID";
    if (!by_index && !api->by_uuid)
        return nvml_lacks(function, err);
    int result = by_index ? api->by_index((unsigned)strtoul(device, NULL, 10), out)
                          : api->by_uuid(device, out);
    if (result == NVML_SUCCESS && *out)
        return true;
    nvml_fail(api, result, function, err);
    return err_wrap(err, "GPU %s", device);
}

static struct gpu_sensor *sensor_open(struct gpu_driver *driver, const char *device,
                                      struct err *err)
{
    nvml_device handle = NULL;
    if (!find_device_handle(&driver->api, device, &handle, err))
        return NULL;
    struct gpu_sensor *sensor = mem_alloc(sizeof *sensor);
    sensor->api = &driver->api;
    sensor->device = handle;
    sensor->mig = mig_of(sensor->api, handle);
    return sensor;
}

static void sensor_close(struct gpu_sensor *sensor)
{
    if (!sensor)
        return;
    nvml_xid_end(sensor);
    free(sensor);
}

typedef int clock_fn(nvml_device device, unsigned type, unsigned *mhz);

/* None has so much: garbage. */
enum { CLOCK_MOST_MHZ = 100000 };

static uint32_t clock_of(nvml_device device, clock_fn *call, unsigned type)
{
    unsigned mhz = 0;
    return call && call(device, type, &mhz) == NVML_SUCCESS && mhz <= CLOCK_MOST_MHZ ? mhz : 0;
}

static struct gpu_clocks clocks_of(const struct nvml *api, nvml_device device)
{
    return (struct gpu_clocks){
        .sm_max_mhz = clock_of(device, api->clock_max, NVML_CLOCK_SM),
        .memory_max_mhz = clock_of(device, api->clock_max, NVML_CLOCK_MEM),
        .sm_application_mhz = clock_of(device, api->clock_application, NVML_CLOCK_SM),
        .memory_application_mhz = clock_of(device, api->clock_application, NVML_CLOCK_MEM),
    };
}

/* What a GPU cannot have, it does not have. */
static enum gpu_answer answer_of(int result, bool yes)
{
    if (result == NVML_ERROR_NOT_SUPPORTED)
        return GPU_ANSWER_NO;
    if (result != NVML_SUCCESS)
        return GPU_ANSWER_UNKNOWN;
    return yes ? GPU_ANSWER_YES : GPU_ANSWER_NO;
}

static void identify_use(struct gpu_sensor *sensor, struct gpu_identity *out)
{
    const struct nvml *api = sensor->api;
    unsigned mode = 0, on = 0;
    int missing = NVML_ERROR_FUNCTION_NOT_FOUND;
    int result = api->virtualization ? api->virtualization(sensor->device, &mode) : missing;
    out->shared_by_host = answer_of(result, mode > NVML_VIRTUALIZATION_PASSTHROUGH);
    result = api->display ? api->display(sensor->device, &on) : missing;
    out->display = answer_of(result, on != 0);
}

static void identify(struct gpu_sensor *sensor, struct gpu_identity *out)
{
    const struct nvml *api = sensor->api;
    char text[GPU_TEXT_SIZE] = "";
    unsigned index = 0, on = 0;
    struct nvml_pci pci = {0};
    unsigned minor = 0;
    *out = (struct gpu_identity){
        .index = UINT32_MAX, .mig = sensor->mig, .clocks = clocks_of(api, sensor->device)};
    if (api->index && api->index(sensor->device, &index) == NVML_SUCCESS)
        out->index = index;
    if (api->persistence && api->persistence(sensor->device, &on) == NVML_SUCCESS)
        out->persistence = on ? GPU_PERSISTENCE_ON : GPU_PERSISTENCE_OFF;
    identify_use(sensor, out);
    out->minor = -1;
    if (api->minor && api->minor(sensor->device, &minor) == NVML_SUCCESS && minor <= INT32_MAX)
        out->minor = (int32_t)minor;
    if (api->name && api->name(sensor->device, text, sizeof text) == NVML_SUCCESS)
        nvml_text(out->name, text, sizeof text);
    if (api->uuid(sensor->device, text, sizeof text) == NVML_SUCCESS)
        nvml_text(out->uuid, text, sizeof text);
    if (api->board && api->board(sensor->device, text, sizeof text) == NVML_SUCCESS)
        nvml_text(out->board, text, sizeof text);
    if (api->firmware && api->firmware(sensor->device, text, sizeof text) == NVML_SUCCESS)
        nvml_text(out->firmware, text, sizeof text);
    if (api->pci && api->pci(sensor->device, &pci) == NVML_SUCCESS)
        nvml_text(out->pci, pci.bus_id, sizeof pci.bus_id);
    if (api->driver_version && api->driver_version(text, sizeof text) == NVML_SUCCESS)
        nvml_text(out->driver, text, sizeof text);
    if (api->library_version && api->library_version(text, sizeof text) == NVML_SUCCESS)
        nvml_text(out->library, text, sizeof text);
}

static bool counter(struct gpu_sensor *sensor, uint64_t *energy_mj, struct err *err)
{
    static const char *const function = "nvmlDeviceGetTotalEnergyConsumption";
    unsigned long long mj = NVML_NOT_AVAILABLE;
    if (!nvml_whole(sensor, err) || !NVML_CALL(sensor, energy, function, err, &mj))
        return false;
    if (mj >= UINT64_C(1) << 53) /* 285 years at a kilowatt */
        return nvml_garbage(function, err);
    *energy_mj = mj;
    return true;
}

const struct gpu_backend nvml_backend = {
    .name = "nvml",
    .library_kind = nvml_library_kind,
    .open = driver_open,
    .close = driver_close,
    .count = driver_count,
    .sensor_open = sensor_open,
    .sensor_close = sensor_close,
    .identify = identify,
    .counter = counter,
    .trace = nvml_trace,
    .users = nvml_users,
    .all_users = nvml_all_users,
    .group_count = NVML_GROUP_COUNT,
    .group_name = nvml_group_name,
    .group_read = nvml_group_read,
};
