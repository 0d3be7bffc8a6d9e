#include "measure/energy/window_spans.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stdlib.h>

void spans_fini(struct spans *spans)
{
    free(spans->items);
    *spans = (struct spans){0};
}

void spans_add(struct spans *spans, double from, double to)
{
    if (!(to > from))
        return;
    struct span *last = spans->count ? &spans->items[spans->count - 1] : NULL;
    if (last && from <= last->to) {
        if (to > last->to)
            last->to = to;
        return;
    }
    double before = last ? last->before + (last->to - last->from) : 0;
    spans->items = mem_room(spans->items, spans->count, &spans->capacity, sizeof *spans->items);
    spans->items[spans->count++] = (struct span){from, to, before};
}

/* The length of all that lies before t. */
static double length_before(const struct spans *spans, double t)
{
    size_t low = 0, high = spans->count; /* how many begin before t */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (spans->items[middle].from < t)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return 0;
    const struct span *last = &spans->items[low - 1];
    return last->before + (t < last->to ? t : last->to) - last->from;
}

double spans_within(const struct spans *spans, double from, double to)
{
    return length_before(spans, to) - length_before(spans, from);
}

void spans_union(const struct spans *a, const struct spans *b, struct spans *out)
{
    size_t i = 0, k = 0;
    while (i < a->count || k < b->count) {
        bool from_a = k == b->count || (i < a->count && a->items[i].from <= b->items[k].from);
        const struct span *next = from_a ? &a->items[i++] : &b->items[k++];
        spans_add(out, next->from, next->to);
    }
}
