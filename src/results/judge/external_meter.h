/* external_meter: the energies of experiments beside those of a meter outside of the GPU: of one GPU's supply, which tells the
 * gain of its sensor, or of the whole machine, which does not. */
#ifndef TARE_RESULTS_JUDGE_EXTERNAL_METER_H
#define TARE_RESULTS_JUDGE_EXTERNAL_METER_H

#include "results/judge/dataset.h"
#include "results/judge/meter_csv.h"
#include "stats/budget.h"

#include <jansson.h>

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
