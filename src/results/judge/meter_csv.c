#include "results/judge/external_meter.h"

#include "base/clock.h"
#include "base/csv.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/value.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SHOWN = 40, NOT_THERE = -1, FIRST_YEAR = 1970, LAST_YEAR = 2200 };
/* Seconds since 1970 outside of 2001 to 2200 are counted from somewhere else, or no seconds. */
static const double least_s = 1e9, most_s = 7.26e9, most_w = 1e7;

static bool two_digits(const char **at, int most, int *out)
{
    if (!isdigit((unsigned char)(*at)[0]) || !isdigit((unsigned char)(*at)[1]))
        return false;
    *out = ((*at)[0] - '0') * 10 + (*at)[1] - '0';
    *at += 2;
    return *out <= most;
}

static bool one_of(const char **at, const char *letters)
{
    if (!**at || !strchr(letters, **at))
        return false;
    (*at)++;
    return true;
}

static int64_t read_fraction_ns(const char **at)
{
    int64_t ns = 0, unit = NS_PER_S / 10;
    if (**at != '.' || !isdigit((unsigned char)(*at)[1]))
        return 0;
    for ((*at)++; isdigit((unsigned char)**at); (*at)++, unit /= 10)
        ns += (**at - '0') * unit;
    return ns;
}

enum time_outcome { TIME_IS, TIME_BAD, TIME_WITHOUT_ZONE };

/* "Z", "+08:00" or "+0800": how far local time is ahead. */
static enum time_outcome read_offset(const char *at, int *out_s)
{
    int hours, minutes, sign = *at == '-' ? -1 : 1;
    *out_s = 0;
    if (!*at)
        return TIME_WITHOUT_ZONE;
    if (one_of(&at, "Zz"))
        return *at ? TIME_BAD : TIME_IS;
    if (!one_of(&at, "+-") || !two_digits(&at, 23, &hours))
        return TIME_BAD;
    one_of(&at, ":");
    if (!two_digits(&at, 59, &minutes) || *at)
        return TIME_BAD;
    *out_s = sign * (hours * 3600 + minutes * 60);
    return TIME_IS;
}

static enum time_outcome read_iso(const char *at, int64_t *out_ns)
{
    int century, year, day, offset_s;
    struct tm tm = {0};
    if (!two_digits(&at, 99, &century) || !two_digits(&at, 99, &year) || !one_of(&at, "-") ||
        !two_digits(&at, 12, &tm.tm_mon) || !one_of(&at, "-") || !two_digits(&at, 31, &tm.tm_mday) ||
        !one_of(&at, "Tt ") || !two_digits(&at, 23, &tm.tm_hour) || !one_of(&at, ":") ||
        !two_digits(&at, 59, &tm.tm_min) || !one_of(&at, ":") || !two_digits(&at, 60, &tm.tm_sec))
        return TIME_BAD;
    int64_t fraction_ns = read_fraction_ns(&at);
    enum time_outcome zone = read_offset(at, &offset_s);
    year += 100 * century;
    if (zone != TIME_IS || year < FIRST_YEAR || year > LAST_YEAR || tm.tm_mon < 1 || tm.tm_mday < 1)
        return zone == TIME_WITHOUT_ZONE ? zone : TIME_BAD;
    tm.tm_year = year - 1900;
    tm.tm_mon--;
    day = tm.tm_mday;
    int64_t seconds = timegm(&tm);
    *out_ns = (seconds - offset_s) * NS_PER_S + fraction_ns;
    return tm.tm_mday == day ? TIME_IS : TIME_BAD; /* the 31st of February becomes another day */
}

/* Digits and a point are kept apart: a double holds 2026 to a fifth of a microsecond only. */
static enum time_outcome read_time(const char *text, int64_t *out_ns)
{
    double seconds;
    if (strlen(text) > 4 && text[4] == '-')
        return read_iso(text, out_ns);
    if (!number_parse(text, &seconds) || !(seconds >= least_s && seconds <= most_s))
        return TIME_BAD;
    const char *at = text + strspn(text, "0123456789");
    bool digits = at > text;
    int64_t fraction_ns = read_fraction_ns(&at);
    if (digits && !*at)
        *out_ns = strtoll(text, NULL, 10) * NS_PER_S + fraction_ns;
    else
        *out_ns = llround(seconds * NS_PER_S);
    return TIME_IS;
}

struct columns {
    long time, watts;
};

static char *trimmed(const char *cell)
{
    while (isspace((unsigned char)*cell))
        cell++;
    size_t length = strlen(cell);
    while (length > 0 && isspace((unsigned char)cell[length - 1]))
        length--;
    return mem_strndup(cell, length);
}

static bool find_columns(const char *name, size_t line, const struct strv *row, struct columns *out, struct err *err)
{
    *out = (struct columns){NOT_THERE, NOT_THERE};
    for (size_t i = 0; i < row->count; i++) {
        AUTO_FREE char *cell = trimmed(row->items[i]);
        long *column = strcmp(cell, "time") == 0 ? &out->time : strcmp(cell, "watts") == 0 ? &out->watts : NULL;
        if (column && *column != NOT_THERE)
            return err_set(err, "%s:%zu: two columns are called %s; rename one", name, line, cell);
        if (column)
            *column = (long)i;
    }
    if (out->time != NOT_THERE && out->watts != NOT_THERE)
        return true;
    return err_set(err, "%s:%zu: no column is called %s; let the first line name the columns: time,watts", name, line,
                   out->time == NOT_THERE ? "time" : "watts");
}

static bool read_reading(const char *name, size_t line, const struct strv *row, const struct columns *columns,
                         struct meter_csv_reading *out, struct err *err)
{
    if ((size_t)columns->time >= row->count || (size_t)columns->watts >= row->count)
        return err_set(err, "%s:%zu: the row has %zu cells, and time or watts is not among them; complete or delete it",
                       name, line, row->count);
    AUTO_FREE char *time = trimmed(row->items[columns->time]);
    AUTO_FREE char *watts = trimmed(row->items[columns->watts]);
    AUTO_FREE char *time_shown = utf8_quoted(time, SHOWN);
    AUTO_FREE char *watts_shown = utf8_quoted(watts, SHOWN);
    switch (read_time(time, &out->t_ns)) {
    case TIME_IS:
        break;
    case TIME_WITHOUT_ZONE:
        return err_set(err,
                       "%s:%zu: the time '%s' does not say its zone; write Z (UTC) or its offset behind it, as +08:00",
                       name, line, time_shown);
    default:
        return err_set(
            err, "%s:%zu: '%s' is not a time; write seconds since 1970 (1763884800.25) or 2026-11-23T08:00:00.25Z",
            name, line, time_shown);
    }
    if (!number_parse(watts, &out->power_w) || !isfinite(out->power_w))
        return err_set(err, "%s:%zu: '%s' is not a power; write watts as 123.4, or delete the row", name, line,
                       watts_shown);
    if (out->power_w < 0 || out->power_w > most_w)
        return err_set(err, "%s:%zu: %s W cannot be: watts are from 0 to 10 million; check the unit and the sign", name,
                       line, watts_shown);
    return true;
}

static bool add(const char *name, size_t line, const struct meter_csv_reading *reading, struct meter_csv *out,
                size_t *room, struct err *err)
{
    struct meter_csv_reading next = *reading;
    if (out->count > 0) {
        const struct meter_csv_reading *last = &out->items[out->count - 1];
        if (next.t_ns <= last->t_ns)
            return err_set(err, "%s:%zu: its time is not after that of the row before; sort the rows by time", name,
                           line);
        double seconds = (double)(next.t_ns - last->t_ns) / NS_PER_S,
               change_j = (next.power_w - last->power_w) * seconds;
        next.energy_j = last->energy_j + 0.5 * (last->power_w + next.power_w) * seconds;
        next.variance_j2 = last->variance_j2 + change_j * change_j / 12;
    }
    out->items = mem_room(out->items, out->count, room, sizeof *out->items);
    out->items[out->count++] = next;
    return true;
}

static bool parse(const char *name, struct csv_reader *reader, struct strv *row, struct meter_csv *out, struct err *err)
{
    struct columns columns;
    struct meter_csv_reading reading;
    size_t room = 0;
    int result = csv_next(reader, row, err);
    if (result == 0)
        return err_set(err, "%s: it is empty; the first line must name the columns: time,watts", name);
    if (result < 0)
        return err_wrap(err, "%s", name);
    if (!find_columns(name, reader->line, row, &columns, err))
        return false;
    while ((result = csv_next(reader, row, err)) > 0) {
        reading = (struct meter_csv_reading){0};
        if (!read_reading(name, reader->line, row, &columns, &reading, err) ||
            !add(name, reader->line, &reading, out, &room, err))
            return false;
    }
    if (result < 0)
        return err_wrap(err, "%s", name);
    return out->count >= 2 || err_set(err, "%s: it has %zu readings, and an energy needs 2", name, out->count);
}

bool meter_csv_parse(const char *name, const char *bytes, size_t count, struct meter_csv *out, struct err *err)
{
    struct csv_reader reader;
    AUTO_STRV struct strv row = {0};
    *out = (struct meter_csv){0};
    csv_start(&reader, bytes, count);
    if (parse(name, &reader, &row, out, err))
        return true;
    meter_csv_fini(out);
    return false;
}

void meter_csv_fini(struct meter_csv *csv)
{
    free(csv->items);
    *csv = (struct meter_csv){0};
}

/* The last reading at or before t. */
static size_t find(const struct meter_csv *csv, int64_t t_ns)
{
    size_t low = 0, high = csv->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (csv->items[middle].t_ns <= t_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

/* The running sums at a moment between two readings. */
static struct meter_csv_reading at(const struct meter_csv *csv, int64_t t_ns)
{
    size_t i = find(csv, t_ns);
    struct meter_csv_reading a = csv->items[i];
    if (i + 1 == csv->count)
        return a;
    const struct meter_csv_reading *b = &csv->items[i + 1];
    double whole = (double)(b->t_ns - a.t_ns) / NS_PER_S, part = (double)(t_ns - a.t_ns) / NS_PER_S;
    double here_w = a.power_w + (b->power_w - a.power_w) * part / whole;
    a.energy_j += 0.5 * (a.power_w + here_w) * part;
    a.variance_j2 += (b->variance_j2 - a.variance_j2) * part / whole;
    a.power_w = here_w;
    return a;
}

struct reading meter_csv_energy(const struct meter_csv *csv, int64_t from_ns, int64_t to_ns, double *u_j,
                                const char **why)
{
    static const struct reading none = {0};
    *u_j = 0;
    *why = NULL;
    if (to_ns <= from_ns)
        *why = "it took no time";
    else if (from_ns < csv->items[0].t_ns)
        *why = "it began before the meter's first reading";
    else if (to_ns > csv->items[csv->count - 1].t_ns)
        *why = "it ended after the meter's last reading";
    if (*why)
        return none;
    for (size_t i = find(csv, from_ns); i + 1 < csv->count && csv->items[i].t_ns < to_ns; i++)
        if ((double)(csv->items[i + 1].t_ns - csv->items[i].t_ns) > METER_CSV_GAP_S * NS_PER_S) {
            *why = "the meter was not read for over 5 s meanwhile";
            return none;
        }
    struct meter_csv_reading from = at(csv, from_ns), to = at(csv, to_ns);
    *u_j = sqrt(fmax(to.variance_j2 - from.variance_j2, 0));
    return (struct reading){to.energy_j - from.energy_j, true};
}
