/* memory_compare: several snapshots beside each other: what grew from one to the next, or how ranks
 * differ. */
#ifndef TARE_REPORT_MEMORY_COMPARE_H
#define TARE_REPORT_MEMORY_COMPARE_H

#include "report/memory.h"

/* One snapshot at its peak; at its end, where it has no trace. */
struct memory_side {
    char *file;
    size_t device, events;
    uint64_t allocated_bytes, reserved_bytes;
    struct owner_sum sums[OWNER_KINDS + 1];
    struct curve curve;
};

/* Bytes of one place in each of them. */
struct memory_change {
    enum owner_kind kind;
    char *where;
    uint64_t *bytes; /* by side */
};

struct memory_comparison {
    struct memory_side *sides;
    size_t count, sides_max;
    struct memory_change *changes; /* the largest difference first */
    size_t change_count;
};

/* sides_max: how many are added. The largest places of each count. */
void memory_compare_begin(size_t sides_max, struct memory_comparison *out);
void memory_compare_add(const struct memory_report *report, struct memory_comparison *comparison);
void memory_compare_sort(struct memory_comparison *comparison);
void memory_compare_fini(struct memory_comparison *comparison);

/* rows: of the list of places. */
void memory_compare_text(const struct memory_comparison *comparison, size_t rows, size_t columns,
                         struct text *out);
void memory_compare_page(const struct memory_comparison *comparison, size_t rows, struct text *out);
json_t *memory_compare_json(const struct memory_comparison *comparison, size_t rows);

#endif
