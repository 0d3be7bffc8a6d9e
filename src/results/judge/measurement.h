/* measurement: what the meters' own uncertainty makes of a group's mean energy, and of the ratio of two groups. The gain of
 * one sensor is common to all that it measured: in a ratio on one GPU it cancels, between two it stays (GUM, F.1.2.3). */
#ifndef TARE_RESULTS_JUDGE_MEASUREMENT_H
#define TARE_RESULTS_JUDGE_MEASUREMENT_H

#include "results/judge/dataset.h"
#include "stats/effect.h"

/* All uncertainties are standard ones, as shares. */
struct measurement {
    bool valid; /* the quantity is an energy or a power, and how far each was misread is known */
    double
        u_read; /* of the read-outs: experiments alike are misread alike, so it is their mean, not less for being many */
    bool placed;  /* on which sensors they were measured is known */
    bool cancels; /* of a ratio: each sensor counts as much on one side as on the other */
    struct reading
        u_gain; /* 0 where it cancels; not valid: of a sensor that counts nobody states it, or it is not known
                              which that was */
    struct reading expanded; /* 95 % of both together; not valid: the gain is not known */
};

/* Of the mean of a quantity ("gpu_energy_j", "gpu_power_w", ...) over some experiments. */
void measurement_of_mean(const struct dataset *dataset, const char *quantity, const size_t *items, size_t count,
                         struct measurement *out);

/* One of the experiments that a ratio is of. */
struct measurement_row {
    size_t item, stratum;
    bool is_b;
};

/* Of the ratio of B to A within strata (below strata), as stats_effect weighs them. */
void measurement_of_ratio(const struct dataset *dataset, const char *quantity, const struct measurement_row *rows,
                          size_t count, size_t strata, struct measurement *out);

/* The ratio's interval with the measurement in it: sampling is of type A, with its degrees of freedom; never narrower
 * than the ratio's own. STATS_NONE: one of them is not known. */
struct stats_interval measurement_interval(const struct measurement *measurement, const struct stats_effect *effect);

/* Of a mean: both half-widths in squares. */
struct stats_interval measurement_mean_interval(const struct measurement *measurement, double mean,
                                                const struct stats_interval *sampling);

/* null: not valid. ratio: says whether the gain cancels. */
json_t *measurement_json(const struct measurement *measurement, bool ratio);

#endif
