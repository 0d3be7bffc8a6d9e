#include "report/page_trace.h"

#include "base/csv.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/reading.h"
#include "pattern/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX_BYTES = 512 << 20 };

enum column { COLUMN_SECONDS, COLUMN_POWER, COLUMN_TEMPERATURE, COLUMN_UTILISATION, COLUMN_MEMORY, COLUMN_COUNT };

static const struct {
    const char *csv, *json;
} columns[COLUMN_COUNT] = {
    [COLUMN_SECONDS] = {"seconds", "seconds"},
    [COLUMN_POWER] = {"power_draw_w", "power_w"},
    [COLUMN_TEMPERATURE] = {"temperature_c", "temperature_c"},
    [COLUMN_UTILISATION] = {"utilisation_percent", "utilisation_percent"},
    [COLUMN_MEMORY] = {"memory_used_mib", "memory_mib"},
};

struct row {
    struct reading of[COLUMN_COUNT];
};

struct device {
    char *name;
    struct row *rows;
    size_t count, capacity;
};

struct devices {
    struct device *items;
    size_t count, capacity;
};

static void devices_fini(struct devices *devices)
{
    for (size_t i = 0; i < devices->count; i++) {
        free(devices->items[i].name);
        free(devices->items[i].rows);
    }
    free(devices->items);
}

static struct device *device_named(struct devices *devices, const char *name)
{
    for (size_t i = 0; i < devices->count; i++)
        if (strcmp(devices->items[i].name, name) == 0)
            return &devices->items[i];
    devices->items = mem_room(devices->items, devices->count, &devices->capacity, sizeof *devices->items);
    devices->items[devices->count] = (struct device){.name = mem_strdup(name)};
    return &devices->items[devices->count++];
}

static struct reading cell(const struct strv *row, size_t at)
{
    if (at >= row->count || row->items[at][0] == '\0')
        return (struct reading){0};
    char *end;
    double value = strtod(row->items[at], &end);
    return (struct reading){.value = value, .valid = *end == '\0' && isfinite(value)};
}

static size_t place_of(const struct strv *head, const char *name)
{
    for (size_t i = 0; i < head->count; i++)
        if (strcmp(head->items[i], name) == 0)
            return i;
    return SIZE_MAX;
}

static bool parse(const struct text *text, struct devices *devices, struct err *err)
{
    struct csv_reader reader;
    AUTO_STRV struct strv cells = {0};
    size_t places[COLUMN_COUNT], gpu;
    csv_start(&reader, text_get(text), text->length);
    int step = csv_next(&reader, &cells, err);
    if (step <= 0)
        return step == 0;
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        places[i] = place_of(&cells, columns[i].csv);
    gpu = place_of(&cells, "gpu");
    while ((step = csv_next(&reader, &cells, err)) > 0) {
        struct row row;
        for (size_t i = 0; i < COLUMN_COUNT; i++)
            row.of[i] = cell(&cells, places[i]);
        if (!row.of[COLUMN_SECONDS].valid)
            continue;
        struct device *device = device_named(devices, gpu < cells.count ? cells.items[gpu] : "GPU");
        device->rows = mem_room(device->rows, device->count, &device->capacity, sizeof *device->rows);
        device->rows[device->count++] = row;
    }
    return step == 0;
}

static void add_row(json_t *lists[COLUMN_COUNT], const struct row *row)
{
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        json_array_append_new(lists[i], row->of[i].valid ? json_real(row->of[i].value) : json_null());
}

/* Of rows begin to end - 1: where power was least and most, in the order of time. */
static void add_bucket(json_t *lists[COLUMN_COUNT], const struct device *device, size_t begin, size_t end)
{
    size_t low = begin, high = begin;
    for (size_t i = begin + 1; i < end; i++) {
        const struct reading *power = &device->rows[i].of[COLUMN_POWER];
        if (power->valid && power->value < device->rows[low].of[COLUMN_POWER].value)
            low = i;
        if (power->valid && power->value > device->rows[high].of[COLUMN_POWER].value)
            high = i;
    }
    add_row(lists, &device->rows[low < high ? low : high]);
    if (low != high)
        add_row(lists, &device->rows[low < high ? high : low]);
}

static json_t *device_json(const struct device *device, size_t points)
{
    json_t *json = json_object();
    json_t *lists[COLUMN_COUNT];
    json_object_set_new(json, "gpu", json_string(device->name));
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        lists[i] = json_array();
        json_object_set_new(json, columns[i].json, lists[i]);
    }
    size_t buckets = points / 2 ? points / 2 : 1;
    if (device->count <= points)
        buckets = device->count;
    /* The ends are shown as they are, whatever the stretches hold. */
    for (size_t i = 0; i < buckets; i++)
        add_bucket(lists, device, device->count * i / buckets, device->count * (i + 1) / buckets);
    return json;
}

json_t *page_trace_read(int folder, size_t points, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    struct devices devices = {0};
    json_t *out = json_array();
    AUTO_CLOSE int energy = openat(folder, "energy", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (energy < 0 || faccessat(energy, "gpu.csv", F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        return out;
    bool ok = fs_read_at(energy, "gpu.csv", FILE_MAX_BYTES, &text, err) && parse(&text, &devices, err);
    for (size_t i = 0; ok && i < devices.count; i++)
        json_array_append_new(out, device_json(&devices.items[i], points));
    devices_fini(&devices);
    if (ok)
        return out;
    json_decref(out);
    err_wrap(err, "energy/gpu.csv");
    return NULL;
}

static void add_readable(struct text *out, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count;) {
        size_t length = utf8_length(bytes + i, count - i);
        unsigned char c = (unsigned char)bytes[i];
        bool control = length == 1 && (c < 0x20 || c == 0x7f) && c != '\n' && c != '\t';
        if (length > 0 && !control)
            text_add_bytes(out, bytes + i, length);
        else if (length == 0)
            text_add(out, "\xef\xbf\xbd");
        i += length ? length : 1;
    }
}

json_t *page_trace_log_end(int folder, size_t bytes)
{
    struct stat st;
    AUTO_TEXT struct text out = {0};
    AUTO_CLOSE int fd = openat(folder, "training.log", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return json_null();
    off_t start = st.st_size > (off_t)bytes ? st.st_size - (off_t)bytes : 0;
    AUTO_FREE char *tail = mem_alloc(bytes + 1);
    ssize_t got = pread(fd, tail, bytes, start);
    if (got < 0)
        return json_null();
    /* Not from the middle of a line, unless it is the only one. */
    char *line = start > 0 ? memchr(tail, '\n', (size_t)got) : NULL;
    size_t skip = line && line + 1 < tail + got ? (size_t)(line + 1 - tail) : 0;
    add_readable(&out, tail + skip, (size_t)got - skip);
    return json_stringn(text_get(&out), out.length);
}
