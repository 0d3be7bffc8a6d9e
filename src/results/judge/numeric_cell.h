/* numeric_cell: reads a number from a cell of a table, with its unit and decimal mark. */
#ifndef TARE_RESULTS_JUDGE_NUMERIC_CELL_H
#define TARE_RESULTS_JUDGE_NUMERIC_CELL_H

#include "results/judge/read.h"

/* The bytes from at to end, blanks around them left out. Thousands may be parted by commas
 * ("13,138.35"), one unit may follow ("74.69 W"). Correctly rounded, as strtod is. */
enum numeric_cell_kind numeric_cell_read(const char *at, const char *end, double *out);

/* As how many decimals a figure was printed, as far as it shows: at least so many, at most six; and
 * half a unit of the last of so many, the most by which printing rounds. */
unsigned numeric_decimals(double value, unsigned least);
double numeric_half_unit(unsigned decimals);

/* Decimal digits alone: whole seconds. False for all else, and for what does not fit. */
bool numeric_cell_read_whole(const char *at, const char *end, int64_t *out);

/* Lines that are not known are left out. */
void perf_parse(const char *text, size_t count, struct perf *out);

#endif
