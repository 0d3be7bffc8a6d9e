#include "machine/gpu/nvml.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const LIBRARY = "libnvidia-ml.so.1"; /* the name that every driver installs */

static const struct symbol {
    const char *name, *older;
    size_t offset;
    bool required;
} symbols[] = {{"tareFakeDriver", NULL, offsetof(struct nvml, fake), false},
               {"nvmlErrorString", NULL, offsetof(struct nvml, error_string), false},
#define X(member, name, older, parameters) {name, older, offsetof(struct nvml, member), true},
               NVML_REQUIRED(X)
#undef X
#define X(member, name, older, parameters) {name, older, offsetof(struct nvml, member), false},
                   NVML_OPTIONAL(X)
#undef X
};

bool nvml_load(const char *path, struct nvml *out, struct err *err)
{
    *out = (struct nvml){0};
    void *library = dlopen(path ? path : LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return err_set(err, "load NVIDIA's library: %s", dlerror());
    EACH_OF (symbol, symbols) {
        void *address = dlsym(library, symbol->name);
        if (!address && symbol->older)
            address = dlsym(library, symbol->older);
        if (!address && symbol->required) {
            dlclose(library);
            return err_set(err, "%s has no %s: this NVIDIA driver is too old",
                           path ? path : LIBRARY, symbol->name);
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

static int nvml_result_errno(int result)
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

static __attribute__((format(printf, 3, 4))) bool fail_as(struct err *err, int code,
                                                          const char *format, ...)
{
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    err_set(err, "%s", text);
    if (err)
        err->code = code;
    return false;
}

bool nvml_fail(const struct nvml *api, int result, const char *function, struct err *err)
{
    char text[GPU_TEXT_SIZE] = "";
    const char *told = api->error_string ? api->error_string(result) : NULL;
    if (told)
        nvml_text(text, told, strnlen(told, GPU_TEXT_SIZE));
    return fail_as(err, nvml_result_errno(result), "%s: %s (NVML error %d)", function,
                   text[0] ? text : "failed", result);
}

bool nvml_lacks(const char *function, struct err *err)
{
    return fail_as(err, ENOSYS, "%s: this NVIDIA driver's library has no such function", function);
}

bool nvml_garbage(const char *function, struct err *err)
{
    return fail_as(err, EBADMSG, "%s: gave a value that cannot be", function);
}

bool nvml_good(const struct nvml *api, int result, const char *function, struct err *err)
{
    return result == NVML_SUCCESS || nvml_fail(api, result, function, err);
}

bool nvml_whole(const struct gpu_sensor *sensor, struct err *err)
{
    if (sensor->mig == GPU_MIG_PART)
        return fail_as(err, ENOTSUP,
                       "a part of a GPU (MIG): only the whole board's energy can be measured");
    if (sensor->mig == GPU_MIG_ON)
        return fail_as(err, ENOTSUP,
                       "this GPU is divided (MIG): the board's energy is not that of a part");
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

bool nvml_field_read(struct gpu_sensor *sensor, unsigned field, double *out, struct err *err)
{
    static const char *const function = "nvmlDeviceGetFieldValues";
    struct nvml_field value = {.field = field, .result = NVML_ERROR_NOT_SUPPORTED};
    if (!sensor->api->fields)
        return nvml_lacks(function, err);
    int result = sensor->api->fields(sensor->device, 1, &value);
    if (!nvml_good(sensor->api, result == NVML_SUCCESS ? value.result : result, function, err))
        return err_wrap(err, "field %u", field);
    return nvml_number(value.type, &value.value, out) || nvml_garbage(function, err);
}

/* a storm of errors must not keep the meter from its other readings */
enum { EVENTS_AT_ONCE = 64 };

/* Called when events are first asked for: a list of memory users needs no registration. */
static void begin_event_watch(struct gpu_sensor *sensor)
{
    const struct nvml *api = sensor->api;
    nvml_events events = NULL;
    sensor->watched = true;
    if (!api->events_create || !api->events_register || !api->events_wait || !api->events_free)
        return;
    if (sensor->mig == GPU_MIG_PART || api->events_create(&events) != NVML_SUCCESS || !events)
        return;
    if (api->events_register(sensor->device, NVML_EVENT_XID, events) == NVML_SUCCESS)
        sensor->events = events;
    else
        api->events_free(events);
}

void nvml_xid_end(struct gpu_sensor *sensor)
{
    if (sensor->events)
        sensor->api->events_free(sensor->events);
    sensor->events = NULL;
}

bool nvml_xid_read(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err)
{
    int result = NVML_ERROR_TIMEOUT;
    if (!sensor->watched)
        begin_event_watch(sensor);
    if (!sensor->events)
        return err_set(err,
                       "nvmlDeviceRegisterEvents: critical errors cannot be watched on this GPU");
    for (int i = 0; i < EVENTS_AT_ONCE; i++) {
        struct nvml_event event = {0};
        result = sensor->api->events_wait(sensor->events, &event, 0);
        if (result != NVML_SUCCESS)
            break;
        if (event.type == NVML_EVENT_XID) {
            sensor->xid_count++;
            sensor->xid_last = event.data;
        }
    }
    if (result != NVML_SUCCESS && result != NVML_ERROR_TIMEOUT)
        return nvml_fail(sensor->api, result, "nvmlEventSetWait", err);
    if (sensor->xid_count > 0)
        gpu_reading_set(out, GPU_XID_LAST, (double)sensor->xid_last);
    return gpu_reading_set(out, GPU_XID_COUNT, (double)sensor->xid_count);
}
