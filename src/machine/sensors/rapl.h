/* rapl: the energy counters of CPU packages and their DRAM (Intel and AMD), by perf_event where it
 * may be used, else by powercap. What there is, what it can tell, and why the rest cannot be
 * read. */
#ifndef TARE_MACHINE_SENSORS_RAPL_H
#define TARE_MACHINE_SENSORS_RAPL_H

#include "machine/sensors/series.h"

#include <sys/types.h>

/* Never to be added up: the platform's counter (psys) holds the package's; DRAM stands beside the
 * package. */
enum rapl_scope { RAPL_PACKAGE, RAPL_DRAM, RAPL_PLATFORM };
enum rapl_source { RAPL_PERF, RAPL_POWERCAP };

const char *rapl_scope_name(enum rapl_scope scope);    /* "CPU package", "DRAM", "platform" */
const char *rapl_source_name(enum rapl_source source); /* "rapl-perf", "rapl-powercap" */

struct perf_event_attr;

/* The world it looks at; all zero: this machine. */
struct rapl_places {
    const char *sysroot; /* NULL: none before /sys and /proc */
    /* NULL: the system call */
    int (*perf_event_open)(struct perf_event_attr *event, pid_t pid, int cpu, int group,
                           unsigned long flags);
    /* NULL: spins; a piece of work, short, under which every counter has to move */
    void (*load)(void *context);
    void *context;
};

/* Energy since an unknown beginning. The value is that of some moment at most one update period
 * before after_ns. */
struct rapl_reading {
    int64_t before_ns, after_ns;
    uint64_t energy_uj;
    bool valid; /* false: could not be read, nothing else counts */
    /* the counter began anew, so that energy_uj too begins at 0: what was between is not known */
    bool restarted;
    /* so long after the last reading that a counter that wraps may have done so unseen */
    bool gap;
};

/* A counter that may wrap or be reset, followed from reading to reading. */
struct rapl_track {
    uint64_t range_uj; /* it wraps there; 0: never */
    bool begun;
    uint64_t raw_uj, energy_uj;
    int64_t at_ns;
};

/* The next reading, in whole microjoules as the counter says them, at a moment not before the last
 * one: fills all but the times. A step that no processor could have drawn (2 kW) is a reset. */
void rapl_follow(struct rapl_track *track, uint64_t raw_uj, int64_t at_ns,
                 struct rapl_reading *out);

enum { RAPL_VALUES_MAX = 64 };

struct rapl_domain {
    char name[40]; /* "package-0", "package-0-die-1", "dram-0", "psys" */
    enum rapl_scope scope;
    enum rapl_source source;
    bool available;
    char *reason;             /* why not; NULL while available */
    struct reading quantum_j; /* the counter's own step; absent until enough values were seen */
    struct reading update_s;  /* from one value to the next */
    struct reading read_s;    /* what a reading costs */
    /* readings that were so, until now: a window in which one of them grew is not sure */
    uint64_t restarts, gaps;

    /* Of rapl*.c alone. */
    int fd;
    double unit_uj; /* of one count */
    struct rapl_track track;
    uint64_t last; /* count */
    int64_t first_ns, last_ns, calls_ns;
    /* of changes seen as they came: the last one (0: none), and from each to the next */
    int64_t change_ns, spans_ns;
    uint64_t changes, spans, calls;
    uint64_t values[RAPL_VALUES_MAX]; /* different ones */
    size_t value_count;
};

struct rapl {
    /* packages first, then DRAM, then the platform; those that cannot be read too */
    struct rapl_domain *domains;
    size_t count;
    char *reason; /* why there is no package's energy, or NULL */
    char *fix;    /* the command that gives what is missing for want of permission, or NULL */
};

/* Opens what there is; never fails. Descriptors stay usable when root's rights are given up
 * afterwards. */
void rapl_open(const struct rapl_places *places, struct rapl *out);
void rapl_fini(struct rapl *rapl);

/* Gives every counter a load to move under, and learns quantum, update period and cost; ends early,
 * after some 20 ms, when all have moved, and after max_s at the latest. One that stood still
 * becomes unavailable. */
void rapl_prove(struct rapl *rapl, const struct rapl_places *places, double max_s);

/* The same judgement from the readings so far, for those that were first read at least min_s ago:
 * while a job runs. */
void rapl_judge(struct rapl *rapl, double min_s);

/* A few microseconds. Of an unavailable one: not valid. A wrap is seen only when this is called
 * often enough: every 100 s. */
void rapl_read(struct rapl_domain *domain, struct rapl_reading *out);

/* As the series of a device has it: whole millijoules. */
struct counter_reading rapl_counter_reading(const struct rapl_reading *reading);

/* The step of a counter from different values of it: perf's are whole multiples of a power of two;
 * powercap's are whole microjoules, rounded down by the kernel. False: too few values, or no known
 * step explains them. */
bool rapl_quantum(enum rapl_source source, const uint64_t *counts, size_t count, double unit_uj,
                  double *quantum_j);

/* The domain of this name, a new one (not available) when there is none; NULL: too many. */
struct rapl_domain *rapl_domain_get(struct rapl *rapl, const char *name, enum rapl_scope scope,
                                    enum rapl_source source);

/* It is read through fd, which becomes the domain's; a count is worth unit_uj. */
void rapl_domain_open(struct rapl_domain *domain, enum rapl_source source, int fd, double unit_uj,
                      uint64_t range_uj);

/* Not available, because; takes reason. Closes what was open. */
void rapl_domain_refuse(struct rapl_domain *domain, char *reason);

/* Says in rapl->reason why no package can be read, when none of those that are there can. */
void rapl_reason_update(struct rapl *rapl);

#endif
