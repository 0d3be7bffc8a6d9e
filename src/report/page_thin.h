/* page_thin: the rows of a trace, as few as a chart can show. None is made up: of each stretch of time those with
 * the least and the most of the first column stay. Private to report/. */
#ifndef TARE_REPORT_PAGE_THIN_H
#define TARE_REPORT_PAGE_THIN_H

#include "base/cleanup.h"
#include "base/reading.h"

#include <jansson.h>
#include <stddef.h>

#define THIN_COLUMNS 4

struct thin_row {
    double seconds;
    struct reading of[THIN_COLUMNS];
};

struct thin {
    struct thin_row *rows; /* in order of time */
    size_t count, capacity;
};

/* Keeps at most some hundred thousand rows, however many come. */
void thin_add(struct thin *thin, const struct thin_row *row);
void thin_fini(struct thin *thin);

/* {"seconds": [...], NAME: [...], ...} of about so many points; NULL among the names: no such column. A new
 * reference. */
json_t *thin_json(const struct thin *thin, size_t points, const char *const names[THIN_COLUMNS]);

#endif
