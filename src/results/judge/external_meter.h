/* external_meter: what a meter beside the machine wrote, and the energies of experiments beside it. */
#ifndef TARE_RESULTS_JUDGE_EXTERNAL_METER_H
#define TARE_RESULTS_JUDGE_EXTERNAL_METER_H

#include "base/err.h"
#include "base/reading.h"
#include "results/judge/dataset.h"
#include "stats/budget.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a meter beside the machine wrote: power over time. Bytes in, readings out; nothing of a file is believed
 * that is not a row of it. */

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

/* The energies of experiments beside those of a meter outside of the GPU: of one GPU's supply, which tells the
 * gain of its sensor, or of the whole machine, which does not. */

struct external_meter_options {
    const char *file;        /* its name, for people */
    const char *of;          /* "machine", or the UUID of a GPU or how it begins ("GPU-4c6e") */
    struct reading accuracy; /* the meter's own: within this share; not valid: nobody said it */
};

/* One experiment. */
struct external_meter_row {
    size_t item;            /* of the dataset */
    struct reading gpu_j;   /* by the sensors of what the meter is of */
    struct reading gpu_u_j; /* standard uncertainty of the read-out */
    struct reading meter_j;
    double meter_u_j; /* by its readings alone */
    const char *why;  /* why it is not compared; NULL: it is */
};

struct external_meter {
    struct external_meter_options options;
    char *uuid; /* of the GPU; NULL: the machine */
    size_t readings;
    struct external_meter_row *rows; /* one for each experiment that has a GPU energy */
    size_t count, compared;
    /* Of a GPU: what its sensor shows for each joule of the meter. */
    bool has_gain;
    double gain;
    struct budget budget; /* of the gain, as shares of it */
    struct budget_sum sum;
    /* Of the machine, from 3 experiments whose powers differ by a tenth of the highest: mean power at the meter = base +
     * slope · mean power of the GPUs. */
    bool has_fit;
    double base_w, slope, slope_half;
};

/* csv: read. False: no GPU is called so, or several are. */
bool external_meter_compare(const struct dataset *dataset, const struct meter_csv *csv,
                            const struct external_meter_options *options, struct external_meter *out, struct err *err);
/* By which share the sensor's energies are off at most, by its gain and the uncertainty of that; needs a complete sum. */
double external_meter_bound(const struct external_meter *meter);

void external_meter_fini(struct external_meter *meter);

json_t *external_meter_json(const struct dataset *dataset, const struct external_meter *meter);

#endif
