#include "machine/gpu/vendor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By number: a domain may have more than four digits. */
static int compare_bus(const void *left, const void *right)
{
    const struct gpu_device *a = left, *b = right;
    unsigned x[4] = {0}, y[4] = {0};
    sscanf(a->bus, "%x:%x:%x.%x", &x[0], &x[1], &x[2], &x[3]);
    sscanf(b->bus, "%x:%x:%x.%x", &y[0], &y[1], &y[2], &y[3]);
    for (size_t i = 0; i < 4; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return strcmp(a->bus, b->bus);
}

bool gpu_devices_read(const char *root, struct gpu_devices *out, struct err *err)
{
    bool good = true;
    *out = (struct gpu_devices){0};
    for (size_t i = 0; gpu_vendors[i]; i++) {
        size_t before = out->count;
        good = gpu_vendors[i]->add_devices(root, out, good ? err : NULL) && good;
        if (out->count > before)
            qsort(out->items + before, out->count - before, sizeof *out->items, compare_bus);
    }
    return good;
}

void gpu_devices_fini(struct gpu_devices *devices)
{
    free(devices->items);
    *devices = (struct gpu_devices){0};
}

size_t gpu_devices_number(const struct gpu_devices *devices, const struct gpu_vendor *vendor, size_t place)
{
    size_t number = 0;
    for (size_t i = 0; i < place; i++)
        number += !devices->items[i].excluded && (!vendor || devices->items[i].vendor == vendor);
    return number;
}

bool gpu_devices_have(const struct gpu_devices *devices, const struct gpu_vendor *vendor)
{
    for (size_t i = 0; i < devices->count; i++)
        if (devices->items[i].vendor == vendor)
            return true;
    return false;
}
