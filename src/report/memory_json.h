/* The JSON of a memory snapshot: its use, segments, stacks and recommendations. */
#ifndef TARE_REPORT_MEMORY_JSON_H
#define TARE_REPORT_MEMORY_JSON_H

#include "report/memory.h"

json_t *memory_json(const struct memory_report *report);

#endif
