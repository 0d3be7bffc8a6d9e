/* The page: everything in one file, no script; what a block is shows when the pointer rests on it.
 */
#ifndef TARE_REPORT_MEMORY_PAGE_H
#define TARE_REPORT_MEMORY_PAGE_H

#include "report/memory.h"

/* A page with a map of the segments, the curve and the lists, in one file. */
void memory_page(const struct memory_report *report, struct text *out);

#endif
