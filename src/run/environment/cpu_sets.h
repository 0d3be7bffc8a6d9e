/* cpu_sets: which processors each lane's jobs may use: those near its GPUs, in equal parts that no
 * two lanes share. */
#ifndef TARE_RUN_ENVIRONMENT_CPU_SETS_H
#define TARE_RUN_ENVIRONMENT_CPU_SETS_H

#include "base/cpus.h"
#include "base/err.h"
#include "base/strv.h"

#include <jansson.h>

struct cpu_sets {
    struct cpus *lanes; /* one a lane; NULL: no lane has a set */
    /* the NUMA node of each lane's GPUs; -1: they have several, or the machine does not say */
    int *nodes;
    size_t count;
    struct err why; /* of no sets: the reason; "": none were asked for, or there is one lane */
};

/* buses: for each lane the PCI addresses of its GPUs, as /proc/driver/nvidia has them. root: where
 * the machine's /sys is ("" for this one). allowed: those that the runner itself may use: never
 * more. Every lane gets the same number of cores, with all their threads; where there are fewer
 * cores than lanes, of processors. What the machine says badly, or too few processors: no lane has
 * a set, and why says so. */
void cpu_sets_make(const char *root, const struct strv *buses, size_t lane_count,
                   const struct cpus *allowed, struct cpu_sets *out);
void cpu_sets_fini(struct cpu_sets *sets);

/* The processors near the GPU of this address, and its NUMA node (-1: unknown). False: the machine
 * does not say, or says nonsense. */
bool cpu_sets_near(const char *root, const char *bus, struct cpus *out, int *node, struct err *err);

/* For machine.json: {"lanes": [{"lane", "node", "cpus"}] or null, "why_none"}; null where there is
 * one lane. */
json_t *cpu_sets_json(const struct cpu_sets *sets);

/* For people: "16 CPUs near its GPUs for each", or NULL: there are no sets. Fresh. */
char *cpu_sets_text(const struct cpu_sets *sets);

#endif
