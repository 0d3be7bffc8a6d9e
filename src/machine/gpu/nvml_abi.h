/* nvml_abi: what of NVIDIA's library tare calls, as its binary interface is: NVML API Reference
 * Guide (https://docs.nvidia.com/deploy/nvml-api/), the page of each type or function named beside
 * it. NVIDIA's headers are not needed: the interface only grows, and what a library lacks is found
 * missing at run time. */
#ifndef TARE_MACHINE_GPU_NVML_ABI_H
#define TARE_MACHINE_GPU_NVML_ABI_H

#include <stddef.h>

/* nvmlReturn_t, those that are told apart. */
enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NO_PERMISSION = 4,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_ERROR_DRIVER_NOT_LOADED = 9,
    NVML_ERROR_TIMEOUT = 10,
    NVML_ERROR_FUNCTION_NOT_FOUND = 13,
    NVML_ERROR_GPU_IS_LOST = 15,
    NVML_ERROR_RESET_REQUIRED = 16,
    NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25
};

/* NVML_VALUE_NOT_AVAILABLE, in an unsigned 64-bit field */
#define NVML_NOT_AVAILABLE (~0ULL)

/* NVML_STRUCT_VERSION: the struct's size, and its version in the highest byte */
#define NVML_VERSION(type, version) ((unsigned)sizeof(type) | (unsigned)(version) << 24)

enum { NVML_TEMPERATURE_GPU = 0 };               /* nvmlTemperatureSensors_t */
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };  /* nvmlClockType_t */
enum { NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1 }; /* nvmlMemoryErrorType_t */
enum { NVML_VOLATILE_ECC = 0 };                  /* nvmlEccCounterType_t */
enum { NVML_TOTAL_POWER_SAMPLES = 0 };           /* nvmlSamplingType_t */
enum { NVML_DEVICE_MIG_ENABLE = 1 };             /* nvmlDeviceGetMigMode */
/* nvmlGpuVirtualizationMode_t: none is 0 */
enum { NVML_VIRTUALIZATION_PASSTHROUGH = 1 };
#define NVML_EVENT_XID 0x8ULL /* nvmlEventTypeXidCriticalError */

/* Field Value Enums: NVML_FI_DEV_MEMORY_TEMP, _POWER_AVERAGE, _POWER_INSTANT */
enum {
    NVML_FIELD_MEMORY_TEMP = 82,
    NVML_FIELD_POWER_AVERAGE = 185,
    NVML_FIELD_POWER_INSTANT = 186
};

/* nvmlValueType_t and nvmlValue_t */
enum {
    NVML_VALUE_DOUBLE = 0,
    NVML_VALUE_UNSIGNED_INT = 1,
    NVML_VALUE_UNSIGNED_LONG = 2,
    NVML_VALUE_UNSIGNED_LONG_LONG = 3,
    NVML_VALUE_SIGNED_LONG_LONG = 4,
    NVML_VALUE_SIGNED_INT = 5,
    NVML_VALUE_UNSIGNED_SHORT = 6
};
union nvml_value {
    double real;
    int integer;
    unsigned natural;
    unsigned long natural_long;
    unsigned long long natural_longer;
    long long integer_longer;
    unsigned short natural_short;
};

typedef struct nvml_device *nvml_device; /* nvmlDevice_t */
typedef struct nvml_events *nvml_events; /* nvmlEventSet_t */

struct nvml_sample {            /* nvmlSample_t */
    unsigned long long time_us; /* wall clock */
    union nvml_value value;
};

struct nvml_field { /* nvmlFieldValue_t */
    unsigned field, scope;
    long long time_us, latency_us;
    unsigned type;
    int result; /* of this one */
    union nvml_value value;
};

struct nvml_memory_v1 {                   /* nvmlMemory_t */
    unsigned long long total, free, used; /* used: with what the driver reserved */
};

struct nvml_memory_v2 { /* nvmlMemory_v2_t */
    unsigned version;
    unsigned long long total, reserved, free, used;
};

struct nvml_utilization { /* nvmlUtilization_t */
    unsigned gpu, memory;
};

struct nvml_temperature { /* nvmlTemperature_v1_t */
    unsigned version, sensor;
    int temperature;
};

struct nvml_pci { /* nvmlPciInfo_t */
    char bus_id_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

/* nvmlProcessInfo_v1_t and nvmlProcessInfo_v2_t (which the functions _v2 and _v3 fill) begin
 * alike. */
struct nvml_process_v1 {
    unsigned pid;
    unsigned long long used_bytes; /* or NVML_NOT_AVAILABLE */
};
struct nvml_process_v2 {
    struct nvml_process_v1 begin;
    unsigned gpu_instance, compute_instance;
};
/* Drivers 535.43 to 535.98 (NVML 12.535) fill this with their _v3 functions: one more field than
 * before and after. */
struct nvml_process_535 {
    struct nvml_process_v2 begin;
    unsigned long long protected_bytes;
};

struct nvml_process_share { /* nvmlProcessUtilizationSample_t */
    unsigned pid;
    unsigned long long time_us; /* wall clock */
    unsigned sm, memory, encoder, decoder;
};

/* nvmlEventData_t of nvmlEventSetWait_v2; the older call fills the first three */
struct nvml_event {
    nvml_device device;
    unsigned long long type, data; /* data: the Xid */
    unsigned gpu_instance, compute_instance;
};

_Static_assert(sizeof(struct nvml_sample) == 16 && sizeof(struct nvml_field) == 40,
               "as the library has them");
_Static_assert(sizeof(struct nvml_memory_v1) == 24 && sizeof(struct nvml_memory_v2) == 40,
               "as the library has them");
_Static_assert(sizeof(struct nvml_process_v1) == 16 && sizeof(struct nvml_process_v2) == 24,
               "as the library has them");
_Static_assert(sizeof(struct nvml_process_share) == 32 && sizeof(struct nvml_event) == 32,
               "as the library has them");
_Static_assert(sizeof(struct nvml_pci) == 68 && sizeof(struct nvml_temperature) == 12,
               "as the library has them");
_Static_assert(offsetof(struct nvml_field, value) == 32, "as the library has it");

#endif
