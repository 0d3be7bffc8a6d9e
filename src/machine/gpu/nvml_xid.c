#include "machine/gpu/nvml.h"

enum { EVENTS_AT_ONCE = 64 }; /* a storm of errors must not keep the meter from its other readings */

/* Only when they are asked for: whoever wants to know who holds memory registers for nothing. */
static void begin(struct gpu_sensor *sensor)
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
        begin(sensor);
    if (!sensor->events)
        return err_set(err, "nvmlDeviceRegisterEvents: critical errors cannot be watched on this GPU");
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
