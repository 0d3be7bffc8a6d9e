/* sequence: differences that are looked at after each one, as often as one likes, and at any of
 * them the counting may stop: a confidence sequence. What it says is true of all checks together
 * with the probability that it states.
 *
 * The bets: while the differences are symmetric about c, the sign of each x_i - c is a fair coin,
 * whatever the magnitudes. Before the coin is seen, S = sqrt(3) (r - 1/2) / i is known, r the rank
 * of |x_i - c| among the first i (Reynolds, Annals of Statistics 3, 1975), and the wealth is
 * multiplied by 2 / (1 + exp(-2 bet S sign)): a fair bet (Vovk and Wang, Nonparametric e-tests of
 * symmetry, New England Journal of Statistics in Data Science 2, 2024). The mean wealth of several
 * bets is again a martingale that begins at 1: by Ville's inequality (1939) it ever reaches 1/a
 * with at most the probability a. No variance, no moment and no shape is assumed. */
#ifndef TARE_STATS_SEQUENCE_H
#define TARE_STATS_SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>

#define STATS_SEQUENCE_BETS 4

struct stats_sequence {
    double *x;
    size_t count;
    /* of the bets that the centre is over 0, and that it is under 0 */
    double log_wealth[2][STATS_SEQUENCE_BETS];
    double most[2]; /* the greatest mean wealth of either side so far, its logarithm */
};

/* All of them begin with {0}. */
void stats_sequence_add(struct stats_sequence *sequence, double x); /* finite */
void stats_sequence_fini(struct stats_sequence *sequence);

/* 1: the centre is over 0; -1: under 0; 0: that is open. Once told, it stays. alpha: probability
 * that any look at all tells a sign when the centre is 0. */
int stats_sequence_sign(const struct stats_sequence *sequence, double alpha);

struct stats_sequence_interval {
    double centre;    /* Hodges and Lehmann's: the median of the means of all pairs */
    double low, high; /* holds the centre of symmetry at all checks with probability 1 - alpha */
    bool has_low, has_high; /* false: too few to bound it on that side */
    bool any;               /* there is a centre: at least one difference */
};
struct stats_sequence_interval stats_sequence_interval(const struct stats_sequence *sequence,
                                                       double alpha);

#endif
