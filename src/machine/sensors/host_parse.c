#include "machine/sensors/host_parse.h"

#include "base/procfs.h"

#include <limits.h>
#include <string.h>

static const char *line_end(const char *line, const char *end)
{
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    return newline ? newline : end;
}

/* The next word of a line parted by blanks: its start, and *at behind it. NULL: none is left. */
static const char *word_next(const char **at, const char *end)
{
    while (*at < end && **at == ' ')
        (*at)++;
    const char *word = *at;
    while (*at < end && **at != ' ')
        (*at)++;
    return *at > word ? word : NULL;
}

static bool next_capped_number(const char **at, const char *end, uint64_t *out)
{
    const char *word = word_next(at, end);
    /* A quarter of what fits, so that sums of a few fit too. */
    return word && proc_number_parse(word, (size_t)(*at - word), UINT64_MAX / 16, out);
}

/* user nice system idle iowait irq softirq steal guest guest_nice; older kernels have fewer.
 * Guests' time is in user and nice. */
static bool ticks_parse(const char *at, const char *end, struct host_cpu *out)
{
    uint64_t field[8] = {0};
    size_t count = 0;
    while (count < 8 && next_capped_number(&at, end, &field[count]))
        count++;
    out->busy_ticks = field[0] + field[1] + field[2] + field[5] + field[6];
    out->stolen_ticks = field[7];
    return count >= 4;
}

bool host_cpu_parse(const char *bytes, size_t count, struct host_cpu *out)
{
    const char *end = bytes + count;
    bool sum = false;
    *out = (struct host_cpu){0};
    for (const char *line = bytes; line < end; line = line_end(line, end) + 1) {
        const char *stop = line_end(line, end);
        if (stop - line < 4 || memcmp(line, "cpu", 3) != 0)
            continue;
        if (line[3] == ' ')
            sum = ticks_parse(line + 4, stop, out);
        else if (line[3] >= '0' && line[3] <= '9')
            out->cpus++;
        if (stop == end)
            break;
    }
    return sum && out->cpus > 0;
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345", microseconds. */
static bool pressure_line(const char *line, const char *stop, const char *kind, struct reading *out)
{
    static const char key[] = "total=";
    const size_t length = strlen(kind);
    uint64_t total_us = 0;
    if ((size_t)(stop - line) <= length || memcmp(line, kind, length) != 0 || line[length] != ' ')
        return false;
    const char *at = line + length;
    for (const char *word; (word = word_next(&at, stop));) {
        if ((size_t)(at - word) < sizeof key || memcmp(word, key, sizeof key - 1) != 0)
            continue;
        if (!proc_number_parse(word + sizeof key - 1, (size_t)(at - word) - (sizeof key - 1),
                               UINT64_MAX, &total_us))
            return false;
        *out = (struct reading){(double)total_us / 1e6, true};
        return true;
    }
    return false;
}

bool host_pressure_parse(const char *bytes, size_t count, struct host_pressure *out)
{
    const char *end = bytes + count;
    *out = (struct host_pressure){0};
    for (const char *line = bytes; line < end;) {
        const char *stop = line_end(line, end);
        if (!pressure_line(line, stop, "some", &out->some_s))
            pressure_line(line, stop, "full", &out->full_s);
        line = stop < end ? stop + 1 : end;
    }
    return out->some_s.valid || out->full_s.valid;
}

static bool device_parse(const char *word, const char *stop, struct host_device_io *out)
{
    const char *colon = memchr(word, ':', (size_t)(stop - word));
    uint64_t major = 0, minor = 0;
    if (!colon || !proc_number_parse(word, (size_t)(colon - word), UINT_MAX, &major) ||
        !proc_number_parse(colon + 1, (size_t)(stop - colon) - 1, UINT_MAX, &minor))
        return false;
    out->major = (unsigned)major;
    out->minor = (unsigned)minor;
    return true;
}

static bool keyed(const char *word, const char *stop, const char *key, uint64_t *out)
{
    size_t length = strlen(key);
    return (size_t)(stop - word) > length && memcmp(word, key, length) == 0 &&
           proc_number_parse(word + length, (size_t)(stop - word) - length, UINT64_MAX / 16, out);
}

/* "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0" */
static bool device_line(const char *line, const char *stop, struct host_device_io *out)
{
    const char *at = line, *word = word_next(&at, stop);
    bool read = false, written = false;
    *out = (struct host_device_io){0};
    if (!word || !device_parse(word, at, out))
        return false;
    while ((word = word_next(&at, stop))) {
        read |= keyed(word, at, "rbytes=", &out->read_bytes);
        written |= keyed(word, at, "wbytes=", &out->written_bytes);
    }
    return read && written;
}

bool host_device_io_next(const char **at, const char *end, struct host_device_io *out)
{
    while (*at < end) {
        const char *line = *at, *stop = line_end(line, end);
        *at = stop < end ? stop + 1 : end;
        if (device_line(line, stop, out))
            return true;
    }
    return false;
}

bool host_statm_parse(const char *bytes, size_t count, uint64_t *resident_pages)
{
    const char *at = bytes, *end = line_end(bytes, bytes + count);
    uint64_t size_pages = 0;
    return next_capped_number(&at, end, &size_pages) &&
           next_capped_number(&at, end, resident_pages);
}

bool host_io_parse(const char *bytes, size_t count, uint64_t *read_bytes, uint64_t *written_bytes)
{
    return proc_keyed_number(bytes, count, "read_bytes:", read_bytes) &&
           proc_keyed_number(bytes, count, "write_bytes:", written_bytes);
}
