/* window: the energy of a time span, worked out from what a meter has read, and how wrong it may
 * be. Pure: no clock, no I/O. docs/explanation/appendix-energy.md derives every term. Energies are
 * gross: all that the device drew by its own sensor, whose gain nobody here knows. */
#ifndef TARE_MEASURE_ENERGY_WINDOW_H
#define TARE_MEASURE_ENERGY_WINDOW_H

#include "machine/gpu/sensor_profile.h"
#include "machine/sensors/series.h"
#include "stats/budget.h"

/* What is known of a sensor beforehand. Start from one of the two below and set power_limit_w.
 * Whoever reads a counter once in a while must spread its readings over the update period (add a
 * random part of it to each wait): readings in step with the updates err all to one side, and the
 * stated uncertainty is then too small. */
struct window_sensor {
    /* what a result names as its source, such as "rapl-perf" */
    const char *counter_source, *power_source;
    /* between two updates of the counter; 0: every read is current */
    int64_t update_period_ns;
    int64_t update_jitter_ns; /* standard deviation of that period */
    /* smallest step of the counter as it is kept in the series */
    double quantum_mj;
    /* the most the device can draw, not what it is set to; 0: unknown */
    double power_limit_w;
    /* the limit that it is set to, which its mean keeps to; 0: power_limit_w */
    double power_held_w;
    /* a sample is the mean of so long before it, between these */
    int64_t span_min_ns, span_max_ns;
    int64_t gap_ns; /* samples further apart than this leave a gap */
    /* counter and trace may differ by this share and still agree */
    double agreement_share;
    /* How power becomes a reading (sensor_behaviour.h fills these in). All zero: the counter shows
     * all energy at once. */
    bool bounded; /* those below are known: the half-width takes them into account */
    enum window_averaging averaging;
    int64_t averaging_ns; /* length of the boxcar, time constant of the exponential */
    /* a sample shows power so long after it was drawn; the counter lags by any part of that */
    int64_t lag_ns;
    int64_t lag_unsure_ns; /* and by so much more at most */
    /* the counter's own lag and its 95 % half-width; 0: not known, lag_ns and the knots show it */
    int64_t counter_lag_ns, counter_lag_half_ns;
    bool misses_updates; /* now and then a value stays for two periods; found in the trace */
    double unseen_share; /* of each update period that the sensor does not look at */
    bool share_unsure;   /* it may see all of the time, or leave unseen_share */
    bool share_known;    /* where share_unsure: the samples leave unseen_share */
    bool share_measured; /* unseen_share is the counter's */
    const struct sensor_behaviour *reading; /* applied where there is no counter; NULL: the same */
};

/* an H200's, driver 580; a vendor names its own sources, a profile the rest */
extern const struct window_sensor window_sensor_gpu;
/* updated about every millisecond; no trace */
extern const struct window_sensor window_sensor_rapl;

/* What was met in the window. A stretch without a usable counter is taken from the power trace. */
enum {
    WINDOW_BACKWARDS = 1 << 0, /* the counter went backwards */
    WINDOW_JUMPED = 1 << 1,    /* it rose by more than the power limit allows */
    WINDOW_STOOD = 1 << 2,     /* it stood still while the device drew power */
    WINDOW_GAP = 1 << 3,       /* the power trace has a gap */
    /* a part has neither counter nor trace; its energy is bridged, its uncertainty grown */
    WINDOW_UNCOVERED = 1 << 4,
    WINDOW_EMPTY = 1 << 5, /* the window ends where or before it starts */
};

/* What a half-width is made of (energy_budget names them). */
enum window_part {
    /* between the readings, with the instants at which the counter was updated */
    WINDOW_PART_INTERPOLATION,
    WINDOW_PART_RESOLUTION, /* the counter's smallest step */
    WINDOW_PART_EDGES,      /* means and unseen power around the edges */
    WINDOW_PART_DELAY,      /* by how much the samples are late */
    WINDOW_PART_AGREEMENT,  /* by which share the counter and the trace differ */
    WINDOW_PART_AVERAGING,  /* of the sensor's profile, at the edges */
    WINDOW_PART_ROUNDING,   /* of power */
    WINDOW_PART_UNSEEN,     /* what the sensor does not look at */
    WINDOW_PART_LAG,        /* where its length is not known */
    WINDOW_PART_MARKS,      /* a mark's own time */
    WINDOW_PARTS
};

struct window_parts {
    /* each as a standard uncertainty of the energy: 1.96 times the root of the sum of their squares
     * is the half-width */
    double j[WINDOW_PARTS];
    /* standard uncertainties of these two themselves; 0: j has all that is known */
    double delay_s, agreement;
    /* degrees of freedom of what was learnt from the readings: the first, the fourth and the fifth
     * part */
    double df;
};

struct window_energy {
    int64_t start_ns, end_ns;
    /* of the 95 % interval, with all components but the sensor's gain */
    struct reading energy_j, half_width_j;
    struct window_parts parts; /* of half_width_j */
    /* The most that a load may hide that repeats as often as the sensor shows its power: a bound
     * for the worst case, a note beside half_width_j. Invalid: the most that the device can draw is
     * not known. */
    struct reading aliasing_bound_j;
    /* counter_source, power_source (more than half of the time) or "none" */
    const char *source;
    double covered_share;   /* of the window, by counter or trace */
    int64_t longest_gap_ns; /* longest stretch in the window without a reading */
    /* the last three from the trace alone */
    struct reading power_mean_w, power_max_w, power_min_w, power_cv_within;
    struct reading integral_j, integral_half_width_j; /* of the trace, where it covers the window */
    /* counter and integral differ beyond their uncertainty and agreement_share: evidence */
    bool disagrees;
    unsigned flags;
};

/* What all windows of one series share, worked out once; looks into the series, which must live as
 * long, unchanged. */
struct window_index;
struct window_index *window_index_new(const struct series *series,
                                      const struct window_sensor *sensor);
void window_index_free(struct window_index *index);
/* When the job's steps began, in order: they tell whether the load repeats in step with the
 * sensor. */
void window_index_steps(struct window_index *index, const int64_t *begin_ns, size_t count);

/* No data: source "none" and nothing valid. Windows of one index add up: [a,b] and [b,c] have the
 * energy of [a,c]. */
void window_index_energy(const struct window_index *index, int64_t start_ns, int64_t end_ns,
                         struct window_energy *out);

struct reading window_kwh(struct reading energy_j);

/* A moment at which an epoch ends and the next begins: asynchronous, so it carries a 95 %
 * half-width of its own. */
struct window_mark {
    int64_t t_ns, half_width_ns;
};

/* A piece of an attempt. The energies in mJ of all pieces add up to the attempt's exactly; what a
 * mark that came late gives to one piece it takes from the next, so their errors are not
 * independent. */
struct window_piece {
    struct window_energy window; /* half_width_j holds the marks' part too */
    /* There whenever the attempt's is, also where window.energy_j is absent: an empty piece has 0,
     * one in which hardly anything was read has what its neighbours leave for it. */
    int64_t energy_mj;
};

/* Cuts [start,end] at count marks into count + 1 pieces: out[0] is `startup` (before the first
 * mark), out[count] `final` (after the last); with epochs marked at their beginning and the last at
 * its end, out[i] is epoch i. Marks outside the attempt or out of order are moved to the nearest
 * place that is in order. out has room for count + 1. Gives the attempt's energy in mJ, -1 when
 * absent: then all pieces are absent. */
int64_t window_cut(const struct window_index *index, int64_t start_ns, int64_t end_ns,
                   const struct window_mark *marks, size_t count, struct window_piece *out);

/* Disjoint stretches of time in order, and how much of a window they hold. Times in seconds. */

struct span {
    double from, to;
    double before; /* length of all spans before this one */
};

struct spans {
    struct span *items;
    size_t count;
};

void spans_fini(struct spans *spans);
/* In order of from; one that touches the last is joined to it. */
void spans_add(struct spans *spans, double from, double to);
double spans_within(const struct spans *spans, double from, double to);
/* All time that is in a or in b. */
void spans_union(const struct spans *a, const struct spans *b, struct spans *out);

/* energy_budget: how uncertain a measured energy is, component by component: those that make its
 * half-width, and the sensor's gain, which is not in it. docs/explanation/uncertainty.md describes
 * each of them. */

/* window: with an energy and a half-width. Components that contribute nothing are left out; the
 * gain is the last, and always there. */
void energy_budget(const struct window_energy *window, const struct sensor_gain *gain,
                   struct budget *out);

/* Of the sum of two devices' energies. Their read-outs err independently; their gains as if both
 * erred alike, as it is not known that they do not. */
void energy_budget_add_parts(struct window_parts *to, const struct window_parts *more);
struct sensor_gain energy_budget_add_gain(double energy_j, const struct sensor_gain *gain,
                                          double more_j, const struct sensor_gain *more);

#endif
