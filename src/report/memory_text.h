/* memory_text: examines a memory snapshot and prints the result as text. */
#ifndef TARE_REPORT_MEMORY_TEXT_H
#define TARE_REPORT_MEMORY_TEXT_H

#include "report/memory.h"

/* Reads and replays; out keeps pointers to question and snapshot. */
bool memory_look(const struct memory_question *question, const struct snapshot *snapshot,
                 size_t device, struct memory_report *out, struct err *err);
void memory_report_fini(struct memory_report *report);

/* columns: of the terminal; 0: of a file or a pipe, where no place is cut. */
void memory_text(const struct memory_report *report, size_t columns, struct text *out);

/* Whether memory grows, and where. */
void memory_text_growth(const struct memory_report *report, size_t columns, struct text *out);

#endif
