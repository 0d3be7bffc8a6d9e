/* How often the intervals of mean and median hold the truth: coverage [SAMPLES]. One row for each
 * number of values, and for each distribution a column: per cent of the samples, "-" where no
 * interval is given. It fails where a cell is below 93 % by more than chance.
 * docs/reference/judging.md has its table. */
#include "base/rng.h"
#include "stats/describe.h"
#include "stats/interval.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 100, DISTRIBUTIONS = 5 };
static const double least = 0.93;

static double normal(struct rng *rng)
{
    return 100 + 5 * rng_normal(rng);
}

static double lognormal(struct rng *rng)
{
    return exp(rng_normal(rng));
}

static double exponential(struct rng *rng)
{
    return -log(1 - rng_unit(rng));
}

/* One run in ten takes three times as long. */
static double long_runs(struct rng *rng)
{
    return normal(rng) * (rng_unit(rng) < 0.1 ? 3 : 1);
}

/* Student's with 5 degrees of freedom. */
static double heavy(struct rng *rng)
{
    double squares = 0;
    for (int i = 0; i < 5; i++) {
        double z = rng_normal(rng);
        squares += z * z;
    }
    return 100 + 5 * rng_normal(rng) / sqrt(squares / 5);
}

/* Where 0.9 of N(100, 5) and 0.1 of N(300, 15) have half their weight. */
static double median_of_long_runs(void)
{
    double low = 90, high = 110;
    for (int i = 0; i < 100; i++) {
        double x = (low + high) / 2;
        if (0.9 * special_normal_cdf((x - 100) / 5) + 0.1 * special_normal_cdf((x - 300) / 15) <
            0.5)
            low = x;
        else
            high = x;
    }
    return low;
}

struct distribution {
    const char *name;
    double (*draw)(struct rng *rng);
    double mean, median;
};

static bool holds(struct stats_interval interval, double truth)
{
    return interval.low <= truth && truth <= interval.high;
}

/* Prints one cell; false: it is too low. */
static bool cell(size_t given, size_t held, size_t samples)
{
    if (given == 0) {
        printf(" |  -  ");
        return true;
    }
    double share = (double)held / (double)given;
    printf(" | %.1f", 100 * share);
    return given == samples && share >= least - 3 * sqrt(least * (1 - least) / (double)samples);
}

int main(int argc, char **argv)
{
    static const size_t counts[] = {3,  4,  5,  6,  7,  8,  9,  10, 12,  15,
                                    20, 25, 29, 30, 35, 40, 50, 70, MOST};
    const struct distribution of[DISTRIBUTIONS] = {
        {"normal", normal, 100, 100},
        {"lognormal", lognormal, exp(0.5), 1},
        {"exponential", exponential, 1, M_LN2},
        {"10 % triple", long_runs, 120, median_of_long_runs()},
        {"t5", heavy, 100, 100},
    };
    size_t samples = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    bool good = true;
    samples = samples ? samples : 2000;
    printf("| n");
    for (int what = 0; what < 2; what++)
        for (int d = 0; d < DISTRIBUTIONS; d++)
            printf(" | %s", of[d].name);
    printf(" |\n");
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        size_t n = counts[c], given[2][DISTRIBUTIONS] = {0}, held[2][DISTRIBUTIONS] = {0};
        for (int d = 0; d < DISTRIBUTIONS; d++) {
            struct rng rng;
            rng_seed(&rng, 1000 * n + (size_t)d);
            for (size_t i = 0; i < samples; i++) {
                double x[MOST];
                for (size_t k = 0; k < n; k++)
                    x[k] = of[d].draw(&rng);
                struct stats_interval median = stats_median_interval_on(x, n, STATS_POSITIVE, NULL);
                struct stats_interval mean = stats_mean_interval(x, n, STATS_POSITIVE, NULL);
                /* Below, Student's t is stated to be for about normal values, of which the first is
                 * one. */
                bool promised = d == 0 || n >= STATS_HALL_LEAST;
                given[0][d] += median.method != STATS_NONE;
                held[0][d] += median.method != STATS_NONE && holds(median, of[d].median);
                given[1][d] += promised;
                held[1][d] += promised && holds(mean, of[d].mean);
            }
        }
        printf("| %zu", n);
        for (int what = 0; what < 2; what++)
            for (int d = 0; d < DISTRIBUTIONS; d++)
                good &= cell(given[what][d], held[what][d], samples);
        printf(" |\n");
        fflush(stdout);
    }
    return good ? 0 : 1;
}
