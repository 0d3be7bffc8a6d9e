#include "stats/sequence.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "stats/describe.h"

#include <math.h>
#include <stdlib.h>

enum { OVER, UNDER, BISECTIONS = 64 };

/* Small bets find small differences, large ones find large differences soon; how much of the wealth
 * is on each. */
static const double bets[STATS_SEQUENCE_BETS] = {0.15, 0.4, 1, 2.5};
static const double shares[STATS_SEQUENCE_BETS] = {0.2, 0.3, 0.3, 0.2};

/* The signed-rank score of difference i about the centre. */
static double signed_rank_score(const double *x, size_t i, double centre)
{
    double own = x[i] - centre;
    size_t rank = 0;
    for (size_t j = 0; j <= i; j++)
        rank += fabs(x[j] - centre) <= fabs(own);
    double magnitude = sqrt(3) * ((double)rank - 0.5) / (double)(i + 1);
    return own > 0 ? magnitude : own < 0 ? -magnitude : 0;
}

static void bet(double *log_wealth, double signed_score)
{
    for (size_t k = 0; k < STATS_SEQUENCE_BETS; k++)
        log_wealth[k] += log(2) - log1p(exp(-2 * bets[k] * signed_score));
}

static double log_mean(const double *log_wealth)
{
    double most = -INFINITY, sum = 0;
    EACH (item, log_wealth, STATS_SEQUENCE_BETS)
        most = fmax(most, *item);
    for (size_t k = 0; k < STATS_SEQUENCE_BETS; k++)
        sum += shares[k] * exp(log_wealth[k] - most);
    return most + log(sum);
}

void stats_sequence_add(struct stats_sequence *sequence, double x)
{
    MEM_ADD(sequence->x, sequence->count) = x;
    double of_zero = signed_rank_score(sequence->x, sequence->count - 1, 0);
    for (int side = OVER; side <= UNDER; side++) {
        bet(sequence->log_wealth[side], side == OVER ? of_zero : -of_zero);
        sequence->most[side] = fmax(sequence->most[side], log_mean(sequence->log_wealth[side]));
    }
}

void stats_sequence_fini(struct stats_sequence *sequence)
{
    free(sequence->x);
    *sequence = (struct stats_sequence){0};
}

/* Half of alpha for either side. */
static double log_limit(double alpha)
{
    return log(2 / alpha);
}

int stats_sequence_sign(const struct stats_sequence *sequence, double alpha)
{
    bool over = sequence->most[OVER] >= log_limit(alpha),
         under = sequence->most[UNDER] >= log_limit(alpha);
    return over == under ? 0 : over ? 1 : -1;
}

/* Whether the centre lies over c (side OVER), or under it. It falls as c rises: each score does, as
 * |x_j - c| <= x_i - c says x_j <= x_i and (x_i + x_j) / 2 >= c. */
static bool refutes(const struct stats_sequence *sequence, double c, int side, double alpha)
{
    double log_wealth[STATS_SEQUENCE_BETS] = {0};
    for (size_t i = 0; i < sequence->count; i++) {
        double found = signed_rank_score(sequence->x, i, c);
        bet(log_wealth, side == OVER ? found : -found);
    }
    return log_mean(log_wealth) >= log_limit(alpha);
}

/* Where it is refuted at `from` and not at `to`: the last place that is not, seen from `to`.
 * Refuted nowhere: `from`. */
static double limit_between(const struct stats_sequence *sequence, double from, double to, int side,
                            double alpha)
{
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = from + (to - from) / 2;
        if (refutes(sequence, middle, side, alpha))
            from = middle;
        else
            to = middle;
    }
    return to;
}

static double pairs_median(const double *x, size_t n)
{
    size_t count = 0;
    AUTO_FREE double *means = mem_array(n * (n + 1) / 2, sizeof *means);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            means[count++] = x[i] + (x[j] - x[i]) / 2;
    return stats_median(means, count).value;
}

struct stats_sequence_interval stats_sequence_interval(const struct stats_sequence *sequence,
                                                       double alpha)
{
    struct stats_sequence_interval out = {0};
    if (sequence->count == 0)
        return out;
    out.any = true;
    out.centre = pairs_median(sequence->x, sequence->count);
    double lowest = sequence->x[0], highest = lowest;
    for (size_t i = 1; i < sequence->count; i++) {
        lowest = fmin(lowest, sequence->x[i]);
        highest = fmax(highest, sequence->x[i]);
    }
    double far = (highest - lowest) + fabs(highest) + fabs(lowest) + 1;
    int sign = stats_sequence_sign(sequence, alpha);
    out.has_low = sign > 0 || refutes(sequence, lowest - far, OVER, alpha);
    out.has_high = sign < 0 || refutes(sequence, highest + far, UNDER, alpha);
    out.low = out.has_low ? limit_between(sequence, lowest - far, highest + far, OVER, alpha) : 0;
    out.high =
        out.has_high ? limit_between(sequence, highest + far, lowest - far, UNDER, alpha) : 0;
    /* what was refuted at a look before stays so */
    out.low = sign > 0 ? fmax(out.low, 0) : out.low;
    out.high = sign < 0 ? fmin(out.high, 0) : out.high;
    return out;
}
