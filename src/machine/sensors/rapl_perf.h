/* rapl_perf: the PMU "power" of perf_event: counters of 64 bits that never wrap
 * (arch/x86/events/rapl.c of the kernel). */
#ifndef TARE_MACHINE_SENSORS_RAPL_PERF_H
#define TARE_MACHINE_SENSORS_RAPL_PERF_H

#include "machine/sensors/rapl_private.h"

/* Each adds what it finds; a domain that is there and available is left as it is. When something
 * was refused for want of permission the command that permits it goes to *fix, if that is still
 * NULL; the caller frees it. */
void rapl_perf_find(const struct rapl_places *places, struct rapl *rapl, char **fix);

#endif
