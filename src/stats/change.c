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

static double mean_of(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

/* The values of each group change places among themselves. places: the indices, a group's behind one another, from
 * starts[g] on. */
static void shuffle_within(double *x, const size_t *places, const size_t *starts, size_t groups, struct rng *rng)
{
    for (size_t g = 0; g < groups; g++)
        for (size_t i = starts[g + 1] - starts[g]; i > 1; i--) {
            size_t a = places[starts[g] + i - 1], b = places[starts[g] + rng_below(rng, i)];
            double kept = x[a];
            x[a] = x[b];
            x[b] = kept;
        }
}

struct stats_change stats_change_point(const double *x, const size_t *group, size_t groups, size_t n, size_t least,
                                       struct rng *rng)
{
    struct stats_change out = {.p = 1};
    if (least < 1)
        least = 1;
    if (n < 2 * least)
        return out;
    AUTO_FREE double *centred = mem_array(n, sizeof *centred);
    AUTO_FREE double *sums = mem_array(groups, sizeof *sums);
    AUTO_FREE size_t *starts = mem_array(groups + 2, sizeof *starts);
    AUTO_FREE size_t *places = mem_array(n, sizeof *places);
    for (size_t i = 0; i < n; i++) {
        sums[group[i]] += x[i];
        starts[group[i] + 2]++;
    }
    for (size_t g = 2; g < groups + 2; g++)
        starts[g] += starts[g - 1];
    for (size_t i = 0; i < n; i++)
        places[starts[group[i] + 1]++] = i; /* starts[g + 1] ends where g ends */
    for (size_t i = 0; i < n; i++)
        centred[i] = x[i] - sums[group[i]] / (double)(starts[group[i] + 1] - starts[group[i]]);
    double found = strongest(centred, n, least, &out.first);
    out.before = mean_of(centred, out.first);
    out.after = mean_of(centred + out.first, n - out.first);
    size_t as_high = 1, ignored = 0;
    for (int i = 0; i < SHUFFLES; i++) {
        shuffle_within(centred, places, starts, groups, rng);
        as_high += strongest(centred, n, least, &ignored) >= found * (1 - 1e-12);
    }
    out.p = (double)as_high / (SHUFFLES + 1);
    out.found = found > 1e-9 && out.p < 1 - STATS_CONFIDENCE;
    return out;
}
