/* memory_data: a snapshot as the script of its page reads it. */
#ifndef TARE_REPORT_MEMORY_DATA_H
#define TARE_REPORT_MEMORY_DATA_H

#include "report/memory.h"

/* Columns of numbers are little-endian arrays in base64. Records of more events keep the largest
 * and longest allocations and all that are alive at the peak; the others are merged by place:
 * "merged", their sum over the record in "merged_curve". A new reference. */
enum { MEMORY_DATA_EVENTS = 100000 };
json_t *memory_data_json(const struct memory_report *report);

#endif
