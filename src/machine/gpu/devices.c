#include "machine/gpu/devices.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { INFORMATION_MAX = 65536, MINOR_MAX = 255 };

/* The driver pads with tabs and blanks. */
static void trim(const char **start, const char **end)
{
    while (*start < *end && (**start == ' ' || **start == '\t'))
        (*start)++;
    while (*end > *start && ((*end)[-1] == ' ' || (*end)[-1] == '\t' || (*end)[-1] == '\r'))
        (*end)--;
}

static void copy_printable(char *out, size_t size, const char *start, const char *end)
{
    size_t length = (size_t)(end - start);
    if (length >= size)
        return;
    memcpy(out, start, length);
    out[length] = '\0';
    utf8_make_printable(out, "");
}

/* Only what can stand in a file's name: a lock is named after it. */
static void copy_uuid(char *out, const char *start, const char *end)
{
    if (end - start < 5 || end - start >= GPU_UUID_SIZE || strncmp(start, "GPU-", 4) != 0)
        return;
    for (const char *at = start + 4; at < end; at++)
        if (!isxdigit((unsigned char)*at) && *at != '-')
            return;
    copy_printable(out, GPU_UUID_SIZE, start, end);
}

static void copy_bus(char *out, const char *start, const char *end)
{
    if (start == end || end - start >= GPU_BUS_SIZE)
        return;
    for (const char *at = start; at < end; at++)
        if (!isxdigit((unsigned char)*at) && *at != ':' && (*at != '.' || at == start))
            return;
    copy_printable(out, GPU_BUS_SIZE, start, end);
}

static int minor_of(const char *start, const char *end)
{
    int minor = 0;
    if (start == end)
        return -1;
    for (const char *at = start; at < end; at++) {
        if (*at < '0' || *at > '9')
            return -1;
        minor = minor * 10 + (*at - '0');
        if (minor > MINOR_MAX)
            return -1;
    }
    return minor;
}

static bool is_name(const char *start, const char *end, const char *name)
{
    size_t length = strlen(name);
    return (size_t)(end - start) == length && memcmp(start, name, length) == 0;
}

/* True: a field that only a GPU has. */
static bool take_field(const char *line, const char *line_end, struct gpu_device *out)
{
    const char *name = line, *colon = memchr(line, ':', (size_t)(line_end - line));
    if (!colon)
        return false;
    const char *name_end = colon, *value = colon + 1, *end = line_end;
    trim(&name, &name_end);
    trim(&value, &end);
    if (is_name(name, name_end, "Model"))
        copy_printable(out->model, sizeof out->model, value, end);
    else if (is_name(name, name_end, "GPU UUID"))
        copy_uuid(out->uuid, value, end);
    else if (is_name(name, name_end, "Bus Location"))
        copy_bus(out->bus, value, end);
    else if (is_name(name, name_end, "Device Minor"))
        out->minor = minor_of(value, end);
    else if (is_name(name, name_end, "GPU Firmware"))
        copy_printable(out->firmware, sizeof out->firmware, value, end);
    else if (is_name(name, name_end, "GPU Excluded"))
        out->excluded = is_name(value, end, "Yes");
    else
        return false;
    return true;
}

bool gpu_information_parse(const char *bytes, size_t count, struct gpu_device *out)
{
    bool found = false;
    *out = (struct gpu_device){.minor = -1};
    for (const char *line = bytes, *end = bytes + count; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *line_end = newline ? newline : end;
        found |= take_field(line, line_end, out);
        line = line_end + 1;
    }
    return found;
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

static bool add_device(int folder, const char *name, struct gpu_devices *out, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    AUTO_FREE char *path = mem_printf("%s/information", name);
    struct gpu_device device;
    if (!fs_read_kernel(folder, path, INFORMATION_MAX, &text, err))
        return false;
    if (!gpu_information_parse(text_get(&text), text.length, &device))
        return err_set(err, "%s says nothing of a GPU", path);
    if (!*device.bus)
        copy_bus(device.bus, name, name + strlen(name));
    out->items = mem_room(out->items, out->count, &out->capacity, sizeof *out->items);
    out->items[out->count++] = device;
    return true;
}

bool gpu_devices_read(const char *root, struct gpu_devices *out, struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/proc/driver/nvidia/gpus", root);
    bool good = true;
    *out = (struct gpu_devices){0};
    DIR *folder = opendir(path);
    if (!folder)
        return errno == ENOENT || err_sys(err, "open %s", path);
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.' && !add_device(dirfd(folder), entry->d_name, out, good ? err : NULL)) {
            if (good)
                err_wrap(err, "%s", path);
            good = false;
        }
    closedir(folder);
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, compare_bus);
    return good;
}

void gpu_devices_fini(struct gpu_devices *devices)
{
    free(devices->items);
    *devices = (struct gpu_devices){0};
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May ...": the first word of digits and dots. */
char *gpu_driver_version(const char *root)
{
    AUTO_FREE char *path = mem_printf("%s/proc/driver/nvidia/version", root);
    AUTO_TEXT struct text text = {0};
    if (!fs_read_kernel(AT_FDCWD, path, INFORMATION_MAX, &text, NULL))
        return NULL;
    const char *at = text_get(&text);
    const char *end = at + strcspn(at, "\n");
    while (at < end) {
        size_t length = strcspn(at, " \t\n");
        if (length > 2 && strspn(at, "0123456789.") >= length && memchr(at, '.', length))
            return mem_strndup(at, length);
        at += length;
        at += strspn(at, " \t");
    }
    return NULL;
}
