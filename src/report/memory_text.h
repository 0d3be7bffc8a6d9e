/* memory_text: examines a memory snapshot and prints the result as text. */
#ifndef TARE_REPORT_MEMORY_TEXT_H
#define TARE_REPORT_MEMORY_TEXT_H

#include "report/memory.h"

/* Reads and replays; out keeps pointers to question and snapshot. */
bool memory_look(const struct memory_question *question, const struct snapshot *snapshot,
                 size_t device, struct memory_report *out, struct err *err);
void memory_report_fini(struct memory_report *report);

/* For a terminal, at most 80 columns wide. */
void memory_text(const struct memory_report *report, struct text *out);

#endif
