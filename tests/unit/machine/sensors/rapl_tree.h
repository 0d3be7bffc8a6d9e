/* Powercap zones like those of real machines. */
#ifndef METER_RAPL_TREE_H
#define METER_RAPL_TREE_H

#include "tests/unit/machine/sysroot.h"

#define POWERCAP "/sys/class/powercap"

/* 2^32 - 1 steps of 2^-14 J, as a Xeon says. */
static const unsigned long long RANGE_UJ = 262143328850;

static inline void zone(const struct sysroot *root, const char *name, const char *said,
                        unsigned long long energy_uj)
{
    char path[128];
    snprintf(path, sizeof path, POWERCAP "/%s/name", name);
    AUTO_FREE char *line = mem_printf("%s\n", said);
    sysroot_file(root, path, line);
    snprintf(path, sizeof path, POWERCAP "/%s/max_energy_range_uj", name);
    sysroot_number(root, path, RANGE_UJ);
    snprintf(path, sizeof path, POWERCAP "/%s/energy_uj", name);
    sysroot_number(root, path, energy_uj);
}

/* A laptop as it is often seen: package with core, uncore and dram inside, its twin by memory, and
 * the platform. */
static inline void laptop(const struct sysroot *root)
{
    zone(root, "intel-rapl:0", "package-0", 1000000);
    zone(root, "intel-rapl:0:0", "core", 400000);
    zone(root, "intel-rapl:0:1", "uncore", 50000);
    zone(root, "intel-rapl:0:2", "dram", 200000);
    zone(root, "intel-rapl:1", "psys", 5000000);
    zone(root, "intel-rapl-mmio:0", "package-0", 1000000);
    sysroot_file(root, POWERCAP "/intel-rapl/enabled", "1\n");
}

#endif
