/* Thins the traces of gpu.csv for the charts of the page; extremes remain. */
#include "report/page_private.h"

#include "base/csv.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/reading.h"
#include "base/utf8.h"
#include "machine/gpu/readings.h"
#include "results/judge/export.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of gpu.csv: the power and the curves beside it. */
enum { THIN_COLUMNS = 1 + GPU_CURVE_COUNT };

struct thin_row {
    double seconds;
    struct reading of[THIN_COLUMNS];
};

/* The rows of a trace, as few as a chart can show. None is made up: of each stretch of time those
 * with the least and the most of the first column stay. */
struct thin {
    struct thin_row *rows; /* in order of time */
    size_t count;
};

enum { ROWS_MAX = 1 << 18, ROWS_JOINED = 4 };

/* Of rows begin to end - 1 the places of those with the least and the most, in order of time; one
 * where they are the same. */
static size_t extremes(const struct thin_row *rows, size_t begin, size_t end, size_t out[2])
{
    size_t low = begin, high = begin;
    for (size_t i = begin + 1; i < end; i++) {
        const struct reading *value = &rows[i].of[0];
        if (!value->valid)
            continue;
        if (!rows[low].of[0].valid || value->value < rows[low].of[0].value)
            low = i;
        if (!rows[high].of[0].valid || value->value > rows[high].of[0].value)
            high = i;
    }
    out[0] = low < high ? low : high;
    out[1] = low < high ? high : low;
    return low == high ? 1 : 2;
}

/* Keeps extremes, so thinning twice loses no more than thinning once. */
static void halve_thin_rows(struct thin *thin)
{
    size_t kept = 0;
    for (size_t i = 0; i < thin->count; i += ROWS_JOINED) {
        size_t end = i + ROWS_JOINED < thin->count ? i + ROWS_JOINED : thin->count, at[2];
        size_t count = extremes(thin->rows, i, end, at);
        EACH (item, at, count)
            thin->rows[kept++] = thin->rows[*item];
    }
    thin->count = kept;
}

/* Keeps at most some hundred thousand rows, however many come. */
static void thin_add(struct thin *thin, const struct thin_row *row)
{
    if (thin->count == ROWS_MAX)
        halve_thin_rows(thin);
    thin->rows = mem_room(thin->rows, thin->count, sizeof *thin->rows);
    thin->rows[thin->count++] = *row;
}

static void thin_fini(struct thin *thin)
{
    free(thin->rows);
    *thin = (struct thin){0};
}

/* "150" rather than "150.0": most of a page are these. */
static json_t *shortest(struct reading reading)
{
    bool whole =
        reading.valid && reading.value == trunc(reading.value) && fabs(reading.value) < 1e15;
    return whole ? json_integer((json_int_t)reading.value) : json_reading_or_null(reading);
}

/* {"seconds": [...], NAME: [...], ...} of about so many points; NULL among the names: no such
 * column. */
static json_t *thin_json(const struct thin *thin, size_t points,
                         const char *const names[THIN_COLUMNS])
{
    json_t *out = json_object(), *seconds = json_array(), *lists[THIN_COLUMNS] = {0};
    json_object_set_new(out, "seconds", seconds);
    for (size_t i = 0; i < THIN_COLUMNS; i++)
        if (names[i])
            json_object_set_new(out, names[i], lists[i] = json_array());
    size_t buckets = points / 2 ? points / 2 : 1;
    if (thin->count <= points)
        buckets = thin->count;
    for (size_t i = 0; i < buckets; i++) {
        size_t at[2];
        size_t count =
            extremes(thin->rows, thin->count * i / buckets, thin->count * (i + 1) / buckets, at);
        EACH (item, at, count) {
            json_array_append_new(seconds,
                                  shortest((struct reading){thin->rows[*item].seconds, true}));
            for (size_t c = 0; c < THIN_COLUMNS; c++)
                if (lists[c])
                    json_array_append_new(lists[c], shortest(thin->rows[*item].of[c]));
        }
    }
    return out;
}

enum { FILE_MAX_BYTES = 512 << 20 };

#define KEY(which, key, ...) key,
static const char *const names[THIN_COLUMNS] = {"power_w", GPU_CURVES(KEY)};

struct device {
    char *name;
    struct thin rows;
};

struct devices {
    struct device *items;
    size_t count;
};

static void devices_fini(struct devices *devices)
{
    EACH (item, devices->items, devices->count) {
        free(item->name);
        thin_fini(&item->rows);
    }
    free(devices->items);
}

static struct device *device_named(struct devices *devices, const char *name)
{
    EACH (item, devices->items, devices->count)
        if (strcmp(item->name, name) == 0)
            return item;
    devices->items = mem_room(devices->items, devices->count, sizeof *devices->items);
    devices->items[devices->count] = (struct device){.name = mem_strdup(name)};
    return &devices->items[devices->count++];
}

static struct reading read_number_cell(const struct strv *row, size_t at)
{
    if (at >= row->count || row->items[at][0] == '\0')
        return (struct reading){0};
    char *end;
    double value = strtod(row->items[at], &end);
    return (struct reading){.value = value, .valid = *end == '\0' && isfinite(value)};
}

static size_t find_head_column(const struct strv *head, const char *name)
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
    size_t places[THIN_COLUMNS];
    csv_start(&reader, text_get(text), text->length);
    int step = csv_next(&reader, &cells, err);
    if (step <= 0)
        return step == 0;
    places[0] = find_head_column(&cells, "power_draw_w");
    for (size_t i = 0; i < GPU_CURVE_COUNT; i++)
        places[1 + i] = find_head_column(&cells, gpu_reading_rows[gpu_curves[i].of].column);
    size_t gpu = find_head_column(&cells, "gpu"), seconds = find_head_column(&cells, "seconds");
    while ((step = csv_next(&reader, &cells, err)) > 0) {
        struct thin_row row;
        struct reading at = read_number_cell(&cells, seconds);
        for (size_t i = 0; i < THIN_COLUMNS; i++)
            row.of[i] = read_number_cell(&cells, places[i]);
        if (!at.valid)
            continue;
        row.seconds = at.value;
        thin_add(&device_named(devices, gpu < cells.count ? cells.items[gpu] : "GPU")->rows, &row);
    }
    return step == 0;
}

static json_t *trace_json(const char *gpu, const struct thin *rows, size_t points,
                          const char *const columns[THIN_COLUMNS])
{
    json_t *json = json_object(), *lists = thin_json(rows, points, columns);
    json_set_text(json, "gpu", gpu);
    json_object_update(json, lists);
    json_decref(lists);
    return json;
}

json_t *page_trace_read(int folder, size_t points, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    struct devices devices = {0};
    json_t *out = json_array();
    AUTO_CLOSE int energy =
        openat(folder, "energy", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (energy < 0 || faccessat(energy, "gpu.csv", F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        return out;
    bool ok =
        fs_read_at(energy, "gpu.csv", FILE_MAX_BYTES, &text, err) && parse(&text, &devices, err);
    for (size_t i = 0; ok && i < devices.count; i++)
        json_array_append_new(
            out, trace_json(devices.items[i].name, &devices.items[i].rows, points, names));
    devices_fini(&devices);
    if (ok)
        return out;
    json_decref(out);
    err_wrap(err, "energy/gpu.csv");
    return NULL;
}

/* One file of the study's: its own time-stamps. */
struct study_file {
    struct thin rows;
    double *start_s; /* not finite: the first sample's */
};

static void add_thin_sample(void *at, int64_t t_s, const struct reading values[SAMPLES_COLUMNS])
{
    struct study_file *file = at;
    if (!isfinite(*file->start_s))
        *file->start_s = (double)t_s;
    struct thin_row row = {.seconds = nearbyint(((double)t_s - *file->start_s) * 1000) / 1000};
    for (size_t i = 0; i < SAMPLES_COLUMNS; i++)
        row.of[i] = values[i];
    thin_add(&file->rows, &row);
}

json_t *page_trace_study(int folder, double start_s, size_t points, struct err *err)
{
    static const char *const columns[SAMPLES_FILES][THIN_COLUMNS] = {
        [SAMPLES_POWER] = {"power_w"},
        [SAMPLES_UTILISATION] = {"utilisation_percent", "memory_utilisation_percent"},
        [SAMPLES_TEMPERATURE] = {"temperature_c", "memory_temperature_c"},
    };
    json_t *out = json_array();
    bool ok = true;
    AUTO_CLOSE int energy =
        openat(folder, "energy", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    for (enum samples_file i = SAMPLES_POWER; energy >= 0 && i < SAMPLES_FILES; i++) {
        struct study_file file = {.start_s = &start_s};
        struct err reason;
        if (!samples_read(energy, i, add_thin_sample, &file, &reason))
            ok = err_set(err, "energy/%s", reason.text);
        else if (file.rows.count)
            json_array_append_new(out, trace_json("GPU", &file.rows, points, columns[i]));
        thin_fini(&file.rows);
    }
    if (ok)
        return out;
    json_decref(out);
    return NULL;
}

static void add_readable(struct text *out, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count;) {
        struct utf8_step step = utf8_step(bytes + i, count - i);
        if (step.shown || bytes[i] == '\n' || bytes[i] == '\t')
            text_add_bytes(out, bytes + i, step.length);
        else if ((unsigned char)bytes[i] >= 0x80)
            text_add(out, "\xef\xbf\xbd");
        i += step.length;
    }
}

json_t *page_trace_log_end(int folder, size_t bytes)
{
    struct stat st;
    AUTO_TEXT struct text out = {0};
    AUTO_CLOSE int fd =
        openat(folder, "training.log", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
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
