/* figure: figures in the study's files, parsed in place and fast, and what "perf stat" printed there. Private to judge/. */
#ifndef TARE_RESULTS_JUDGE_FIGURE_H
#define TARE_RESULTS_JUDGE_FIGURE_H

#include "base/reading.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a cell holds. */
enum numeric_cell_kind {
    FIGURE_IS,     /* a finite number */
    FIGURE_ABSENT, /* empty, "N/A", "[N/A]", "[Not Supported]", "[Unknown Error]", "nan" and the like */
    FIGURE_BAD     /* neither */
};

/* The bytes from at to end, blanks around them left out. Thousands may be parted by commas ("13,138.35"), one unit may
 * follow ("74.69 W"). Correctly rounded, as strtod is. */
enum numeric_cell_kind numeric_cell_read(const char *at, const char *end, double *out);

/* Decimal digits alone: whole seconds. False for all else, and for what does not fit. */
bool numeric_cell_read_whole(const char *at, const char *end, int64_t *out);

/* What "perf stat" printed, as the study kept it (cpu_energy_raw.txt) and summed it up (cpu_energy.txt). Private
 * to judge/. */

struct perf {
    struct reading package_j, dram_j;
    struct reading elapsed_s;
    bool has_started;
    int64_t started_local_s; /* "# started on ...", the local time's fields as if they were UTC */
};

/* Lines that are not known are left out. */
void perf_parse(const char *text, size_t count, struct perf *out);

#endif
