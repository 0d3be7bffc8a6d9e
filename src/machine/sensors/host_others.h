/* host_others: what other processes used, by each one's own CPU clock. */
#ifndef TARE_MACHINE_SENSORS_HOST_OTHERS_H
#define TARE_MACHINE_SENSORS_HOST_OTHERS_H

#include "machine/sensors/host.h"

struct host_others *host_others_new(const char *sysroot);

void host_others_free(struct host_others *others);

void host_others_begin(struct host_others *others);

struct reading host_others_s(struct host_others *others);

/* Those of the others that used most of what host_others_s found last. False: none lives. */
bool host_others_busiest(const struct host_others *others, struct host_other *out);

#endif
