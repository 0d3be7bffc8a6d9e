#include "report/page_thin.h"

#include "base/json.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS_MAX = 1 << 18, ROWS_JOINED = 4 };

/* Of rows begin to end - 1 the places of those with the least and the most, in order of time; one where they are
 * the same. */
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

/* Extremes of extremes are extremes: what is thinned twice is as good as what is thinned once. */
static void halve(struct thin *thin)
{
    size_t kept = 0;
    for (size_t i = 0; i < thin->count; i += ROWS_JOINED) {
        size_t end = i + ROWS_JOINED < thin->count ? i + ROWS_JOINED : thin->count, at[2];
        size_t count = extremes(thin->rows, i, end, at);
        for (size_t k = 0; k < count; k++)
            thin->rows[kept++] = thin->rows[at[k]];
    }
    thin->count = kept;
}

void thin_add(struct thin *thin, const struct thin_row *row)
{
    if (thin->count == ROWS_MAX)
        halve(thin);
    thin->rows = mem_room(thin->rows, thin->count, &thin->capacity, sizeof *thin->rows);
    thin->rows[thin->count++] = *row;
}

void thin_fini(struct thin *thin)
{
    free(thin->rows);
    *thin = (struct thin){0};
}

/* "150" rather than "150.0": most of a page are these. */
static json_t *shortest(struct reading reading)
{
    bool whole = reading.valid && reading.value == trunc(reading.value) && fabs(reading.value) < 1e15;
    return whole ? json_integer((json_int_t)reading.value) : json_reading_or_null(reading);
}

static void add_row(json_t *seconds, json_t *const lists[THIN_COLUMNS], const struct thin_row *row)
{
    json_array_append_new(seconds, shortest((struct reading){row->seconds, true}));
    for (size_t i = 0; i < THIN_COLUMNS; i++)
        if (lists[i])
            json_array_append_new(lists[i], shortest(row->of[i]));
}

json_t *thin_json(const struct thin *thin, size_t points, const char *const names[THIN_COLUMNS])
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
        size_t count = extremes(thin->rows, thin->count * i / buckets, thin->count * (i + 1) / buckets, at);
        for (size_t k = 0; k < count; k++)
            add_row(seconds, lists, &thin->rows[at[k]]);
    }
    return out;
}
