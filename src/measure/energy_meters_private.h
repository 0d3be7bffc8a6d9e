/* energy_meters_private: what energy_meters.c and energy_meters_measure.c share. */
#ifndef TARE_MEASURE_ENERGY_METERS_PRIVATE_H
#define TARE_MEASURE_ENERGY_METERS_PRIVATE_H

#include "measure/energy_meters.h"

struct energy_meters_meter {
    struct energy_meters *energy_meters;
    char *label;
    const struct gpu_vendor *vendor;
    struct meter *meter; /* NULL: could not be started */
    struct err why;      /* there is none */
    size_t waiting;      /* orders of edges that are not answered */
    bool told;           /* that it is unavailable */
    pid_t own_pid;       /* as the host's meter knows it */
};

struct energy_meters_memory {
    int64_t t_ns;
    double bytes;
};

struct energy_meters {
    struct calibration_profile *calibrated;
    size_t calibrated_count;
    struct energy_meters_meter *meters;
    size_t count;
    struct host_meter *host;
    size_t reader; /* of the host's series */
    bool shares_host;
    struct energy_meters_listener listener;
    int epoll;
    size_t job; /* of the host's meter */
    bool has_job;
    int64_t mark_ns; /* when the host's counters were last read for a mark */
    struct host_edge from, to;
    struct host_others *others;
    struct energy_meters_memory *memory; /* of the job */
    size_t memory_count;
};

#endif
