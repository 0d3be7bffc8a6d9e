/* memory_help: what would lower the peak of a training's memory, from who holds it. */
#ifndef TARE_REPORT_MEMORY_HELP_H
#define TARE_REPORT_MEMORY_HELP_H

#include "report/memory.h"

/* Sentences, that which can gain most first; no sentences without a trace. The gains are what
 * is computed from the peak at most, no promise. */
void memory_help(const struct memory_report *report, struct strv *out);

/* The same as lines, under a heading. */
void memory_text_help(const struct memory_report *report, struct text *out);

#endif
