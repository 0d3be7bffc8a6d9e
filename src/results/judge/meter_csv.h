/* meter_csv: what a meter beside the machine wrote: power over time. Bytes in, readings out; nothing of a file is believed
 * that is not a row of it. */
#ifndef TARE_RESULTS_JUDGE_METER_CSV_H
#define TARE_RESULTS_JUDGE_METER_CSV_H

#include "base/err.h"
#include "base/reading.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define METER_CSV_FILE_MAX (256u << 20)
#define METER_CSV_GAP_S    5.0 /* readings further apart say nothing of the time between them */

struct meter_csv_reading {
    int64_t t_ns; /* since 1970, UTC */
    double power_w;
    double energy_j;    /* since the first, by trapezoids */
    double variance_j2; /* of that: a change may come anywhere between two readings */
};

struct meter_csv {
    struct meter_csv_reading *items; /* at least 2, in order of time */
    size_t count;
};

/* The first row names the columns; "time" and "watts" count. A time is in seconds since 1970, or as ISO 8601 with its offset
 * (2026-11-23T08:00:00.25Z, +08:00). name: what errors call the file: "NAME:LINE: what is wrong; what to write". */
bool meter_csv_parse(const char *name, const char *bytes, size_t count, struct meter_csv *out, struct err *err);
void meter_csv_fini(struct meter_csv *csv);

/* The energy between two moments and its standard uncertainty by the readings alone. why: a string constant where there is
 * none. */
struct reading meter_csv_energy(const struct meter_csv *csv, int64_t from_ns, int64_t to_ns, double *u_j,
                                const char **why);

#endif
