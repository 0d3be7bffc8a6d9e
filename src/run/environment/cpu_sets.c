#include "run/environment/cpu_sets.h"

#include "base/json.h"
#include "base/mem.h"
#include "machine/sensors/sysfs.h"

#include <ctype.h>
#include <errno.h>

/* Large enough for thousands of processors without ranges. */
enum { LIST_MAX = 65536, NODES_MAX = 1024 };

/* The kernel names device folders in lower case. Rejects all but PCI addresses. */
static char *device_path(const char *bus, const char *file)
{
    AUTO_FREE char *name = mem_strdup(bus);
    for (char *at = name; *at; at++) {
        *at = (char)tolower((unsigned char)*at);
        if (!isxdigit((unsigned char)*at) && *at != ':' && (*at != '.' || at == name))
            return NULL;
    }
    return *name ? mem_printf("/sys/bus/pci/devices/%s/%s", name, file) : NULL;
}

static bool read_cpu_list(const char *root, const char *path, struct cpus *out)
{
    AUTO_FREE char *text = mem_alloc(LIST_MAX);
    ssize_t length = sysfs_read(root, path, text, LIST_MAX);
    if (length < 0)
        return false;
    errno = EINVAL;
    return length < LIST_MAX - 1 && cpus_parse(text, (size_t)length, out);
}

/* Without NUMA the file contains -1. */
static int read_node(const char *root, const char *bus)
{
    AUTO_FREE char *path = device_path(bus, "numa_node");
    uint64_t node;
    return path && sysfs_number(root, path, &node) && node < NODES_MAX ? (int)node : -1;
}

bool cpu_sets_near(const char *root, const char *bus, struct cpus *out, int *node, struct err *err)
{
    AUTO_FREE char *path = device_path(bus, "local_cpulist");
    if (!path)
        return err_set(err, "'%s' is no PCI address", bus);
    *node = read_node(root, bus);
    bool told = read_cpu_list(root, path, out);
    if (!told && errno == ENOENT && *node >= 0) {
        free(path);
        path = mem_printf("/sys/devices/system/node/node%d/cpulist", *node);
        told = read_cpu_list(root, path, out);
    }
    if (!told)
        return err_sys(err, "read %s", path);
    return cpus_count(out) > 0 || err_set(err, "%s: no processor is near", path);
}

/* Without topology each processor counts as a core. */
static void read_cores(const char *root, const struct cpus *cpus, unsigned short *core_of)
{
    for (size_t cpu = 0; cpu < CPUS_MAX; cpu++) {
        core_of[cpu] = (unsigned short)cpu;
        if (!cpus_has(cpus, cpu))
            continue;
        AUTO_FREE char *path =
            mem_printf("/sys/devices/system/cpu/cpu%zu/topology/thread_siblings_list", cpu);
        struct cpus siblings;
        if (!read_cpu_list(root, path, &siblings) || !cpus_has(&siblings, cpu))
            continue;
        core_of[cpu] = 0;
        while (!cpus_has(&siblings, core_of[cpu]))
            core_of[cpu]++;
    }
}

static size_t count_cores(const struct cpus *cpus, const unsigned short *core_of)
{
    struct cpus cores = {0};
    for (size_t cpu = 0; cpu < CPUS_MAX; cpu++)
        if (cpus_has(cpus, cpu))
            cpus_add(&cores, core_of[cpu]);
    return cpus_count(&cores);
}

/* Takes the first free cores, because neighbours share caches. False: fewer than quota. */
static bool assign_cores(const struct cpus *near, const unsigned short *core_of, size_t quota,
                         struct cpus *taken, struct cpus *out)
{
    struct cpus mine = {0};
    size_t got = 0;
    *out = (struct cpus){0};
    for (size_t cpu = 0; cpu < CPUS_MAX; cpu++) {
        size_t core = core_of[cpu];
        if (!cpus_has(near, cpu) || cpus_has(taken, core) ||
            (got == quota && !cpus_has(&mine, core)))
            continue;
        got += !cpus_has(&mine, core);
        cpus_add(&mine, core);
        cpus_add(out, cpu);
    }
    cpus_add_all(taken, &mine);
    return got == quota;
}

/* Lanes with the fewest cores choose first. */
static void sort_lanes(size_t *order, const size_t *cores, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t k = i;
        for (; k > 0 && cores[order[k - 1]] > cores[i]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
}

/* out[i] becomes a part of near[i]. core_of[n]: first thread of the core of processor n (CPUS_MAX
 * entries). Pure. False: too few processors. */
static bool deal_processors(const struct cpus *near, size_t count, const unsigned short *core_of,
                            struct cpus *out)
{
    AUTO_FREE size_t *cores = mem_array(count + 1, sizeof *cores),
                     *order = mem_array(count + 1, sizeof *order);
    struct cpus all = {0};
    size_t quota = CPUS_MAX;
    for (size_t i = 0; i < count; i++) {
        cores[i] = count_cores(&near[i], core_of);
        quota = cores[i] < quota ? cores[i] : quota;
        cpus_add_all(&all, &near[i]);
    }
    sort_lanes(order, cores, count);
    size_t even = count > 0 ? count_cores(&all, core_of) / count : 0;
    for (quota = even < quota ? even : quota; quota > 0; quota--) {
        struct cpus taken = {0};
        size_t done = 0;
        while (done < count &&
               assign_cores(&near[order[done]], core_of, quota, &taken, &out[order[done]]))
            done++;
        if (done == count)
            return true;
    }
    return false;
}

static bool find_near_lane(const char *root, const struct strv *buses, const struct cpus *allowed,
                           struct cpus *out, int *node, struct err *err)
{
    *out = (struct cpus){0};
    for (size_t i = 0; i < buses->count; i++) {
        struct cpus one;
        int of_one;
        if (!cpu_sets_near(root, buses->items[i], &one, &of_one, err))
            return false;
        cpus_add_all(out, &one);
        *node = i == 0 || *node == of_one ? of_one : -1;
    }
    cpus_keep(out, allowed);
    return cpus_count(out) > 0 ||
           err_set(err, "none of the processors near %s is among those that this run may use",
                   buses->items[0]);
}

static bool make_cpu_sets(const char *root, const struct strv *buses, const struct cpus *allowed,
                          struct cpu_sets *out)
{
    AUTO_FREE struct cpus *near = mem_array(out->count, sizeof *near);
    AUTO_FREE unsigned short *core_of = mem_array(CPUS_MAX, sizeof *core_of);
    struct cpus all = {0};
    for (size_t i = 0; i < out->count; i++) {
        if (buses[i].count == 0)
            return err_set(&out->why, "it is not known which GPUs the slots have");
        if (!find_near_lane(root, &buses[i], allowed, &near[i], &out->nodes[i], &out->why))
            return false;
        cpus_add_all(&all, &near[i]);
    }
    read_cores(root, &all, core_of);
    if (deal_processors(near, out->count, core_of, out->lanes))
        return true;
    for (size_t cpu = 0; cpu < CPUS_MAX; cpu++)
        core_of[cpu] = (unsigned short)cpu;
    return deal_processors(near, out->count, core_of, out->lanes) ||
           err_set(&out->why, "%zu processors near the GPUs are too few for %zu slots",
                   cpus_count(&all), out->count);
}

void cpu_sets_make(const char *root, const struct strv *buses, size_t lane_count,
                   const struct cpus *allowed, struct cpu_sets *out)
{
    *out = (struct cpu_sets){.count = lane_count};
    if (lane_count < 2)
        return;
    out->lanes = mem_array(lane_count, sizeof *out->lanes);
    out->nodes = mem_array(lane_count, sizeof *out->nodes);
    if (make_cpu_sets(root, buses, allowed, out))
        return;
    free(out->lanes);
    out->lanes = NULL;
}

void cpu_sets_fini(struct cpu_sets *sets)
{
    free(sets->lanes);
    free(sets->nodes);
    *sets = (struct cpu_sets){0};
}

json_t *cpu_sets_json(const struct cpu_sets *sets)
{
    if (sets->count < 2)
        return json_null();
    json_t *lanes = sets->lanes ? json_array() : json_null();
    for (size_t i = 0; sets->lanes && i < sets->count; i++) {
        AUTO_TEXT struct text cpus = {0};
        cpus_print(&sets->lanes[i], &cpus);
        json_t *lane = json_pack("{s:I, s:o, s:s}", "lane", (json_int_t)i + 1, "node",
                                 sets->nodes[i] >= 0 ? json_integer(sets->nodes[i]) : json_null(),
                                 "cpus", text_get(&cpus));
        json_array_append_new(lanes, lane);
    }
    return json_pack("{s:o, s:s?}", "lanes", lanes, "why_none",
                     *sets->why.text ? sets->why.text : NULL);
}

char *cpu_sets_text(const struct cpu_sets *sets)
{
    if (!sets->lanes)
        return NULL;
    size_t each = cpus_count(&sets->lanes[0]);
    return mem_printf("%zu CPU%s near its GPUs for each", each, each == 1 ? "" : "s");
}
