#include "base/cleanup.h"
#include "base/mem.h"
#include "stats/compare.h"

#include <math.h>
#include <string.h>

enum { SHUFFLES = 1999 };

/* Where the sums before and behind differ most, as a share of what their lengths let expect. x: less its mean. */
static double strongest(const double *x, size_t n, size_t least, size_t *where)
{
    double before = 0, highest = -1;
    for (size_t i = 1; i < n; i++) {
        before += x[i - 1];
        if (i < least || n - i < least)
            continue;
        double height = fabs(before) / sqrt((double)i * (double)(n - i) / (double)n);
        if (height > highest) {
            highest = height;
            *where = i;
        }
    }
    return highest;
}

static void shuffle(double *x, size_t n, struct rng *rng)
{
    for (size_t i = n; i > 1; i--) {
        size_t other = rng_below(rng, i);
        double kept = x[i - 1];
        x[i - 1] = x[other];
        x[other] = kept;
    }
}

static double mean_of(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

struct stats_change stats_change_point(const double *x, size_t n, size_t least, struct rng *rng)
{
    struct stats_change out = {.p = 1};
    if (least < 1)
        least = 1;
    if (n < 2 * least)
        return out;
    AUTO_FREE double *centred = mem_array(n, sizeof *centred);
    double mean = mean_of(x, n);
    for (size_t i = 0; i < n; i++)
        centred[i] = x[i] - mean;
    double found = strongest(centred, n, least, &out.first);
    out.before = mean_of(x, out.first);
    out.after = mean_of(x + out.first, n - out.first);
    size_t as_high = 1, ignored = 0;
    for (int i = 0; i < SHUFFLES; i++) {
        shuffle(centred, n, rng);
        as_high += strongest(centred, n, least, &ignored) >= found * (1 - 1e-12);
    }
    out.p = (double)as_high / (SHUFFLES + 1);
    out.found = found > 0 && out.p < 1 - STATS_CONFIDENCE;
    return out;
}
