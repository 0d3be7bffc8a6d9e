/* cpu_split: the energy of the CPU packages divided among those who measure at the same time, by
 * the CPU time of their jobs. An estimate: what idle processors draw, and what a second of CPU time
 * costs, is taken to be everybody's alike. What nobody's job has used (other programs, tare itself,
 * time in which no processor worked) stays unattributed, so that the parts add up to the packages'
 * counters to the millijoule. */
#ifndef TARE_MACHINE_SENSORS_CPU_SPLIT_H
#define TARE_MACHINE_SENSORS_CPU_SPLIT_H

#include "machine/sensors/host.h"

/* Divides energy_mj by CPU seconds (count of them; below 0 counts as 0): busy_s is what all
 * programs together had. Gives what is left. Pure. */
int64_t cpu_split_divide(int64_t energy_mj, double busy_s, const double *cpu_s, size_t count,
                         int64_t *out_mj);

struct cpu_split {
    bool begun, whole;   /* whole: no counter was missing, or went wrong, so far */
    uint64_t busy_ticks; /* as of the last step */
    int64_t stepped_ns;
    int64_t counter_mj;
    double *cpu_s;     /* for each reader of the host's meter */
    int64_t *parts_mj; /* for each reader, since the beginning */
    size_t count;
    int64_t total_mj, unattributed_mj;
};

/* From now on; the readers are there already. */
void cpu_split_begin(struct cpu_split *split, struct host_meter *host);
void cpu_split_fini(struct cpu_split *split);

/* Divides what was drawn since the last step: at the beginning and end of every job, and about once
 * a second. */
void cpu_split_step(struct cpu_split *split, struct host_meter *host);

#endif
