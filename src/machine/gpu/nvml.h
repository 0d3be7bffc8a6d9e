/* nvml: NVIDIA's management library, loaded at run time; sensor.h is how it is used. This is for the nvml_*.c. */
#ifndef TARE_MACHINE_GPU_NVML_H
#define TARE_MACHINE_GPU_NVML_H

#include "machine/gpu/nvml_abi.h"
#include "machine/gpu/sensor.h"

/* The functions; NULL where this library has none. Called by their NVML names in messages. */
struct nvml {
    void *library;
    int (*fake)(void); /* only the tests' library has it */
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int result);
    int (*driver_version)(char *out, unsigned size);
    int (*library_version)(char *out, unsigned size);
    int (*count)(unsigned *out);
    int (*by_index)(unsigned index, nvml_device *out);
    int (*by_uuid)(const char *uuid, nvml_device *out);
    int (*index)(nvml_device device, unsigned *out);
    int (*minor)(nvml_device device, unsigned *out);
    int (*name)(nvml_device device, char *out, unsigned size);
    int (*uuid)(nvml_device device, char *out, unsigned size);
    int (*pci)(nvml_device device, struct nvml_pci *out);
    int (*mig_mode)(nvml_device device, unsigned *current, unsigned *pending);
    int (*is_mig_part)(nvml_device device, unsigned *out);
    int (*persistence)(nvml_device device, unsigned *on);
    int (*energy)(nvml_device device, unsigned long long *mj);
    int (*power_usage)(nvml_device device, unsigned *mw);
    int (*power_limit)(nvml_device device, unsigned *mw);
    int (*temperature)(nvml_device device, unsigned sensor, unsigned *celsius);
    int (*temperature_v)(nvml_device device, struct nvml_temperature *inout);
    int (*clock)(nvml_device device, unsigned type, unsigned *mhz);
    int (*clock_max)(nvml_device device, unsigned type, unsigned *mhz);
    int (*clock_application)(nvml_device device, unsigned type, unsigned *mhz);
    int (*clock_reasons)(nvml_device device, unsigned long long *bits);
    int (*utilization)(nvml_device device, struct nvml_utilization *out);
    int (*memory)(nvml_device device, struct nvml_memory_v1 *out);
    int (*memory_v2)(nvml_device device, struct nvml_memory_v2 *inout);
    int (*fields)(nvml_device device, int count, struct nvml_field *inout);
    int (*ecc_errors)(nvml_device device, unsigned type, unsigned counter, unsigned long long *out);
    int (*samples)(nvml_device device, unsigned type, unsigned long long since_us, unsigned *value_type,
                   unsigned *count, struct nvml_sample *out);
    int (*compute)(nvml_device device, unsigned *count, void *out);     /* nvml_process_v2 */
    int (*compute_v1)(nvml_device device, unsigned *count, void *out);  /* nvml_process_v1 */
    int (*graphics)(nvml_device device, unsigned *count, void *out);    /* nvml_process_v2 */
    int (*graphics_v1)(nvml_device device, unsigned *count, void *out); /* nvml_process_v1 */
    int (*shares)(nvml_device device, struct nvml_process_share *out, unsigned *count, unsigned long long since_us);
    int (*events_create)(nvml_events *out);
    int (*events_register)(nvml_device device, unsigned long long types, nvml_events events);
    int (*events_wait)(nvml_events events, struct nvml_event *out, unsigned timeout_ms);
    int (*events_free)(nvml_events events);
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

/* nvml.c. nvml_load: false: the library or a required function is missing; nothing is left loaded then. */
bool nvml_load(const char *path, struct nvml *out, struct err *err);
void nvml_unload(struct nvml *api);
enum gpu_library nvml_library_kind(const char *path);

/* "FUNCTION: TEXT (NVML error N)", with err.code as sensor.h has it. Always false. */
bool nvml_fail(const struct nvml *api, int result, const char *function, struct err *err);
bool nvml_lacks(const char *function, struct err *err); /* the library has no such function */
bool nvml_garbage(const char *function, struct err *err);
bool nvml_good(const struct nvml *api, int result, const char *function,
               struct err *err); /* NVML_SUCCESS, else as nvml_fail */

/* Calls an entry point of the device that a library may lack. False: it failed, as NAME in the message. */
#define NVML_CALL(sensor, entry, name, err, ...)                                                                       \
    ((sensor)->api->entry                                                                                              \
         ? nvml_good((sensor)->api, (sensor)->api->entry((sensor)->device, __VA_ARGS__), (name), (err))                \
         : nvml_lacks((name), (err)))

/* Of a GPU in MIG mode: false, and says so; energy and power are the whole board's, which no part's are. */
bool nvml_whole(const struct gpu_sensor *sensor, struct err *err);

/* At most size bytes of what a library wrote there, made printable. */
void nvml_text(char out[GPU_TEXT_SIZE], const char *text, size_t size);

/* By its type; false: no type that is known. */
bool nvml_number(unsigned type, const union nvml_value *value, double *out);

/* Reads numbered fields as numbers, one to an out. False: one of them could not be read. */
bool nvml_fields(struct gpu_sensor *sensor, struct nvml_field *values, int count, double *out, struct err *err);

/* nvml_readings.c */
const char *nvml_group_name(size_t group);
bool nvml_group_read(struct gpu_sensor *sensor, size_t group, struct gpu_readings *out, struct err *err);
enum { NVML_GROUP_COUNT = 13 };

/* What goes over its PCIe link. */
bool nvml_link(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err);

/* Those since the first read. */
void nvml_xid_end(struct gpu_sensor *sensor);
bool nvml_xid_read(struct gpu_sensor *sensor, struct gpu_readings *out, struct err *err);

/* nvml_trace.c, nvml_users.c */
bool nvml_trace(struct gpu_sensor *sensor, struct gpu_trace *out, struct err *err);
bool nvml_users(struct gpu_sensor *sensor, struct gpu_users *out, struct err *err);
bool nvml_all_users(struct gpu_sensor *sensor, struct gpu_user_list *out, struct err *err);

#endif
