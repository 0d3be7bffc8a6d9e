/* figure: figures in the study's files, parsed in place and fast. Private to audit/. */
#ifndef TARE_RESULTS_JUDGE_FIGURE_H
#define TARE_RESULTS_JUDGE_FIGURE_H

#include <stdbool.h>
#include <stdint.h>

/* What a cell holds. */
enum figure_kind {
    FIGURE_IS,     /* a finite number */
    FIGURE_ABSENT, /* empty, "N/A", "[N/A]", "[Not Supported]", "[Unknown Error]", "nan" and the like */
    FIGURE_BAD     /* neither */
};

/* The bytes from at to end, blanks around them left out. Thousands may be parted by commas ("13,138.35"), one unit may
 * follow ("74.69 W"). Correctly rounded, as strtod is. */
enum figure_kind figure_read(const char *at, const char *end, double *out);

/* Decimal digits alone: whole seconds. False for all else, and for what does not fit. */
bool figure_read_whole(const char *at, const char *end, int64_t *out);

#endif
