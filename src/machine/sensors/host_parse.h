/* host_parse: what the kernel writes about the whole machine's load and about a process's or a
 * cgroup's use. Bytes in, numbers out. */
#ifndef TARE_MACHINE_SENSORS_HOST_PARSE_H
#define TARE_MACHINE_SENSORS_HOST_PARSE_H

#include "machine/sensors/series.h"

/* The machine's CPU time since boot, in clock ticks (proc(5), /proc/stat). */
struct host_cpu {
    /* user, nice, system, interrupts; what guests of this machine used is in it */
    uint64_t busy_ticks;
    uint64_t stolen_ticks; /* what the hypervisor gave to its other guests */
    unsigned cpus;         /* that are online */
};
bool host_cpu_parse(const char *bytes, size_t count, struct host_cpu *out);

/* How long something (all) waited for a resource since boot (Documentation/accounting/psi.rst). */
struct host_pressure {
    struct reading some_s, full_s;
};
bool host_pressure_parse(const char *bytes, size_t count, struct host_pressure *out);

/* One line of a cgroup's io.stat; at goes on to the next. False: the end. Lines that cannot be read
 * are passed over. */
struct host_device_io {
    unsigned major, minor;
    uint64_t read_bytes, written_bytes;
};
bool host_device_io_next(const char **at, const char *end, struct host_device_io *out);

/* Resident pages of /proc/PID/statm. */
bool host_statm_parse(const char *bytes, size_t count, uint64_t *resident_pages);

/* Bytes that went from and to storage, /proc/PID/io: those of the children it has waited for are in
 * it. */
bool host_io_parse(const char *bytes, size_t count, uint64_t *read_bytes, uint64_t *written_bytes);

#endif
