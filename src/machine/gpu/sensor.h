/* sensor: what a GPU tells about itself, and the drivers behind it, each a const vtable. Only meter
 * processes call a driver: any of its functions may hang. */
#ifndef TARE_MACHINE_GPU_SENSOR_H
#define TARE_MACHINE_GPU_SENSOR_H

#include "base/err.h"
#include "machine/gpu/readings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GPU_TEXT_SIZE = 96 };

enum gpu_mig {
    GPU_MIG_UNKNOWN,
    GPU_MIG_OFF,
    GPU_MIG_ON,  /* the whole GPU, divided into parts */
    GPU_MIG_PART /* one of the parts */
};

/* Whether the driver keeps the GPU set up while no program uses it. */
enum gpu_persistence { GPU_PERSISTENCE_UNKNOWN, GPU_PERSISTENCE_OFF, GPU_PERSISTENCE_ON };

/* Of what a driver may not say. */
enum gpu_answer { GPU_ANSWER_UNKNOWN, GPU_ANSWER_NO, GPU_ANSWER_YES };

/* What the clocks can be at most, and what they are set to under load; MHz, 0 where the driver does
 * not say. */
struct gpu_clocks {
    uint32_t sm_max_mhz, memory_max_mhz, sm_application_mhz, memory_application_mhz;
};

/* Texts are printable ASCII, "" where the driver does not say. */
struct gpu_identity {
    uint32_t index;               /* the driver's number; UINT32_MAX: unknown */
    int32_t minor;                /* of /dev/nvidiaN; -1: unknown */
    char name[GPU_TEXT_SIZE];     /* "NVIDIA H200" */
    char uuid[GPU_TEXT_SIZE];     /* "GPU-..." or "MIG-..." */
    char pci[GPU_TEXT_SIZE];      /* "00000000:C1:00.0" */
    char driver[GPU_TEXT_SIZE];   /* version of the kernel's driver */
    char library[GPU_TEXT_SIZE];  /* version of the library */
    char board[GPU_TEXT_SIZE];    /* part number; "": unknown */
    char firmware[GPU_TEXT_SIZE]; /* VBIOS; "": unknown */
    enum gpu_mig mig;
    enum gpu_persistence persistence;
    enum gpu_answer shared_by_host; /* a vGPU, or the GPU of a host that divides it into some */
    enum gpu_answer display;        /* a display is active on it */
    struct gpu_clocks clocks;       /* when it was identified */
};

struct gpu_power_sample {
    int64_t t_ns; /* CLOCK_MONOTONIC */
    double power_w;
};

/* What one look into the driver's buffer of samples gave. */
enum { GPU_TRACE_MAX = 256 };
struct gpu_trace {
    /* strictly ascending in time, newer than those given before */
    struct gpu_power_sample samples[GPU_TRACE_MAX];
    uint32_t count;
    uint32_t refused;  /* garbage, out of order, or stamped by a clock that was set meanwhile */
    uint32_t left_out; /* good ones for which there was no room: the oldest */
};

/* A process that has memory on the GPU, or computes on it. */
struct gpu_user {
    int32_t pid; /* as the driver numbers it, which inside a container can be the host's number */
    bool compute, graphics;
    struct reading memory_bytes;
    struct reading sm_percent; /* its share of the multiprocessors' time */
};

enum { GPU_USERS_MAX = 128 };
struct gpu_users {
    struct gpu_user users[GPU_USERS_MAX];
    uint32_t count;
    uint32_t left_out; /* for which there was no room */
    bool told;         /* those that compute; false: some may be missing, or all */
};

/* The same without a bound; unsorted. */
struct gpu_user_list {
    struct gpu_user *items;
    size_t count;
};

struct gpu_driver;
struct gpu_sensor;

enum gpu_library { GPU_LIBRARY_NONE, GPU_LIBRARY_FAKE, GPU_LIBRARY_REAL };

/* err.code of the functions that take a sensor: ENODEV the GPU is gone, ENOTSUP it has no such
 * thing, ENOSYS the library has no such function, EACCES not allowed, EBADMSG garbage, EIO anything
 * else. */
struct gpu_backend {
    const char *name; /* "nvml" */

    /* Whether it can be loaded, and is one of those that tests play (tests/fake); nothing of it is
     * called. */
    enum gpu_library (*library_kind)(const char *library);

    /* Loads library (NULL: the usual name) and begins. NULL: the library or a function that it must
     * have is missing, or there is no driver. */
    struct gpu_driver *(*open)(const char *library, struct err *err);
    void (*close)(struct gpu_driver *driver);
    bool (*count)(struct gpu_driver *driver, uint32_t *out, struct err *err);

    /* By UUID, or by the driver's number in decimal. */
    struct gpu_sensor *(*sensor_open)(struct gpu_driver *driver, const char *device,
                                      struct err *err);
    void (*sensor_close)(struct gpu_sensor *sensor);
    void (*identify)(struct gpu_sensor *sensor, struct gpu_identity *out);

    bool (*counter)(struct gpu_sensor *sensor, uint64_t *energy_mj, struct err *err);
    /* What is new since the last call; the first gives all the driver has kept. */
    bool (*trace)(struct gpu_sensor *sensor, struct gpu_trace *out, struct err *err);
    /* out->told false: only those that draw are told, and err says why. False: not even these. */
    bool (*users)(struct gpu_sensor *sensor, struct gpu_users *out, struct err *err);
    /* Without shares. False: those that compute are not told; what is known stands in out all the
     * same. The caller frees out->items. */
    bool (*all_users)(struct gpu_sensor *sensor, struct gpu_user_list *out, struct err *err);

    /* The other readings come in groups, one or two calls of the driver each. False: the group's
     * first reading is absent, and why. */
    size_t group_count;
    const char *(*group_name)(size_t group);
    bool (*group_read)(struct gpu_sensor *sensor, size_t group, struct gpu_readings *out,
                       struct err *err);
};

extern const struct gpu_backend nvml_backend;

/* All groups: absent is what cannot be read now. False: the GPU is gone. */
bool gpu_readings_take(const struct gpu_backend *backend, struct gpu_sensor *sensor,
                       struct gpu_readings *out, struct err *err);

#endif
