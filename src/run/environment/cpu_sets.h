/* cpu_sets: which processors the jobs of each lane may use: equal, disjoint parts of those near its
 * GPUs. */
#ifndef TARE_RUN_ENVIRONMENT_CPU_SETS_H
#define TARE_RUN_ENVIRONMENT_CPU_SETS_H

#include "base/cpus.h"
#include "base/err.h"
#include "base/strv.h"

#include <jansson.h>

struct cpu_sets {
    struct cpus *lanes; /* one per lane; NULL: no sets */
    /* NUMA node of each lane's GPUs; -1: several, or unknown */
    int *nodes;
    size_t count;
    struct err why; /* why there are no sets; "": not wanted, or one lane */
};

/* buses: PCI addresses of each lane's GPUs. root: prefix of /sys. allowed: processors of the
 * runner. Every lane gets as many whole cores; with fewer cores than lanes, as many processors;
 * else no lane has a set (why). */
void cpu_sets_make(const char *root, const struct strv *buses, size_t lane_count,
                   const struct cpus *allowed, struct cpu_sets *out);
void cpu_sets_fini(struct cpu_sets *sets);

/* node -1: unknown. False: the machine does not report it, or nonsense. */
bool cpu_sets_near(const char *root, const char *bus, struct cpus *out, int *node, struct err *err);

/* For machine.json: {"lanes": [{"lane", "node", "cpus"}] or null, "why_none"}; null with one lane.
 */
json_t *cpu_sets_json(const struct cpu_sets *sets);

/* "16 CPUs near its GPUs for each"; NULL: no sets. The caller frees. */
char *cpu_sets_text(const struct cpu_sets *sets);

#endif
