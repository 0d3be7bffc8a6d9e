/* mark_line: a mark as a job writes it, one a line: "NAME [LABEL] [@NANOSECONDS]"; "/NAME ..." says the end of one. */
#ifndef TARE_MEASURE_MARKS_MARK_LINE_H
#define TARE_MEASURE_MARKS_MARK_LINE_H

#include "base/mark.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a line may hold at most, its end included; less than PIPE_BUF, so that a line written at once stays whole. */
#define MARK_LINE_MAX 256

/* How far back the writer's own clock field counts. */
#define MARK_CLOCK_BACK_NS INT64_C(1000000000)

/* A line without its end, as it arrived at now_ns (CLOCK_MONOTONIC). The label is all between the name and the clock
 * field, its inner blanks kept. A clock field from the last second is the mark's time; any other counts as not
 * given: the time is now_ns then. False: no valid name, or a label that is too long, no UTF-8, or holds a control
 * character. */
bool mark_line_parse(const char *line, size_t length, int64_t now_ns, struct mark *out);

/* Whether a label can be written in a line: at most MARK_LABEL_MAX bytes of UTF-8, no control characters. */
bool mark_label_is_valid(const char *label, size_t length);

#endif
