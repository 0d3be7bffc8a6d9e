/* nvml: NVIDIA's management library, loaded at run time; sensor.h is how it is used. This is for
 * the nvml_*.c. */
#ifndef TARE_MACHINE_GPU_NVML_H
#define TARE_MACHINE_GPU_NVML_H

#include "machine/gpu/nvml_abi.h"
#include "machine/gpu/sensor.h"

/* The entry points that a library must have, and those that older ones lack: the member below,
 * NVML's name, the same function under an earlier name (or NULL), its parameters. Each gives a
 * result code. Lists of processes are of struct nvml_process_v2; those with a member ending in _v1
 * of struct nvml_process_v1. */
/* clang-format off */
#define NVML_REQUIRED(X) \
    X(init, "nvmlInit_v2", "nvmlInit", (void)) \
    X(count, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount", (unsigned *out)) \
    X(by_index, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex", \
      (unsigned index, nvml_device *out)) \
    X(uuid, "nvmlDeviceGetUUID", NULL, (nvml_device device, char *out, unsigned size))
#define NVML_OPTIONAL(X) \
    X(shutdown, "nvmlShutdown", NULL, (void)) \
    X(driver_version, "nvmlSystemGetDriverVersion", NULL, (char *out, unsigned size)) \
    X(library_version, "nvmlSystemGetNVMLVersion", NULL, (char *out, unsigned size)) \
    X(by_uuid, "nvmlDeviceGetHandleByUUID", NULL, (const char *uuid, nvml_device *out)) \
    X(index, "nvmlDeviceGetIndex", NULL, (nvml_device device, unsigned *out)) \
    X(minor, "nvmlDeviceGetMinorNumber", NULL, (nvml_device device, unsigned *out)) \
    X(name, "nvmlDeviceGetName", NULL, (nvml_device device, char *out, unsigned size)) \
    X(board, "nvmlDeviceGetBoardPartNumber", NULL, (nvml_device device, char *out, unsigned size)) \
    X(firmware, "nvmlDeviceGetVbiosVersion", NULL, (nvml_device device, char *out, unsigned size)) \
    X(pci, "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", \
      (nvml_device device, struct nvml_pci *out)) \
    X(mig_mode, "nvmlDeviceGetMigMode", NULL, \
      (nvml_device device, unsigned *current, unsigned *pending)) \
    X(is_mig_part, "nvmlDeviceIsMigDeviceHandle", NULL, (nvml_device device, unsigned *out)) \
    X(persistence, "nvmlDeviceGetPersistenceMode", NULL, (nvml_device device, unsigned *on)) \
    X(virtualization, "nvmlDeviceGetVirtualizationMode", NULL, \
      (nvml_device device, unsigned *mode)) \
    X(display, "nvmlDeviceGetDisplayActive", NULL, (nvml_device device, unsigned *on)) \
    X(energy, "nvmlDeviceGetTotalEnergyConsumption", NULL, \
      (nvml_device device, unsigned long long *mj)) \
    X(power_usage, "nvmlDeviceGetPowerUsage", NULL, (nvml_device device, unsigned *mw)) \
    X(power_limit, "nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementLimit", \
      (nvml_device device, unsigned *mw)) \
    X(temperature, "nvmlDeviceGetTemperature", NULL, \
      (nvml_device device, unsigned sensor, unsigned *celsius)) \
    X(temperature_v, "nvmlDeviceGetTemperatureV", NULL, \
      (nvml_device device, struct nvml_temperature *inout)) \
    X(clock, "nvmlDeviceGetClockInfo", NULL, (nvml_device device, unsigned type, unsigned *mhz)) \
    X(clock_max, "nvmlDeviceGetMaxClockInfo", NULL, \
      (nvml_device device, unsigned type, unsigned *mhz)) \
    X(clock_application, "nvmlDeviceGetApplicationsClock", NULL, \
      (nvml_device device, unsigned type, unsigned *mhz)) \
    X(clock_reasons, "nvmlDeviceGetCurrentClocksEventReasons", \
      "nvmlDeviceGetCurrentClocksThrottleReasons", \
      (nvml_device device, unsigned long long *bits)) \
    X(utilization, "nvmlDeviceGetUtilizationRates", NULL, \
      (nvml_device device, struct nvml_utilization *out)) \
    X(memory, "nvmlDeviceGetMemoryInfo", NULL, (nvml_device device, struct nvml_memory_v1 *out)) \
    X(memory_v2, "nvmlDeviceGetMemoryInfo_v2", NULL, \
      (nvml_device device, struct nvml_memory_v2 *inout)) \
    X(fields, "nvmlDeviceGetFieldValues", NULL, \
      (nvml_device device, int count, struct nvml_field *inout)) \
    X(ecc_errors, "nvmlDeviceGetTotalEccErrors", NULL, \
      (nvml_device device, unsigned type, unsigned counter, unsigned long long *out)) \
    X(samples, "nvmlDeviceGetSamples", NULL, \
      (nvml_device device, unsigned type, unsigned long long since_us, unsigned *value_type, \
      unsigned *count, \
       struct nvml_sample *out)) \
    X(compute, "nvmlDeviceGetComputeRunningProcesses_v3", \
      "nvmlDeviceGetComputeRunningProcesses_v2", \
      (nvml_device device, unsigned *count, void *out)) \
    X(compute_v1, "nvmlDeviceGetComputeRunningProcesses", NULL, \
      (nvml_device device, unsigned *count, void *out)) \
    X(graphics, "nvmlDeviceGetGraphicsRunningProcesses_v3", \
      "nvmlDeviceGetGraphicsRunningProcesses_v2", \
      (nvml_device device, unsigned *count, void *out)) \
    X(graphics_v1, "nvmlDeviceGetGraphicsRunningProcesses", NULL, \
      (nvml_device device, unsigned *count, void *out)) \
    X(shares, "nvmlDeviceGetProcessUtilization", NULL, \
      (nvml_device device, struct nvml_process_share *out, unsigned *count, \
      unsigned long long since_us)) \
    X(events_create, "nvmlEventSetCreate", NULL, (nvml_events *out)) \
    X(events_register, "nvmlDeviceRegisterEvents", NULL, \
      (nvml_device device, unsigned long long types, nvml_events events)) \
    X(events_wait, "nvmlEventSetWait_v2", "nvmlEventSetWait", \
      (nvml_events events, struct nvml_event *out, unsigned timeout_ms)) \
    X(events_free, "nvmlEventSetFree", NULL, (nvml_events events))
/* clang-format on */

/* The functions; NULL where this library has none. */
struct nvml {
    void *library;
    int (*fake)(void); /* only the tests' library has it */
    const char *(*error_string)(int result);
#define X(member, name, older, parameters) int(*member) parameters;
    NVML_REQUIRED(X) NVML_OPTIONAL(X)
#undef X
};

struct gpu_driver {
    struct nvml api;
};

struct gpu_sensor {
    const struct nvml *api;
    nvml_device device;
    enum gpu_mig mig;
    bool watched;       /* critical errors were asked for */
    nvml_events events; /* of them; NULL: not to be had */
    uint64_t xid_count, xid_last;
    /* the trace (nvml_trace.c) */
    uint64_t seen_us; /* stamp of the newest sample given */
    bool has_offset;
    int64_t offset_ns;     /* wall clock less CLOCK_MONOTONIC, at the last look */
    int64_t offset_at_ns;  /* when that was, CLOCK_MONOTONIC */
    int64_t not_before_ns; /* after the wall clock was set: samples from before bear the old time */
};

/* nvml.c. nvml_load: false: the library or a required function is missing; nothing is left loaded
 * then. */
bool nvml_load(const char *path, struct nvml *out, struct err *err);
void nvml_unload(struct nvml *api);
enum gpu_library nvml_library_kind(const char *path);

/* "FUNCTION: TEXT (NVML error N)", with err.code as sensor.h has it. Always false. */
bool nvml_fail(const struct nvml *api, int result, const char *function, struct err *err);
bool nvml_lacks(const char *function, struct err *err); /* the library has no such function */
bool nvml_garbage(const char *function, struct err *err);
bool nvml_good(const struct nvml *api, int result, const char *function,
               struct err *err); /* NVML_SUCCESS, else as nvml_fail */

/* Calls an entry point of the device that a library may lack. False: it failed, as NAME in the
 * message. */
#define NVML_CALL(sensor, entry, name, err, ...)                                                 \
    ((sensor)->api->entry                                                                        \
         ? nvml_good((sensor)->api, (sensor)->api->entry((sensor)->device, __VA_ARGS__), (name), \
                     (err))                                                                      \
         : nvml_lacks((name), (err)))

/* Of a GPU in MIG mode: false, and says so; energy and power are the whole board's, which no part's
 * are. */
bool nvml_whole(const struct gpu_sensor *sensor, struct err *err);

/* At most size bytes of what a library wrote there, made printable. */
void nvml_text(char out[GPU_TEXT_SIZE], const char *text, size_t size);

/* By its type; false: no type that is known. */
bool nvml_number(unsigned type, const union nvml_value *value, double *out);

/* Reads one numbered field (Field Value Enums) as a number. */
bool nvml_field_read(struct gpu_sensor *sensor, unsigned field, double *out, struct err *err);

enum { NVML_GROUP_COUNT = 13 };

/* Those since the first read. */
void nvml_xid_end(struct gpu_sensor *sensor);
bool nvml_xid_read(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err);

#endif
