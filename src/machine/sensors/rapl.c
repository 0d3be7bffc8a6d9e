#include "machine/sensors/rapl.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "machine/sensors/rapl_perf.h"
#include "machine/sensors/rapl_powercap.h"
#include "machine/sensors/sysfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *rapl_scope_name(enum rapl_scope scope)
{
    static const char *const names[] = {"CPU package", "DRAM", "platform"};
    return names[scope];
}

const char *rapl_source_name(enum rapl_source source)
{
    return source == RAPL_PERF ? "rapl-perf" : "rapl-powercap";
}

struct rapl_domain *rapl_domain_get(struct rapl *rapl, const char *name, enum rapl_scope scope,
                                    enum rapl_source source)
{
    EACH (item, rapl->domains, rapl->count)
        if (strcmp(item->name, name) == 0)
            return item;
    if (rapl->count >= RAPL_DOMAINS_MAX)
        return NULL;
    struct rapl_domain *domain = &rapl->domains[rapl->count++];
    *domain = (struct rapl_domain){.scope = scope, .source = source, .fd = -1};
    snprintf(domain->name, sizeof domain->name, "%s", name);
    return domain;
}

void rapl_domain_refuse(struct rapl_domain *domain, char *reason)
{
    cleanup_close(&domain->fd);
    domain->fd = -1;
    domain->available = false;
    free(domain->reason);
    domain->reason = reason;
}

void rapl_domain_open(struct rapl_domain *domain, enum rapl_source source, int fd, double unit_uj,
                      uint64_t range_uj)
{
    rapl_domain_refuse(domain, NULL);
    domain->available = true;
    domain->source = source;
    domain->fd = fd;
    domain->unit_uj = unit_uj;
    domain->track = (struct rapl_track){.range_uj = range_uj};
}

static int by_scope(const void *a, const void *b)
{
    const struct rapl_domain *left = a, *right = b;
    if (left->scope != right->scope)
        return left->scope < right->scope ? -1 : 1;
    return strverscmp(left->name, right->name);
}

static bool is_virtual(const char *sysroot)
{
    AUTO_FREE char *info = mem_alloc(1 << 16);
    if (sysfs_read(sysroot, "/proc/cpuinfo", info, 1 << 16) <= 0)
        return false;
    const char *flags = strstr(info, "\nflags");
    const char *end = flags ? strchr(flags + 1, '\n') : NULL;
    const char *word = flags ? strstr(flags, " hypervisor") : NULL;
    return word && (!end || word < end);
}

void rapl_reason_update(struct rapl *rapl)
{
    const struct rapl_domain *refused = NULL;
    EACH (domain, rapl->domains, rapl->count) {
        if (domain->scope != RAPL_PACKAGE)
            continue;
        if (domain->available)
            return;
        refused = refused ? refused : domain;
    }
    if (!refused)
        return;
    free(rapl->reason);
    rapl->reason = mem_printf("%s: %s", refused->name, refused->reason);
}

static void reason_without_package(struct rapl *rapl, const char *sysroot)
{
    EACH (domain, rapl->domains, rapl->count)
        if (domain->scope == RAPL_PACKAGE)
            return;
    rapl->reason = mem_strdup(
        is_virtual(sysroot)
            ? "this is a virtual machine whose host shows it no energy counter of a CPU package"
            : "the kernel shows no energy counter of a CPU package (neither the PMU \"power\" nor "
              "a "
              "powercap zone)");
}

void rapl_open(const struct rapl_places *places, struct rapl *out)
{
    const char *sysroot = places->sysroot ? places->sysroot : "";
    AUTO_FREE char *perf_fix = NULL;
    AUTO_FREE char *powercap_fix = NULL;
    *out = (struct rapl){.domains = mem_array(RAPL_DOMAINS_MAX, sizeof *out->domains)};
    rapl_perf_find(places, out, &perf_fix);
    rapl_powercap_find(sysroot, out, &powercap_fix);
    bool refused = false;
    EACH (domain, out->domains, out->count)
        refused |= !domain->available;
    if (refused)
        out->fix = perf_fix ? steal_ptr(perf_fix) : steal_ptr(powercap_fix);
    if (out->count > 1)
        qsort(out->domains, out->count, sizeof *out->domains, by_scope);
    rapl_reason_update(out);
    reason_without_package(out, sysroot);
}

void rapl_fini(struct rapl *rapl)
{
    EACH (domain, rapl->domains, rapl->count)
        rapl_domain_refuse(domain, NULL);
    free(rapl->domains);
    free(rapl->reason);
    free(rapl->fix);
    *rapl = (struct rapl){0};
}
