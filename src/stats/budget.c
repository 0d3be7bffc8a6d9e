#include "stats/budget.h"

#include "base/mem.h"
#include "stats/describe.h"

#include <math.h>

void budget_add(struct budget *budget, struct budget_component component)
{
    budget->items[budget->count++] = component;
}

double budget_contribution(const struct budget_component *component)
{
    return component->known ? fabs(component->sensitivity) * component->u : 0;
}

/* More degrees of freedom than these make no difference. The guide tells them to a tenth before it
 * cuts that off: 18.998 are 19.0 there (G.4.1). */
static const double most_df = 1e6, half_tenth = 0.05;

static double coverage_factor(double df, double confidence)
{
    double p = 0.5 + confidence / 2;
    return df >= most_df ? special_normal_quantile(p)
                         : special_t_quantile(p, fmax(floor(df + half_tenth), 1));
}

struct budget_sum budget_combine(const struct budget *budget, double confidence)
{
    struct budget_sum out = {.complete = true, .df = INFINITY};
    double largest = 0, squares = 0, fourths = 0;
    EACH (entry, budget->items, budget->count)
        largest = fmax(largest, budget_contribution(entry));
    EACH (item, budget->items, budget->count) {
        double share = largest > 0 ? budget_contribution(item) / largest : 0;
        out.complete &= item->known;
        squares += share * share;
        fourths += share * share * share * share / item->df;
    }
    out.u = largest * sqrt(squares);
    if (fourths > 0)
        out.df = squares * squares / fourths;
    out.k = coverage_factor(out.df, confidence);
    out.expanded = out.k * out.u;
    return out;
}
