/* colocated: whose energy is it when two jobs share a GPU? Nobody can measure that; these are
 * estimates, named so, in whole millijoules that add up exactly. docs/reference/running.md says
 * what they assume. Pure. */
#ifndef TARE_MEASURE_COLOCATED_H
#define TARE_MEASURE_COLOCATED_H

#include "base/reading.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The shares of a GPU's multiprocessors that two jobs had, look by look. */
struct colocated_shares {
    int64_t last_ns;               /* of the last look; at first the start */
    double seen_s;                 /* time that looks stand for */
    double weight;                 /* that time, times the power then */
    double foreground, background; /* their parts of weight */
};

void colocated_start(struct colocated_shares *shares, int64_t start_ns);

/* What a look says holds for the time since the one before, at most five seconds. Percents of the
 * multiprocessors' time; together above 100 they are scaled to 100. power_w: of the board then, or
 * 1 when it is never known. */
void colocated_take(struct colocated_shares *shares, int64_t t_ns, double power_w,
                    double foreground_percent, double background_percent, double others_percent);

/* What each of two jobs had of a GPU, look by look, in a bounded number of looks: when they are
 * used up, every second one goes, and the next are kept as far apart as the rest. */
enum { COLOCATED_LOOKS = 1024 };
struct colocated_look {
    int64_t t_ns;
    double foreground_bytes, background_bytes;
    struct reading foreground_percent, background_percent; /* of the multiprocessors' time */
};
struct colocated_trace {
    struct colocated_look *looks; /* owned; in the order in which they came */
    size_t count;
    int64_t apart_ns; /* at least so far from the look before */
};

void colocated_trace_add(struct colocated_trace *trace, const struct colocated_look *look);
void colocated_trace_fini(struct colocated_trace *trace);

struct colocated_split {
    int64_t total_mj, foreground_mj, background_mj;
    /* nobody computed, others did, or nobody looked: total less both, never below 0 */
    int64_t unattributed_mj;
    double covered_share; /* of the time, by looks */
};

/* Of one GPU's energy in a time of so many seconds. False: nothing was seen. */
bool colocated_split(const struct colocated_shares *shares, int64_t total_mj, double seconds,
                     struct colocated_split *out);
/* of another GPU, same time */
void colocated_add(struct colocated_split *sum, const struct colocated_split *more);

/* The background alone. */
struct colocated_alone {
    double seconds, joules;
    /* 95 %: of the read-out, of how its power varied between slices, and of drift */
    double power_w, half_width_w;
};

/* slices: mean powers of count equal parts of the time; fewer than COLOCATED_SLICES_FEW add
 * nothing. */
enum { COLOCATED_SLICES = 10, COLOCATED_SLICES_FEW = 4 };
void colocated_alone(double joules, double half_width_j, double seconds, const double *slices_w,
                     size_t count, struct colocated_alone *out);

/* The energy that the foreground added: the total less the background's power alone times the time.
 * Can be negative; the interval begins at 0 then. Separable: the half-width is at most 20 % of
 * it. */
#define COLOCATED_SEPARABLE 0.2
struct colocated_marginal {
    double joules, half_width_j;
    double low_j, high_j; /* the interval, at least 0 */
    bool is_separable;
};
void colocated_marginal(double total_j, double half_width_j, double seconds,
                        const struct colocated_alone *alone, struct colocated_marginal *out);

#endif
