/* budget: the uncertainty of one figure as a list of its components, after the GUM (JCGM 100:2008,
 * Guide to the expression of uncertainty in measurement). */
#ifndef TARE_STATS_BUDGET_H
#define TARE_STATS_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

enum budget_type {
    BUDGET_A, /* evaluated from the readings themselves */
    BUDGET_B  /* from other knowledge: a specification, a publication, an assumption */
};

struct budget_component {
    const char *name, *source; /* borrowed */
    enum budget_type type;
    const char *unit;   /* of u; borrowed */
    bool known;         /* false: nobody knows u, and the budget is not complete */
    double u;           /* standard uncertainty */
    double sensitivity; /* by how much the figure changes for one unit of it */
    double df;          /* degrees of freedom of u, over 0; INFINITY: it is taken as exact */
};

#define BUDGET_MOST 16

struct budget {
    struct budget_component items[BUDGET_MOST];
    size_t count;
};

/* There must be room. */
void budget_add(struct budget *budget, struct budget_component component);

/* |sensitivity|·u, in the figure's unit; 0 where u is not known. */
double budget_contribution(const struct budget_component *component);

struct budget_sum {
    bool complete; /* all components are known; else the rest is of those that are */
    /* combined standard uncertainty: the root of the sum of squares, as the components are
     * independent */
    double u;
    double df; /* effective, by Welch-Satterthwaite (GUM, G.4.1); can be INFINITY */
    /* coverage factor: Student's t, two-sided, for df told to a tenth and cut to whole ones, at
     * least 1 */
    double k;
    double expanded; /* k·u */
};

/* confidence: STATS_CONFIDENCE, or any other between 0 and 1. */
struct budget_sum budget_combine(const struct budget *budget, double confidence);

#endif
