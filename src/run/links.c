#include "run/links.h"

#include "base/clock.h"
#include "base/mem.h"
#include "machine/sensors/sysfs.h"

#include <ctype.h>
#include <string.h>

/* Packets have headers: some 80 % of the raw figure is all that programs get (PCIe Base Specification, TLPs of 256
 * bytes). */
static const double CONTENDED = 0.70;

/* Less than these parts of the link disturbs nobody, and is disturbed by nobody. */
static const double OTHERS_MIN = 0.10, OWN_MIN = 0.02;

/* They are read about once a second. */
static const int64_t FRESH_NS = 3 * NS_PER_S;

void links_init(struct links *links, const char *sysroot)
{
    *links = (struct links){.sysroot = mem_strdup(sysroot ? sysroot : "")};
}

void links_fini(struct links *links)
{
    for (size_t i = 0; i < links->count; i++)
        strv_fini(&links->gpus[i].bridges);
    free(links->gpus);
    free(links->sysroot);
    *links = (struct links){0};
}

/* "0000:81:00.0" */
static bool is_address(const char *name)
{
    size_t digits = strspn(name, "0123456789abcdefABCDEF:");
    return digits >= 7 && digits < 24 && strchr(name, ':') && name[digits] == '.' &&
           isdigit((unsigned char)name[digits + 1]) && name[digits + 2] == '\0';
}

/* The kernel shows a device below its bridges: .../pci0000:80/0000:80:01.0/0000:81:00.0/0000:82:00.0 */
static void read_bridges(const char *sysroot, const char *bus, struct strv *out)
{
    AUTO_FREE char *name = mem_strdup(bus);
    for (char *at = name; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    if (!is_address(name))
        return;
    AUTO_FREE char *link = mem_printf("%s/sys/bus/pci/devices/%s", sysroot, name);
    AUTO_FREE char *path = realpath(link, NULL);
    char *rest = NULL;
    for (char *part = path ? strtok_r(path, "/", &rest) : NULL; part; part = strtok_r(NULL, "/", &rest))
        if (is_address(part) && strcmp(part, name) != 0)
            strv_add(out, part);
}

void links_add(struct links *links, size_t lane, const char *bus)
{
    links->gpus = mem_resize(links->gpus, links->count + 1, sizeof *links->gpus);
    struct link_gpu *gpu = &links->gpus[links->count++];
    *gpu = (struct link_gpu){.lane = lane};
    read_bridges(links->sysroot, bus, &gpu->bridges);
}

static bool is_below(const struct link_gpu *gpu, const char *bridge)
{
    for (size_t i = 0; i < gpu->bridges.count; i++)
        if (strcmp(gpu->bridges.items[i], bridge) == 0)
            return true;
    return false;
}

static bool is_shared(const struct links *links, size_t lane, const char *bridge)
{
    for (size_t i = 0; i < links->count; i++)
        if (links->gpus[i].lane != lane && is_below(&links->gpus[i], bridge))
            return true;
    return false;
}

void links_settle(struct links *links)
{
    struct strv *shared = mem_array(links->count + 1, sizeof *shared);
    for (size_t i = 0; i < links->count; i++)
        for (size_t k = 0; k < links->gpus[i].bridges.count; k++)
            if (is_shared(links, links->gpus[i].lane, links->gpus[i].bridges.items[k]))
                strv_add(&shared[i], links->gpus[i].bridges.items[k]);
    for (size_t i = 0; i < links->count; i++) {
        strv_fini(&links->gpus[i].bridges);
        links->gpus[i].bridges = shared[i];
    }
    free(shared);
}

bool links_shared(const struct links *links)
{
    for (size_t i = 0; i < links->count; i++)
        if (links->gpus[i].bridges.count > 0)
            return true;
    return false;
}

void links_take(struct links *links, size_t gpu, int64_t t_ns, const struct gpu_readings *readings)
{
    links->gpus[gpu].t_ns = t_ns;
    links->gpus[gpu].rate[LINK_SENT] = readings->of[GPU_PCIE_SENT_BYTES_S];
    links->gpus[gpu].rate[LINK_RECEIVED] = readings->of[GPU_PCIE_RECEIVED_BYTES_S];
}

/* Digits, and a point with more of them behind it; whatever the locale. */
static double leading_number(const char *text)
{
    double number = 0, unit = 1;
    for (; isdigit((unsigned char)*text) && number < 1e6; text++)
        number = 10 * number + (*text - '0');
    if (*text == '.')
        for (text++; isdigit((unsigned char)*text) && unit > 1e-6; text++)
            number += (unit /= 10) * (*text - '0');
    return number;
}

double links_capacity(const char *speed, const char *width)
{
    double transfers = leading_number(speed), lanes = leading_number(width);
    if (!strstr(speed, "GT/s") || transfers <= 0 || transfers > 1000 || lanes < 1 || lanes > 32)
        return 0;
    /* 8b/10b up to the second generation, 128b/130b up to the fifth, then flits of 242 bytes in 256. */
    double payload = transfers < 8 ? 0.8 : transfers < 64 ? 128.0 / 130 : 242.0 / 256;
    return transfers * 1e9 / 8 * payload * lanes;
}

static double capacity_of(const struct links *links, const char *bridge)
{
    char speed[64], width[16];
    AUTO_FREE char *speed_path = mem_printf("/sys/bus/pci/devices/%s/current_link_speed", bridge);
    AUTO_FREE char *width_path = mem_printf("/sys/bus/pci/devices/%s/current_link_width", bridge);
    if (!sysfs_line(links->sysroot, speed_path, speed, sizeof speed) ||
        !sysfs_line(links->sysroot, width_path, width, sizeof width))
        return 0;
    return links_capacity(speed, width);
}

/* own: of that lane's GPUs; else of all the others'. Bytes a second over the link above this bridge. */
static double flow(const struct links *links, size_t lane, bool own, const char *bridge, int direction, int64_t now_ns)
{
    double sum = 0;
    for (size_t i = 0; i < links->count; i++) {
        const struct link_gpu *gpu = &links->gpus[i];
        const struct reading *rate = &gpu->rate[direction];
        if ((gpu->lane == lane) == own && rate->valid && now_ns - gpu->t_ns < FRESH_NS && is_below(gpu, bridge))
            sum += rate->value;
    }
    return sum;
}

static void judge_bridge(const struct links *links, size_t lane, const char *bridge, int64_t now_ns,
                         struct link_pressure *out)
{
    double capacity = 0;
    for (int i = 0; i < LINK_DIRECTIONS; i++) {
        double own = flow(links, lane, true, bridge, i, now_ns), others = flow(links, lane, false, bridge, i, now_ns);
        if (own <= 0 || others <= 0)
            continue;
        capacity = capacity > 0 ? capacity : capacity_of(links, bridge);
        if (capacity <= 0)
            return;
        double share = (own + others) / capacity;
        if (share < CONTENDED || others < OTHERS_MIN * capacity || own < OWN_MIN * capacity || share <= out->share)
            continue;
        out->share = share;
        out->others_share = others / capacity;
        out->direction = (enum link_direction)i;
        snprintf(out->bridge, sizeof out->bridge, "%s", bridge);
    }
}

bool links_judge(const struct links *links, size_t lane, int64_t now_ns, struct link_pressure *out)
{
    *out = (struct link_pressure){0};
    for (size_t i = 0; i < links->count; i++)
        for (size_t k = 0; links->gpus[i].lane == lane && k < links->gpus[i].bridges.count; k++)
            judge_bridge(links, lane, links->gpus[i].bridges.items[k], now_ns, out);
    return out->share > 0;
}

bool links_uses(const struct links *links, size_t lane, const struct link_pressure *pressure, int64_t now_ns)
{
    return flow(links, lane, true, pressure->bridge, (int)pressure->direction, now_ns) > 0;
}
