/* Powercap zones: /sys/class/powercap/intel-rapl:0 and below (AMD's have that name too;
 * Documentation/power/powercap of the kernel). */
#ifndef TARE_MACHINE_SENSORS_RAPL_POWERCAP_H
#define TARE_MACHINE_SENSORS_RAPL_POWERCAP_H

#include "machine/sensors/rapl_private.h"

void rapl_powercap_find(const char *sysroot, struct rapl *rapl, char **fix);

#endif
