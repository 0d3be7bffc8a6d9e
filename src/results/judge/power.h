/* power: a trace of power samples as an energy, in one pass. docs/reference/judging.md derives the figures. Private to judge/. */
#ifndef TARE_RESULTS_JUDGE_POWER_H
#define TARE_RESULTS_JUDGE_POWER_H

#include "base/reading.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Farther apart than this, samples leave a gap in which anything may have happened. */
#define POWER_GAP_S 3

struct power {
    double begin_s, end_s; /* the window; all times in seconds since any one moment */
    bool has_window;
    size_t samples;  /* with a value */
    size_t outside;  /* of them, stamped more than a second outside of the window */
    size_t seconds;  /* different seconds of the window that were sampled */
    int64_t first_s, last_s, longest_gap_s;
    double sum, squares, lowest, highest, first, last;
    double integral; /* of the straight lines between samples, within the window */
    double lines;    /* variance of the shape between samples, W2 s2 */
    double stamps;   /* sum of squares of what half a second of each stamp moves, W2 */
    double gaps;     /* sum of squared lengths of gaps, s2 */
    double before, step, step_before; /* the last sample but one; the last two changes */
    int64_t span;    /* seconds of the last step */
};

/* Without a window (begin_s of it not finite) it is that of the samples. */
void power_begin(struct power *power, double begin_s, double end_s);
void power_add_all(struct power *power, const int64_t *t_s, const double *watts, size_t count);

struct power_energy {
    struct reading energy_j, half_width_j;
    struct reading mean_w, deviation_w;
    struct reading sampled_share; /* seconds of the window with a sample, by its length; at most 1 */
    double window_s;
    double longest_gap_s; /* edges of the window counted */
};

/* Once, behind the last sample. */
struct power_energy power_end(struct power *power);

#endif
