#include "machine/gpu/visible.h"

#include "base/mem.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct search {
    const struct gpu_vendor *vendor;
    const struct gpu_devices *devices;
    struct gpu_visible *out;
};

/* Whether the program could see it. */
static bool can_be_seen(const struct search *search, size_t place)
{
    const struct gpu_device *device = &search->devices->items[place];
    return !device->excluded && device->vendor == search->vendor;
}

static bool starts_with(const char *entry, size_t length, const char *prefix)
{
    return prefix && length >= strlen(prefix) && memcmp(entry, prefix, strlen(prefix)) == 0;
}

static void add_visible(struct search *search, size_t place)
{
    struct gpu_visible *out = search->out;
    MEM_ADD(out->items, out->count) = place;
}

bool gpu_visible_has(const struct gpu_visible *visible, size_t place)
{
    EACH (item, visible->items, visible->count)
        if (*item == place)
            return true;
    return false;
}

static void add_all(struct search *search)
{
    for (size_t i = 0; i < search->devices->count; i++)
        if (can_be_seen(search, i))
            add_visible(search, i);
}

/* As atoi reads it, and cut to an int: that is what the driver does. */
static bool find_number(const struct search *search, const char *entry, size_t *place)
{
    char *end;
    long long number = (int32_t)(uint32_t)(unsigned long long)strtoll(entry, &end, 10);
    if (end == entry || number < 0)
        return false;
    for (size_t i = 0; i < search->devices->count; i++)
        if (can_be_seen(search, i) && number-- == 0) {
            *place = i;
            return true;
        }
    return false;
}

/* Whether the entry is the UUID or its beginning. What stands behind a whole one is not looked
 * at. */
static bool is_uuid_of(const char *uuid, const char *entry, size_t length)
{
    size_t whole = strlen(uuid);
    return whole > 0 && strncasecmp(uuid, entry, length < whole ? length : whole) == 0;
}

/* The one GPU whose UUID begins so. */
static bool find_uuid(const struct search *search, const char *entry, size_t length, size_t *place)
{
    size_t found = 0;
    for (size_t i = 0; i < search->devices->count; i++)
        if (can_be_seen(search, i) && is_uuid_of(search->devices->items[i].uuid, entry, length)) {
            *place = i;
            found++;
        }
    return found == 1;
}

static bool add_unknown(struct search *search)
{
    bool any = false;
    for (size_t i = 0; i < search->devices->count; i++) {
        if (!can_be_seen(search, i) || *search->devices->items[i].uuid)
            continue;
        any = true;
        if (!gpu_visible_has(search->out, i))
            add_visible(search, i);
    }
    return any;
}

/* False: the list ends here. */
static bool parse_visible_entry(struct search *search, const char *entry, size_t length,
                                bool by_uuid)
{
    struct gpu_visible *out = search->out;
    size_t place = 0;
    if (starts_with(entry, length, search->vendor->part_prefix)) {
        out->unsupported = mem_strndup(entry, length);
        return false;
    }
    bool is_uuid = starts_with(entry, length, search->vendor->uuid_prefix);
    /* The first entry decides which kind the list has. */
    bool found = is_uuid == by_uuid && (is_uuid ? find_uuid(search, entry, length, &place)
                                                : find_number(search, entry, &place));
    if (!found && is_uuid && by_uuid && add_unknown(search))
        return true;
    if (!found) {
        out->ended_by = mem_strndup(entry, length);
        return false;
    }
    if (gpu_visible_has(out, place)) {
        out->twice = mem_strndup(entry, length);
        out->count = 0;
        return false;
    }
    add_visible(search, place);
    return true;
}

static bool has_unlike_models(const struct search *search)
{
    const struct gpu_device *first = NULL;
    for (size_t i = 0; i < search->devices->count; i++) {
        if (!can_be_seen(search, i))
            continue;
        if (first && strcmp(first->model, search->devices->items[i].model) != 0)
            return true;
        first = &search->devices->items[i];
    }
    return false;
}

void gpu_visible_find(const struct gpu_vendor *vendor, const struct gpu_devices *devices,
                      const char *value, const char *order, struct gpu_visible *out)
{
    struct search search = {.vendor = vendor, .devices = devices, .out = out};
    *out = (struct gpu_visible){0};
    if (!value) {
        add_all(&search);
        return;
    }
    bool by_uuid = starts_with(value, strlen(value), vendor->uuid_prefix);
    for (const char *entry = value;; entry++) {
        size_t length = strcspn(entry, ",");
        if (!parse_visible_entry(&search, entry, length, by_uuid))
            break;
        entry += length;
        if (!*entry)
            break;
    }
    bool by_bus = !vendor->order_variable || (order && strcmp(order, vendor->order_by_bus) == 0);
    if (!by_uuid && out->count && !by_bus && has_unlike_models(&search))
        out->guessed_number = true;
    /* An empty value and -1 are how people say "none", and a comma at the end is no entry. */
    if (out->ended_by && (!*out->ended_by || strcmp(out->ended_by, "-1") == 0)) {
        free(out->ended_by);
        out->ended_by = NULL;
    }
}

void gpu_visible_fini(struct gpu_visible *visible)
{
    free(visible->items);
    free(visible->ended_by);
    free(visible->twice);
    free(visible->unsupported);
    *visible = (struct gpu_visible){0};
}
