/* perf: what "perf stat" printed, as the study kept it (cpu_energy_raw.txt) and summed it up (cpu_energy.txt). Private
 * to audit/. */
#ifndef TARE_RESULTS_JUDGE_PERF_H
#define TARE_RESULTS_JUDGE_PERF_H

#include "base/reading.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf {
    struct reading package_j, dram_j;
    struct reading elapsed_s;
    bool has_started;
    int64_t started_local_s; /* "# started on ...", the local time's fields as if they were UTC */
};

/* Lines that are not known are left out. */
void perf_parse(const char *text, size_t count, struct perf *out);

#endif
