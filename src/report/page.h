/* page: a run as one self-contained HTML file: no network, works from file://. Everything in it that a number says also
 * stands in the run's CSV files. */
#ifndef TARE_REPORT_PAGE_H
#define TARE_REPORT_PAGE_H

#include "base/err.h"
#include "base/text.h"

#include <jansson.h>
#include <stdbool.h>

struct page_options {
    const char *language; /* "en", "zh" */
    const char *folder;   /* the run's, as the reader knows it */
    int dir;              /* the same, open: traces and logs are read in it */
    const json_t *machine; /* machine.json, or NULL */
};

/* run: as results_read_json gives it. What cannot be read of one experiment is said in its place. */
void page_write(const json_t *run, const struct page_options *options, struct text *out);

#endif
