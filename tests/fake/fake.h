/* fake: what the parts of the fake library share: NVML's binary interface, declared here once more
 * and apart from src/machine/gpu/nvml_abi.h, from NVIDIA's NVML API Reference Guide; and the door
 * through which every call comes. */
#ifndef TARE_FAKE_FAKE_H
#define TARE_FAKE_FAKE_H

#include "scenario.h"
#include "users.h"

#include <stddef.h>
#include <stdint.h>

/* FAKE_OLDER: the names that drivers of about 2016 had, and nothing that came later. */
#ifdef FAKE_OLDER
#define nvmlInit_v2                            nvmlInit
#define nvmlDeviceGetCount_v2                  nvmlDeviceGetCount
#define nvmlDeviceGetHandleByIndex_v2          nvmlDeviceGetHandleByIndex
#define nvmlDeviceGetPciInfo_v3                nvmlDeviceGetPciInfo_v2
#define nvmlDeviceGetEnforcedPowerLimit        nvmlDeviceGetPowerManagementLimit
#define nvmlDeviceGetCurrentClocksEventReasons nvmlDeviceGetCurrentClocksThrottleReasons
#endif

typedef int nvmlReturn_t;
typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct nvmlEventSet_st *nvmlEventSet_t;
typedef unsigned long long ull;

typedef union {
    double dVal;
    int siVal;
    unsigned uiVal;
    unsigned long ulVal;
    ull ullVal;
    long long sllVal;
} nvmlValue_t;
typedef struct {
    ull timeStamp;
    nvmlValue_t sampleValue;
} nvmlSample_t;
typedef struct {
    unsigned fieldId, scopeId;
    long long timestamp, latencyUsec;
    unsigned valueType;
    nvmlReturn_t nvmlReturn;
    nvmlValue_t value;
} nvmlFieldValue_t;
typedef struct {
    ull total, free, used;
} nvmlMemory_t;
typedef struct {
    unsigned version;
    ull total, reserved, free, used;
} nvmlMemory_v2_t;
typedef struct {
    unsigned gpu, memory;
} nvmlUtilization_t;
typedef struct {
    unsigned version, sensorType;
    int temperature;
} nvmlTemperature_t;
typedef struct {
    char busIdLegacy[16];
    unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
    char busId[32];
} nvmlPciInfo_t;
typedef struct {
    unsigned pid;
    ull timeStamp;
    unsigned smUtil, memUtil, encUtil, decUtil;
} nvmlProcessUtilizationSample_t;
typedef struct {
    nvmlDevice_t device;
    ull eventType, eventData;
    unsigned gpuInstanceId, computeInstanceId;
} nvmlEventData_t;

enum {
    OK = 0,
    UNINITIALIZED = 1,
    INVALID = 2,
    UNSUPPORTED = 3,
    NOT_FOUND = 6,
    TOO_SMALL = 7,
    TIMED_OUT = 10,
    MISMATCH = 25
};

extern struct fake_scenario scenario;

#define EXPORT __attribute__((visibility("default")))

int64_t now_ns(void); /* CLOCK_MONOTONIC */
void pass(double us);
int number_of(nvmlDevice_t device); /* -1: none */
nvmlDevice_t device_of(int number);

/* The stamp of an instant, by the offset of the clocks taken now. */
int64_t wall_offset_ns(void);
long long wall_us(int64_t offset_ns, int64_t t_ns);

/* Every call goes through here: gives its error, or OK; *garbage: it is to answer nonsense. */
nvmlReturn_t enter(const char *call, nvmlDevice_t device, bool *garbage);

#define ENTER(call, device)                                                        \
    bool garbage;                                                                  \
    nvmlReturn_t entered = enter(call, device, &garbage);                          \
    if (entered != OK)                                                             \
        return entered;                                                            \
    const struct fake_gpu *gpu = &scenario.gpus[(device) ? number_of(device) : 0]; \
    (void)gpu

#endif
