/* rapl_private: what rapl.c, rapl_perf.c and rapl_powercap.c share. */
#ifndef TARE_MACHINE_SENSORS_RAPL_PRIVATE_H
#define TARE_MACHINE_SENSORS_RAPL_PRIVATE_H

#include "base/err.h"
#include "base/strv.h"
#include "machine/sensors/rapl.h"

enum { RAPL_DOMAINS_MAX = 256 };

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

/* Each adds what it finds; a domain that is there and available is left as it is. When something
 * was refused for want of permission the command that permits it goes to *fix, if that is still
 * NULL; the caller frees it. */
void rapl_perf_find(const struct rapl_places *places, struct rapl *rapl, char **fix);
void rapl_powercap_find(const char *sysroot, struct rapl *rapl, char **fix);

#endif
