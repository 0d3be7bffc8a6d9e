/* memory_lines: what other settings would have come to, and which are worth it. */
#ifndef TARE_REPORT_MEMORY_LINES_H
#define TARE_REPORT_MEMORY_LINES_H

#include "report/memory.h"

void memory_text_tries(const struct memory_report *report, struct text *out);

void memory_text_advice(const struct memory_report *report, struct text *out);

/* Pieces of text. Sizes: "1.53 GiB", "21.3 MiB", "512 B". */
char *memory_size_text(uint64_t bytes);
char *memory_conf_text(const struct alloc_settings *settings); /* "default" when nothing is set */

/* "step (train.py:41) via forward (torch/nn/modules/linear.py:125)", "BmmBackward0 (backward
 * pass)"; where that is wider than columns (0: as wide as it is), without what was called, and cut
 * in the middle. NULL: no stack was recorded. */
char *memory_place_text(const struct place *place, size_t columns);
char *memory_stack_text(const struct snapshot *snapshot, uint32_t stack, size_t columns);

/* The same of who holds memory: "freed by step (adam.py:73)", "held before the record". */
char *memory_owner_text(const struct snapshot *snapshot, const struct owner *owner, size_t columns);

/* As it is where it fits into the columns (0: any), else with its middle left out. */
char *memory_shorten(const char *text, size_t columns);

/* Its place and its use are unknown. */
bool memory_is_unnamed(const struct owner *owner);

/* The last out of memory that was recorded, and what limited it, in sentences; NULL: none was. */
char *memory_oom_text(const struct memory_report *report);

/* Memory ran out in the record, or grew: what is enough for it is not enough for the training. */
bool memory_is_open_ended(const struct memory_report *report);

/* Whether replays can be trusted, in a sentence. */
char *memory_check_text(const struct memory_report *report);

/* Lines of a picture of the curve. */
void memory_add_curve(const struct curve *curve, struct text *out);

#endif
