/* rapl_private: what rapl.c, rapl_perf.c and rapl_powercap.c share. */
#ifndef TARE_MACHINE_SENSORS_RAPL_PRIVATE_H
#define TARE_MACHINE_SENSORS_RAPL_PRIVATE_H

#include "base/err.h"
#include "base/strv.h"
#include "machine/sensors/rapl.h"

enum { RAPL_DOMAINS_MAX = 256 };

#endif
