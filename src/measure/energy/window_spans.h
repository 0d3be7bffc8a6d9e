/* window_spans: disjoint stretches of time in order, and how much of a window they hold. Times in seconds. */
#ifndef TARE_MEASURE_ENERGY_WINDOW_SPANS_H
#define TARE_MEASURE_ENERGY_WINDOW_SPANS_H

#include <stddef.h>

struct span {
    double from, to;
    double before; /* length of all spans before this one */
};

struct spans {
    struct span *items;
    size_t count, capacity;
};

void spans_fini(struct spans *spans);
/* In order of from; one that touches the last is joined to it. */
void spans_add(struct spans *spans, double from, double to);
double spans_within(const struct spans *spans, double from, double to);
/* All time that is in a or in b. */
void spans_union(const struct spans *a, const struct spans *b, struct spans *out);

#endif
