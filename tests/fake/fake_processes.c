/* The processes on the GPUs, and critical errors. */
#include "fake.h"
#include "planted.h"

#include <stdlib.h>
#include <string.h>

/* entry: bytes of one. */
static nvmlReturn_t list(nvmlDevice_t device, bool graphics, unsigned *items, unsigned *room,
                         char *out, size_t entry)
{
    struct fake_users users;
    fake_users_read(&scenario, number_of(device), &users);
    unsigned count_of_kind = 0;
    for (int i = 0; i < users.count; i++)
        if (graphics ? users.users[i].graphics : users.users[i].compute) {
            if (out && count_of_kind < *room) {
                unsigned pid = (unsigned)users.users[i].pid, none = ~0U;
                ull bytes = users.users[i].hidden ? ~0ULL : users.users[i].bytes;
                memset(out + count_of_kind * entry, 0, entry);
                memcpy(out + count_of_kind * entry, &pid, sizeof pid);
                memcpy(out + count_of_kind * entry + 8, &bytes, sizeof bytes);
                if (entry > 16) {
                    memcpy(out + count_of_kind * entry + 16, &none, sizeof none);
                    memcpy(out + count_of_kind * entry + 20, &none, sizeof none);
                }
            }
            count_of_kind++;
        }
    bool fits = count_of_kind <= *room;
    *items = count_of_kind;
    return fits ? OK : TOO_SMALL;
}

static nvmlReturn_t processes(const char *call, bool graphics, nvmlDevice_t device, unsigned *inout,
                              void *out, size_t entry)
{
    ENTER(call, device);
    unsigned room = *inout;
    return list(device, graphics, inout, &room, out, entry);
}

EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned *inout,
                                                         void *out);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned *inout, void *out)
{
    return processes("nvmlDeviceGetComputeRunningProcesses", false, device, inout, out, 16);
}

EXPORT nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned *inout,
                                                          void *out);
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned *inout, void *out)
{
    return processes("nvmlDeviceGetGraphicsRunningProcesses", true, device, inout, out, 16);
}

#ifndef FAKE_OLDER
EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *inout,
                                                            void *out);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *inout,
                                                     void *out)
{
    int number = number_of(device);
    return processes("nvmlDeviceGetComputeRunningProcesses", false, device, inout, out,
                     number < 0 ? 24 : (size_t)scenario.gpus[number].process_entry);
}

EXPORT nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned *inout,
                                                             void *out);
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned *inout,
                                                      void *out)
{
    int number = number_of(device);
    return processes("nvmlDeviceGetGraphicsRunningProcesses", true, device, inout, out,
                     number < 0 ? 24 : (size_t)scenario.gpus[number].process_entry);
}

EXPORT nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
                                                    nvmlProcessUtilizationSample_t *out,
                                                    unsigned *inout, ull since_us);
nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
                                             nvmlProcessUtilizationSample_t *out, unsigned *inout,
                                             ull since_us)
{
    ENTER("nvmlDeviceGetProcessUtilization", device);
    struct fake_users users;
    fake_users_read(&scenario, number_of(device), &users);
    unsigned room = *inout, number = 0;
    (void)since_us;
    /* Two samples of each that computes, the older one first. */
    for (int i = 0; i < users.count; i++)
        for (int k = 0; k < 2 && users.users[i].sm_percent > 0; k++, number++)
            if (out && number < room)
                out[number] = (nvmlProcessUtilizationSample_t){
                    .pid = (unsigned)users.users[i].pid,
                    .timeStamp = (ull)wall_us(wall_offset_ns(), now_ns()) - (k ? 100000 : 900000),
                    .smUtil = k ? (unsigned)users.users[i].sm_percent : 1};
    *inout = number;
    if (number == 0)
        return NOT_FOUND;
    return out && number <= room ? OK : TOO_SMALL;
}

struct nvmlEventSet_st {
    int gpu, told;
    unsigned planted;
};

EXPORT nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *out);
nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *out)
{
    ENTER("nvmlEventSetCreate", NULL);
    *out = calloc(1, sizeof **out);
    return OK;
}

EXPORT nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, ull types, nvmlEventSet_t set);
nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, ull types, nvmlEventSet_t set)
{
    ENTER("nvmlDeviceRegisterEvents", device);
    if (types != 0x8)
        return UNSUPPORTED;
    set->gpu = number_of(device);
    return OK;
}

EXPORT nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *out,
                                        unsigned timeout_ms);
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *out, unsigned timeout_ms)
{
    ENTER("nvmlEventSetWait", NULL);
    const struct fake_gpu *of = &scenario.gpus[set->gpu];
    if (set->told < of->xid_count &&
        (double)(now_ns() - of->origin_ns) / 1e9 >= of->xids[set->told].t_s) {
        *out = (nvmlEventData_t){.device = device_of(set->gpu),
                                 .eventType = 0x8,
                                 .eventData = of->xids[set->told++].number};
        return OK;
    }
    unsigned planted = (unsigned)fake_planted(&scenario, "xid", set->gpu);
    if (planted != set->planted) {
        set->planted = planted;
        *out = (nvmlEventData_t){
            .device = device_of(set->gpu), .eventType = 0x8, .eventData = planted};
        return planted ? OK : TIMED_OUT;
    }
    pass(timeout_ms * 1000.0);
    return TIMED_OUT;
}

EXPORT nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set);
nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
    free(set);
    return OK;
}
#endif
