#include "results/judge/bench.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

static const double alpha = 0.05;

void bench_until_init(struct bench_until *until, size_t commands, size_t reference)
{
    *until = (struct bench_until){.commands = commands, .reference = reference};
    until->pairs = mem_array(commands * commands + 1, sizeof *until->pairs);
    until->log_sums = mem_array(commands + 1, sizeof *until->log_sums);
}

void bench_until_fini(struct bench_until *until)
{
    for (size_t i = 0; i < until->commands * until->commands; i++)
        stats_sequence_fini(&until->pairs[i]);
    free(until->pairs);
    free(until->log_sums);
    *until = (struct bench_until){0};
}

static bool counts(double value)
{
    return isfinite(value) && value > 0;
}

/* Those that are looked at. */
static bool is_pair(const struct bench_until *until, size_t a, size_t b)
{
    return a < b && (until->reference == BENCH_UNTIL_FASTEST || until->reference == a || until->reference == b);
}

void bench_until_block(struct bench_until *until, const double *values)
{
    bool all = true;
    for (size_t a = 0; a < until->commands; a++) {
        all = all && counts(values[a]);
        for (size_t b = a + 1; b < until->commands; b++)
            if (is_pair(until, a, b) && counts(values[a]) && counts(values[b]))
                stats_sequence_add(&until->pairs[a * until->commands + b], log(values[b] / values[a]));
    }
    for (size_t a = 0; all && a < until->commands; a++)
        until->log_sums[a] += log(values[a]);
    until->blocks++;
}

/* Of one pair: all of them are right together (Bonferroni). */
static double alpha_of_pair(const struct bench_until *until)
{
    double n = (double)until->commands;
    double pairs = until->reference == BENCH_UNTIL_FASTEST ? n * (n - 1) / 2 : n - 1;
    return alpha / (pairs < 1 ? 1 : pairs);
}

static const struct stats_sequence *pair_of(const struct bench_until *until, size_t a, size_t b)
{
    return &until->pairs[a < b ? a * until->commands + b : b * until->commands + a];
}

int bench_until_sign(const struct bench_until *until, size_t a, size_t b)
{
    return (a < b ? 1 : -1) * stats_sequence_sign(pair_of(until, a, b), alpha_of_pair(until));
}

struct bench_until_ratio bench_until_ratio(const struct bench_until *until, size_t a, size_t b)
{
    const struct stats_sequence *pair = pair_of(until, a, b);
    struct stats_sequence_interval found = stats_sequence_interval(pair, alpha_of_pair(until));
    struct bench_until_ratio out = {.blocks = pair->count};
    if (!found.any)
        return out;
    double way = a < b ? 1 : -1;
    out.ratio = exp(way * found.centre);
    out.sign = bench_until_sign(until, a, b);
    out.has_low = a < b ? found.has_low : found.has_high;
    out.has_high = a < b ? found.has_high : found.has_low;
    out.low = out.has_low ? exp(a < b ? found.low : -found.high) : 0;
    out.high = out.has_high ? exp(a < b ? found.high : -found.low) : 0;
    return out;
}

static size_t find_fastest(const struct bench_until *until)
{
    size_t fastest = 0;
    for (size_t i = 1; i < until->commands; i++)
        if (until->log_sums[i] < until->log_sums[fastest])
            fastest = i;
    return fastest;
}

static bool pair_is_enough(const struct bench_until *until, size_t a, size_t b,
                           const struct bench_until_options *options)
{
    if (options->decided && bench_until_sign(until, a, b) != 0)
        return true;
    if (!(options->share > 0))
        return false;
    struct bench_until_ratio ratio = bench_until_ratio(until, a, b);
    return ratio.has_low && ratio.has_high && log(ratio.high / ratio.low) / 2 <= log1p(options->share);
}

bool bench_until_enough(const struct bench_until *until, const struct bench_until_options *options)
{
    size_t reference = until->reference == BENCH_UNTIL_FASTEST ? find_fastest(until) : until->reference;
    bool enough = until->commands > 1;
    for (size_t i = 0; i < until->commands && enough; i++)
        enough = i == reference || pair_is_enough(until, reference, i, options);
    return enough;
}
