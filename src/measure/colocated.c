#include "measure/colocated.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

static const double LOOK_LONGEST_S = 5;

/* Student's t for 95 % on both sides, by degrees of freedom from COLOCATED_SLICES_FEW - 1 on. */
static const double t_95[] = {3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262};

_Static_assert(sizeof t_95 / sizeof *t_95 == COLOCATED_SLICES - COLOCATED_SLICES_FEW + 1,
               "a row a number of slices");

void colocated_start(struct colocated_shares *shares, int64_t start_ns)
{
    *shares = (struct colocated_shares){.last_ns = start_ns};
}

void colocated_take(struct colocated_shares *shares, int64_t t_ns, double power_w,
                    double foreground_percent, double background_percent, double others_percent)
{
    double since_s = ns_to_s(t_ns - shares->last_ns);
    double all = foreground_percent + background_percent + others_percent;
    double whole = all > 100 ? all : 100;
    if (since_s <= 0)
        return;
    shares->last_ns = t_ns;
    since_s = fmin(since_s, LOOK_LONGEST_S);
    shares->seen_s += since_s;
    shares->weight += since_s * power_w;
    shares->foreground += since_s * power_w * foreground_percent / whole;
    shares->background += since_s * power_w * background_percent / whole;
}

bool colocated_split(const struct colocated_shares *shares, int64_t total_mj, double seconds,
                     struct colocated_split *out)
{
    *out = (struct colocated_split){.total_mj = total_mj, .unattributed_mj = total_mj};
    if (shares->weight <= 0 || seconds <= 0 || total_mj < 0)
        return false;
    out->covered_share = fmin(1, shares->seen_s / seconds);
    double seen_mj = (double)total_mj * out->covered_share;
    out->foreground_mj = (int64_t)floor(seen_mj * shares->foreground / shares->weight);
    out->background_mj = (int64_t)floor(seen_mj * shares->background / shares->weight);
    out->unattributed_mj = total_mj - out->foreground_mj - out->background_mj;
    return true;
}

void colocated_add(struct colocated_split *sum, const struct colocated_split *more)
{
    bool first = sum->total_mj == 0 && sum->covered_share == 0;
    sum->covered_share =
        first ? more->covered_share : fmin(sum->covered_share, more->covered_share);
    sum->total_mj += more->total_mj;
    sum->foreground_mj += more->foreground_mj;
    sum->background_mj += more->background_mj;
    sum->unattributed_mj += more->unattributed_mj;
}

/* What a background draws changes by such a share while the GPU warms up and the training goes
 * on. */
static const double drift_share = 0.02;

/* How wrong the mean of the values may be because they vary: their standard error, times Student's
 * t. */
static double mean_half_w(const double *values_w, size_t count, double mean_w)
{
    double squares = 0;
    if (count < COLOCATED_SLICES_FEW)
        return 0;
    EACH (item, values_w, count)
        squares += (*item - mean_w) * (*item - mean_w);
    return t_95[count - COLOCATED_SLICES_FEW] * sqrt(squares / (double)(count - 1) / (double)count);
}

/* The same of slices, which are not independent where phases last longer than a slice: pairs of
 * them count too, and the variance grows by (1 + r) / (1 - r), with the correlation r of
 * neighbours. */
static double sampling_half_w(const double *slices_w, size_t count)
{
    double mean = 0, squares = 0, products = 0, pairs_w[COLOCATED_SLICES / 2], pairs_mean = 0;
    size_t pair_count = count / 2;
    if (count < COLOCATED_SLICES_FEW || count > COLOCATED_SLICES)
        return 0;
    EACH (item, slices_w, count)
        mean += *item / (double)count;
    for (size_t i = 0; i < count; i++) {
        squares += (slices_w[i] - mean) * (slices_w[i] - mean);
        products += i > 0 ? (slices_w[i] - mean) * (slices_w[i - 1] - mean) : 0;
    }
    for (size_t i = 0; i < pair_count; i++) {
        pairs_w[i] = 0.5 * (slices_w[2 * i] + slices_w[2 * i + 1]);
        pairs_mean += pairs_w[i] / (double)pair_count;
    }
    double r = squares > 0 ? fmin(fmax(0, products / squares), 0.9) : 0;
    double half_w =
        fmax(mean_half_w(slices_w, count, mean), mean_half_w(pairs_w, pair_count, pairs_mean));
    return half_w * sqrt((1 + r) / (1 - r));
}

void colocated_alone(double joules, double half_width_j, double seconds, const double *slices_w,
                     size_t count, struct colocated_alone *out)
{
    *out =
        (struct colocated_alone){.seconds = seconds, .joules = joules, .power_w = joules / seconds};
    out->half_width_w = hypot(hypot(half_width_j / seconds, sampling_half_w(slices_w, count)),
                              drift_share * out->power_w);
}

void colocated_marginal(double total_j, double half_width_j, double seconds,
                        const struct colocated_alone *alone, struct colocated_marginal *out)
{
    out->joules = total_j - alone->power_w * seconds;
    out->half_width_j = hypot(half_width_j, alone->half_width_w * seconds);
    out->low_j = fmax(0, out->joules - out->half_width_j);
    out->high_j = fmax(0, out->joules + out->half_width_j);
    out->is_separable = out->half_width_j <= COLOCATED_SEPARABLE * out->joules;
}

static const int64_t APART_NS = 200 * NS_PER_MS;

void colocated_trace_add(struct colocated_trace *trace, const struct colocated_look *look)
{
    if (!trace->looks) {
        trace->looks = mem_array(COLOCATED_LOOKS, sizeof *trace->looks);
        trace->apart_ns = APART_NS;
    }
    if (trace->count > 0 && look->t_ns - trace->looks[trace->count - 1].t_ns < trace->apart_ns)
        return;
    if (trace->count == COLOCATED_LOOKS) {
        int64_t span_ns = trace->looks[trace->count - 1].t_ns - trace->looks[0].t_ns;
        for (size_t i = 0; i < COLOCATED_LOOKS / 2; i++)
            trace->looks[i] = trace->looks[2 * i];
        trace->count = COLOCATED_LOOKS / 2;
        trace->apart_ns = span_ns / COLOCATED_LOOKS * 9 / 5; /* a tenth less than twice the mean */
    }
    trace->looks[trace->count++] = *look;
}

void colocated_trace_fini(struct colocated_trace *trace)
{
    free(trace->looks);
    *trace = (struct colocated_trace){0};
}
