#include "machine/sensors/rapl_perf.h"
#include "base/cpus.h"
#include "base/mem.h"
#include "base/value.h"
#include "machine/sensors/rapl.h"
#include "machine/sensors/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PMU "/sys/bus/event_source/devices/power"

enum { PACKAGES_MAX = 64 };

static const struct event {
    /* of the event, and of the domain; a whole name when per_package is false */
    const char *name, *prefix;
    enum rapl_scope scope;
    bool per_package;
} events[] = {
    {"energy-pkg", "package", RAPL_PACKAGE, true},
    {"energy-ram", "dram", RAPL_DRAM, true},
    {"energy-psys", "psys", RAPL_PLATFORM, false},
};

struct pmu {
    const char *sysroot;
    int (*perf_event_open)(struct perf_event_attr *event, pid_t pid, int cpu, int group,
                           unsigned long flags);
    uint32_t type;
    size_t cpus[PACKAGES_MAX]; /* one of each package, or of each die */
    size_t cpu_count;
};

static int open_by_call(struct perf_event_attr *event, pid_t pid, int cpu, int group,
                        unsigned long flags)
{
    return (int)syscall(SYS_perf_event_open, event, pid, cpu, group, flags);
}

static bool pmu_read(const struct rapl_places *places, struct pmu *out)
{
    char list[4096];
    struct cpus cpus;
    uint64_t type = 0;
    const char *sysroot = places->sysroot ? places->sysroot : "";
    *out = (struct pmu){
        sysroot, places->perf_event_open ? places->perf_event_open : open_by_call, 0, {0}, 0};
    if (!sysfs_number(sysroot, PMU "/type", &type) || type > UINT32_MAX)
        return false;
    out->type = (uint32_t)type;
    if (!sysfs_line(sysroot, PMU "/cpumask", list, sizeof list) ||
        !cpus_parse(list, strlen(list), &cpus) || cpus_count(&cpus) > PACKAGES_MAX)
        return false;
    for (size_t cpu = 0; cpu < CPUS_MAX; cpu++)
        if (cpus_has(&cpus, cpu))
            out->cpus[out->cpu_count++] = cpu;
    return out->cpu_count > 0;
}

static bool event_line(const struct pmu *pmu, const char *name, const char *what, char out[128])
{
    char path[128];
    snprintf(path, sizeof path, PMU "/events/%s%s", name, what);
    return sysfs_line(pmu->sysroot, path, out, 128);
}

static bool event_read(const struct pmu *pmu, const char *name, uint64_t *config, double *unit_uj)
{
    char line[128];
    double joules = 0;
    if (!event_line(pmu, name, "", line) || !sysfs_event_parse(line, strlen(line), config) ||
        !event_line(pmu, name, ".unit", line) || strcmp(line, "Joules") != 0 ||
        !event_line(pmu, name, ".scale", line) || !number_parse(line, &joules) || joules <= 0)
        return false;
    *unit_uj = joules * 1e6;
    return true;
}

static bool topology(const struct pmu *pmu, size_t cpu, const char *what, uint64_t *out)
{
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%zu/topology/%s", cpu, what);
    return sysfs_number(pmu->sysroot, path, out);
}

/* "package-1"; "package-1-die-0" when the PMU counts several dies of one package apart, as powercap
 * names them. */
static void domain_name(const struct pmu *pmu, size_t index, const char *prefix, char *out,
                        size_t size)
{
    uint64_t package = index, die = 0, other = 0;
    topology(pmu, pmu->cpus[index], "physical_package_id", &package);
    bool several = false;
    for (size_t i = 0; i < pmu->cpu_count; i++)
        several |= i != index && topology(pmu, pmu->cpus[i], "physical_package_id", &other) &&
                   other == package;
    if (several && topology(pmu, pmu->cpus[index], "die_id", &die))
        snprintf(out, size, "%s-%llu-die-%llu", prefix, (unsigned long long)package,
                 (unsigned long long)die);
    else
        snprintf(out, size, "%s-%llu", prefix, (unsigned long long)package);
}

/* Above 0 the kernel's setting refuses without CAP_PERFMON; else something else did, such as a
 * container's seccomp filter. */
static char *suggest_perf_fix(const char *sysroot)
{
    char line[32];
    bool set = sysfs_line(sysroot, "/proc/sys/kernel/perf_event_paranoid", line, sizeof line) &&
               line[0] != '-' && strcmp(line, "0") != 0;
    return mem_strdup(set && geteuid() != 0 ? "sudo sysctl kernel.perf_event_paranoid=0"
                                            : "docker run --cap-add PERFMON");
}

static void event_open(const struct pmu *pmu, size_t index, const struct event *event,
                       struct rapl *rapl, char **fix)
{
    char name[40];
    uint64_t config = 0;
    double unit_uj = 0;
    if (!event_read(pmu, event->name, &config, &unit_uj))
        return;
    if (event->per_package)
        domain_name(pmu, index, event->prefix, name, sizeof name);
    else
        snprintf(name, sizeof name, "%s", event->prefix);
    struct rapl_domain *domain = rapl_domain_get(rapl, name, event->scope, RAPL_PERF);
    if (!domain || domain->available)
        return;
    struct perf_event_attr attr = {.type = pmu->type, .size = sizeof attr, .config = config};
    int fd = pmu->perf_event_open(&attr, -1, (int)pmu->cpus[index], -1, PERF_FLAG_FD_CLOEXEC);
    int reason = errno;
    if (fd >= 0) {
        rapl_domain_open(domain, RAPL_PERF, fd, unit_uj, 0);
        return;
    }
    rapl_domain_refuse(
        domain, mem_printf("perf_event_open of power/%s/: %s", event->name, strerror(reason)));
    if ((reason == EACCES || reason == EPERM) && !*fix)
        *fix = suggest_perf_fix(pmu->sysroot);
}

void rapl_perf_find(const struct rapl_places *places, struct rapl *rapl, char **fix)
{
    struct pmu pmu;
    if (!pmu_read(places, &pmu))
        return;
    EACH_OF (event, events)
        for (size_t i = 0; i < (event->per_package ? pmu.cpu_count : 1); i++)
            event_open(&pmu, i, event, rapl, fix);
}
