#include "run/log/metric_history.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LABEL_DIGITS_MAX = 15 };

void metric_history_init(struct metric_history *history, size_t metrics)
{
    size_t share = HISTORY_POINTS_ALL / (metrics ? metrics : 1);
    size_t limit = share < HISTORY_POINTS_MIN ? HISTORY_POINTS_MIN : share;
    *history =
        (struct metric_history){.limit = limit < HISTORY_POINTS_MAX ? limit : HISTORY_POINTS_MAX};
}

void metric_history_fini(struct metric_history *history)
{
    free(history->points);
    *history = (struct metric_history){0};
}

void metric_history_clear(struct metric_history *history)
{
    history->count = history->matches = history->stride = 0;
}

static uint64_t cell_of(const struct metric_history *history, size_t at)
{
    return (history->points[at].step - 1) / history->stride;
}

/* Moves the kept points of a cell to index to; returns the next index. */
static size_t keep_cell(struct metric_history *history, size_t first, size_t end, size_t to)
{
    struct metric_point *points = history->points;
    size_t low = end, high = end, special = end;
    for (size_t i = first; i < end; i++) {
        if (!isfinite(points[i].value)) {
            special = special == end ? i : special;
            continue;
        }
        low = low == end || points[i].value < points[low].value ? i : low;
        high = high == end || points[i].value > points[high].value ? i : high;
    }
    for (size_t i = first; i < end; i++)
        if (i == first || i == end - 1 || i == low || i == high || i == special)
            points[to++] = points[i];
    return to;
}

static void merge_cells(struct metric_history *history)
{
    size_t to = 0;
    for (size_t first = 0; first < history->count;) {
        size_t end = first + 1;
        while (end < history->count && cell_of(history, end) == cell_of(history, first))
            end++;
        to = keep_cell(history, first, end, to);
        first = end;
    }
    history->count = to;
}

/* To half the limit, so that a match costs constant time. */
static void halve_history(struct metric_history *history)
{
    if (history->stride == 0)
        history->stride = 4;
    merge_cells(history);
    while (history->count > history->limit / 2) {
        history->stride *= 2;
        merge_cells(history);
    }
}

void metric_history_add(struct metric_history *history, struct metric_point point)
{
    if (history->count == history->limit)
        halve_history(history);
    point.step = ++history->matches;
    MEM_ADD(history->points, history->count) = point;
}

static bool label_number(const char *label, int64_t *out)
{
    size_t digits = strspn(label, "0123456789");
    if (digits == 0 || digits > LABEL_DIGITS_MAX || label[digits])
        return false;
    *out = strtoll(label, NULL, 10);
    return true;
}

void metric_epoch_update(struct metric_epoch *epoch, const struct mark *mark)
{
    if (strcasecmp(mark->name, "epoch") != 0)
        return;
    epoch->begun += !mark->is_end;
    epoch->ended += mark->is_end;
    epoch->known = true;
    if (!label_number(mark->label, &epoch->number))
        epoch->number = epoch->begun ? epoch->begun : epoch->ended;
}
