#include "machine/gpu/vendor.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct gpu_vendor *gpu_vendor_by_id(const char *id)
{
    for (size_t i = 0; gpu_vendors[i]; i++)
        if (!id || strcmp(gpu_vendors[i]->id, id) == 0)
            return gpu_vendors[i];
    return NULL;
}

const struct gpu_vendor *gpu_vendor_by_uuid(const char *uuid, size_t length)
{
    for (size_t i = 0; gpu_vendors[i]; i++) {
        size_t prefix = strlen(gpu_vendors[i]->uuid_prefix);
        if (length > prefix && strncmp(uuid, gpu_vendors[i]->uuid_prefix, prefix) == 0)
            return gpu_vendors[i];
    }
    return NULL;
}

char *gpu_vendor_device_path(const struct gpu_vendor *vendor, const char *dev, int minor)
{
    return mem_printf("%s/%s%d", dev, vendor->device_name, minor);
}

const struct gpu_vendor *gpu_vendor_of_device(const char *name)
{
    for (size_t i = 0; gpu_vendors[i]; i++) {
        size_t length = strlen(gpu_vendors[i]->device_name);
        if (strncmp(name, gpu_vendors[i]->device_name, length) == 0 && name[length] &&
            name[length + strspn(name + length, "0123456789")] == '\0')
            return gpu_vendors[i];
    }
    return NULL;
}

const struct gpu_vendor *gpu_vendor_of_control(const char *name)
{
    for (size_t i = 0; gpu_vendors[i]; i++)
        if (gpu_vendors[i]->control_device && strcmp(name, gpu_vendors[i]->control_device) == 0)
            return gpu_vendors[i];
    return NULL;
}

char *gpu_vendor_names(void)
{
    struct text names = {0};
    for (size_t i = 0; gpu_vendors[i]; i++)
        text_addf(&names, "%s%s",
                  i == 0               ? ""
                  : gpu_vendors[i + 1] ? ", "
                                       : " or ",
                  gpu_vendors[i]->name);
    return text_take(&names);
}

const struct gpu_vendor *gpu_vendor_loaded(const char *dev, const struct gpu_vendor *after)
{
    bool passed = !after;
    for (size_t i = 0; gpu_vendors[i]; i++) {
        const char *control = gpu_vendors[i]->control_device;
        AUTO_FREE char *path = mem_printf("%s/%s", dev, control ? control : "");
        if (passed && control && access(path, F_OK) == 0)
            return gpu_vendors[i];
        passed = passed || gpu_vendors[i] == after;
    }
    return NULL;
}

const char *gpu_vendor_driver_in(const json_t *machine)
{
    const char *text = NULL;
    for (size_t i = 0; !text && gpu_vendors[i]; i++)
        text = json_get_text(machine, gpu_vendors[i]->driver_key);
    return text;
}

void gpu_device_set_uuid(struct gpu_device *device, const char *start, const char *end)
{
    size_t length = (size_t)(end - start), prefix = strlen(device->vendor->uuid_prefix);
    if (length <= prefix || length >= sizeof device->uuid ||
        strncmp(start, device->vendor->uuid_prefix, prefix) != 0)
        return;
    for (const char *at = start + prefix; at < end; at++)
        if (!isxdigit((unsigned char)*at) && *at != '-')
            return;
    memcpy(device->uuid, start, length);
    device->uuid[length] = '\0';
}

void gpu_device_set_bus(struct gpu_device *device, const char *start, const char *end)
{
    size_t length = (size_t)(end - start);
    if (length == 0 || length >= sizeof device->bus)
        return;
    for (const char *at = start; at < end; at++)
        if (!isxdigit((unsigned char)*at) && *at != ':' && (*at != '.' || at == start))
            return;
    memcpy(device->bus, start, length);
    device->bus[length] = '\0';
}

void gpu_devices_add(struct gpu_devices *devices, const struct gpu_device *device)
{
    MEM_ADD(devices->items, devices->count) = *device;
}

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

size_t gpu_devices_number(const struct gpu_devices *devices, const struct gpu_vendor *vendor,
                          size_t place)
{
    size_t number = 0;
    EACH (item, devices->items, place)
        number += !item->excluded && (!vendor || item->vendor == vendor);
    return number;
}

bool gpu_devices_have(const struct gpu_devices *devices, const struct gpu_vendor *vendor)
{
    EACH (item, devices->items, devices->count)
        if (item->vendor == vendor)
            return true;
    return false;
}
