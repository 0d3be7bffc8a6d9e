#include "machine/gpu/nvml.h"

#include "base/utf8.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const LIBRARY = "libnvidia-ml.so.1"; /* the name that every driver installs */

enum need { REQUIRED, OPTIONAL };

struct symbol {
    const char *name, *older; /* older: the same function under an earlier name, or NULL */
    size_t offset;
    enum need need;
};

#define FIELD(member) offsetof(struct nvml, member)

static const struct symbol symbols[] = {
    {"tareFakeDriver", NULL, FIELD(fake), OPTIONAL},
    {"nvmlInit_v2", "nvmlInit", FIELD(init), REQUIRED},
    {"nvmlShutdown", NULL, FIELD(shutdown), OPTIONAL},
    {"nvmlErrorString", NULL, FIELD(error_string), OPTIONAL},
    {"nvmlSystemGetDriverVersion", NULL, FIELD(driver_version), OPTIONAL},
    {"nvmlSystemGetNVMLVersion", NULL, FIELD(library_version), OPTIONAL},
    {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount", FIELD(count), REQUIRED},
    {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex", FIELD(by_index), REQUIRED},
    {"nvmlDeviceGetHandleByUUID", NULL, FIELD(by_uuid), OPTIONAL},
    {"nvmlDeviceGetIndex", NULL, FIELD(index), OPTIONAL},
    {"nvmlDeviceGetMinorNumber", NULL, FIELD(minor), OPTIONAL},
    {"nvmlDeviceGetName", NULL, FIELD(name), OPTIONAL},
    {"nvmlDeviceGetUUID", NULL, FIELD(uuid), REQUIRED},
    {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", FIELD(pci), OPTIONAL},
    {"nvmlDeviceGetMigMode", NULL, FIELD(mig_mode), OPTIONAL},
    {"nvmlDeviceIsMigDeviceHandle", NULL, FIELD(is_mig_part), OPTIONAL},
    {"nvmlDeviceGetPersistenceMode", NULL, FIELD(persistence), OPTIONAL},
    {"nvmlDeviceGetTotalEnergyConsumption", NULL, FIELD(energy), OPTIONAL},
    {"nvmlDeviceGetPowerUsage", NULL, FIELD(power_usage), OPTIONAL},
    {"nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementLimit", FIELD(power_limit), OPTIONAL},
    {"nvmlDeviceGetTemperature", NULL, FIELD(temperature), OPTIONAL},
    {"nvmlDeviceGetTemperatureV", NULL, FIELD(temperature_v), OPTIONAL},
    {"nvmlDeviceGetClockInfo", NULL, FIELD(clock), OPTIONAL},
    {"nvmlDeviceGetMaxClockInfo", NULL, FIELD(clock_max), OPTIONAL},
    {"nvmlDeviceGetApplicationsClock", NULL, FIELD(clock_application), OPTIONAL},
    {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons", FIELD(clock_reasons),
     OPTIONAL},
    {"nvmlDeviceGetUtilizationRates", NULL, FIELD(utilization), OPTIONAL},
    {"nvmlDeviceGetMemoryInfo", NULL, FIELD(memory), OPTIONAL},
    {"nvmlDeviceGetMemoryInfo_v2", NULL, FIELD(memory_v2), OPTIONAL},
    {"nvmlDeviceGetFieldValues", NULL, FIELD(fields), OPTIONAL},
    {"nvmlDeviceGetTotalEccErrors", NULL, FIELD(ecc_errors), OPTIONAL},
    {"nvmlDeviceGetSamples", NULL, FIELD(samples), OPTIONAL},
    {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2", FIELD(compute), OPTIONAL},
    {"nvmlDeviceGetComputeRunningProcesses", NULL, FIELD(compute_v1), OPTIONAL},
    {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2", FIELD(graphics), OPTIONAL},
    {"nvmlDeviceGetGraphicsRunningProcesses", NULL, FIELD(graphics_v1), OPTIONAL},
    {"nvmlDeviceGetProcessUtilization", NULL, FIELD(shares), OPTIONAL},
    {"nvmlEventSetCreate", NULL, FIELD(events_create), OPTIONAL},
    {"nvmlDeviceRegisterEvents", NULL, FIELD(events_register), OPTIONAL},
    {"nvmlEventSetWait_v2", "nvmlEventSetWait", FIELD(events_wait), OPTIONAL},
    {"nvmlEventSetFree", NULL, FIELD(events_free), OPTIONAL},
};

bool nvml_load(const char *path, struct nvml *out, struct err *err)
{
    *out = (struct nvml){0};
    void *library = dlopen(path ? path : LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return err_set(err, "load NVIDIA's library: %s", dlerror());
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        const struct symbol *symbol = &symbols[i];
        void *address = dlsym(library, symbol->name);
        if (!address && symbol->older)
            address = dlsym(library, symbol->older);
        if (!address && symbol->need == REQUIRED) {
            dlclose(library);
            return err_set(err, "%s has no %s: this NVIDIA driver is too old", path ? path : LIBRARY, symbol->name);
        }
        memcpy((char *)out + symbol->offset, &address, sizeof address);
    }
    out->library = library;
    return true;
}

enum gpu_library nvml_library_kind(const char *path)
{
    void *library = dlopen(path ? path : LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return GPU_LIBRARY_NONE;
    bool fake = dlsym(library, "tareFakeDriver") != NULL;
    dlclose(library);
    return fake ? GPU_LIBRARY_FAKE : GPU_LIBRARY_REAL;
}

void nvml_unload(struct nvml *api)
{
    if (api->library)
        dlclose(api->library);
    *api = (struct nvml){0};
}

static int code_of(int result)
{
    switch (result) {
    case NVML_ERROR_GPU_IS_LOST:
    case NVML_ERROR_RESET_REQUIRED:
    case NVML_ERROR_DRIVER_NOT_LOADED:
        return ENODEV;
    case NVML_ERROR_NOT_SUPPORTED:
        return ENOTSUP;
    case NVML_ERROR_FUNCTION_NOT_FOUND:
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
        return ENOSYS;
    case NVML_ERROR_NO_PERMISSION:
        return EACCES;
    case NVML_ERROR_NOT_FOUND:
        return ENOENT;
    default:
        return EIO;
    }
}

static bool fail_as(struct err *err, int code, const char *text)
{
    err_set(err, "%s", text);
    if (err)
        err->code = code;
    return false;
}

bool nvml_fail(const struct nvml *api, int result, const char *function, struct err *err)
{
    char text[GPU_TEXT_SIZE] = "", line[300];
    const char *told = api->error_string ? api->error_string(result) : NULL;
    if (told)
        nvml_text(text, told, strnlen(told, GPU_TEXT_SIZE));
    snprintf(line, sizeof line, "%s: %s (NVML error %d)", function, text[0] ? text : "failed", result);
    return fail_as(err, code_of(result), line);
}

bool nvml_lacks(const char *function, struct err *err)
{
    char line[300];
    snprintf(line, sizeof line, "%s: this NVIDIA driver's library has no such function", function);
    return fail_as(err, ENOSYS, line);
}

bool nvml_garbage(const char *function, struct err *err)
{
    char line[300];
    snprintf(line, sizeof line, "%s: gave a value that cannot be", function);
    return fail_as(err, EBADMSG, line);
}

bool nvml_whole(const struct gpu_sensor *sensor, struct err *err)
{
    if (sensor->mig == GPU_MIG_PART)
        return fail_as(err, ENOTSUP, "a part of a GPU (MIG): only the whole board's energy can be measured");
    if (sensor->mig == GPU_MIG_ON)
        return fail_as(err, ENOTSUP, "this GPU is divided (MIG): the board's energy is not that of a part");
    return true;
}

void nvml_text(char out[GPU_TEXT_SIZE], const char *text, size_t size)
{
    size_t n = 0;
    for (; n < size && n < GPU_TEXT_SIZE - 1 && text[n]; n++)
        out[n] = text[n];
    out[n] = '\0';
    utf8_make_printable(out, "");
}

bool nvml_number(unsigned type, const union nvml_value *value, double *out)
{
    switch (type) {
    case NVML_VALUE_DOUBLE:
        *out = value->real;
        return true;
    case NVML_VALUE_UNSIGNED_INT:
        *out = value->natural;
        return true;
    case NVML_VALUE_UNSIGNED_LONG:
        *out = (double)value->natural_long;
        return true;
    case NVML_VALUE_UNSIGNED_LONG_LONG:
        *out = (double)value->natural_longer;
        return true;
    case NVML_VALUE_SIGNED_LONG_LONG:
        *out = (double)value->integer_longer;
        return true;
    case NVML_VALUE_SIGNED_INT:
        *out = value->integer;
        return true;
    case NVML_VALUE_UNSIGNED_SHORT:
        *out = value->natural_short;
        return true;
    default:
        return false;
    }
}
