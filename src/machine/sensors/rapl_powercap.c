#include "machine/sensors/rapl_powercap.h"
#include "base/mem.h"
#include "base/text.h"
#include "machine/sensors/rapl.h"
#include "machine/sensors/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define ZONES "/sys/class/powercap"

static bool is_mmio(const char *zone)
{
    return strstr(zone, "-mmio") != NULL;
}

/* Which domain this zone is: false for those inside a package (core, uncore). */
static bool zone_domain(const char *sysroot, const char *zone, char *name, size_t size,
                        enum rapl_scope *scope)
{
    char path[256], said[24];
    snprintf(path, sizeof path, ZONES "/%s/name", zone);
    if (!sysfs_line(sysroot, path, said, sizeof said))
        return false;
    if (strncmp(said, "package-", 8) == 0) {
        *scope = RAPL_PACKAGE;
        snprintf(name, size, "%s", said);
        return true;
    }
    if (strcmp(said, "psys") == 0) {
        *scope = RAPL_PLATFORM;
        snprintf(name, size, "psys");
        return true;
    }
    /* intel-rapl:1:0 stands inside intel-rapl:1, whose name says which package. */
    const char *parent_end = strrchr(zone, ':');
    if (strcmp(said, "dram") != 0 || !parent_end)
        return false;
    snprintf(path, sizeof path, ZONES "/%.*s/name", (int)(parent_end - zone), zone);
    if (!sysfs_line(sysroot, path, said, sizeof said) || strncmp(said, "package-", 8) != 0)
        return false;
    *scope = RAPL_DRAM;
    snprintf(name, size, "dram-%s", said + 8);
    return true;
}

static void zone_open(const char *sysroot, const char *zone, struct rapl *rapl, struct text *denied)
{
    char name[40], path[256];
    enum rapl_scope scope;
    uint64_t range_uj = 0;
    if (strlen(zone) > 64 || !zone_domain(sysroot, zone, name, sizeof name, &scope))
        return;
    struct rapl_domain *domain = rapl_domain_get(rapl, name, scope, RAPL_POWERCAP);
    if (!domain || domain->available)
        return;
    snprintf(path, sizeof path, ZONES "/%s/max_energy_range_uj", zone);
    sysfs_number(sysroot, path, &range_uj);
    snprintf(path, sizeof path, ZONES "/%s/energy_uj", zone);
    AUTO_FREE char *whole = mem_printf("%s%s", sysroot, path);
    int fd = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int reason = errno;
    if (fd >= 0) {
        rapl_domain_open(domain, RAPL_POWERCAP, fd, 1, range_uj);
        return;
    }
    if (domain->reason && domain->source == RAPL_POWERCAP)
        return; /* one twin is as good as the other */
    if ((reason == EACCES || reason == EPERM) && scope != RAPL_PLATFORM)
        text_addf(denied, " %s", path);
    const char *before = domain->reason ? domain->reason : "";
    domain->source = RAPL_POWERCAP;
    rapl_domain_refuse(domain, mem_printf("%s%sopen %s: %s", before, before[0] ? "; " : "", path,
                                          strerror(reason)));
}

void rapl_powercap_find(const char *sysroot, struct rapl *rapl, char **fix)
{
    AUTO_STRV struct strv zones = {0};
    AUTO_TEXT struct text denied = {0};
    if (!sysfs_list(sysroot, ZONES, &zones))
        return;
    /* A package may be there twice, by its registers (MSR) and by memory (MMIO): the counter is one
     * and the same. */
    for (int mmio = 0; mmio <= 1; mmio++)
        EACH (item, zones.items, zones.count)
            if (strchr(*item, ':') && is_mmio(*item) == mmio)
                zone_open(sysroot, *item, rapl, &denied);
    if (denied.length > 0 && !*fix)
        *fix = mem_printf("sudo chmod a+r%s", text_get(&denied));
}
