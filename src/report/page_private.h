/* page_private: what the page is made of. Private to report/. Of the sensors: thinned to what a
 * chart can show; every point is a row of energy/gpu.csv, or of the study's files: none is made
 * up. */
#ifndef TARE_REPORT_PAGE_PRIVATE_H
#define TARE_REPORT_PAGE_PRIVATE_H

#include "base/err.h"
#include "base/text.h"
#include "report/page.h"

#include <jansson.h>
#include <stddef.h>

/* [{"gpu", "seconds": [...], "power_w": [...], "temperature_c": [...], "utilisation_percent":
 * [...], "memory_mib":
 * [...]}], one for each GPU, null where a sensor gave nothing; of each stretch of time the rows of
 * least and most power. folder: the experiment's, open; points: about so many for each GPU. Empty
 * where there is no such file. A new reference; NULL: the file cannot be read, err says why. */
json_t *page_trace_read(int folder, size_t points, struct err *err);

/* The same of the study's files, which have time-stamps of their own: [{"gpu", "seconds",
 * "power_w"}, {..., "utilisation_percent", "memory_utilisation_percent"}, {..., "temperature_c",
 * "memory_temperature_c"}], without those that are not there. start_s: when the experiment began,
 * seconds since 1970; not finite: with the first sample. */
json_t *page_trace_study(int folder, double start_s, size_t points, struct err *err);

/* The last lines of training.log, at most so many bytes, as UTF-8 (what is none of it becomes
 * U+FFFD); null where there is no log. */
json_t *page_trace_log_end(int folder, size_t bytes);

/* The page's parts, from page/ and from uPlot, as they were when the program was built. */
extern const struct page_part page_style, page_charts, page_script, page_live_script,
    page_live_style, page_memory_script;

#endif
