/* comparison: two groups of experiments against each other: "results/a" and "results/b", or
 * "results:batch_size=32" and "results:batch_size=64". */
#ifndef TARE_RESULTS_JUDGE_COMPARISON_H
#define TARE_RESULTS_JUDGE_COMPARISON_H

#include "base/text.h"
#include "results/judge/dataset.h"
#include "results/judge/judge.h"
#include "results/judge/summary_stats.h"
#include "stats/compare.h"
#include "stats/effect.h"

#include <jansson.h>

/* gpu_energy_j, gpu_power_w, duration_s, cpu_energy_j: the first quantities of each comparison. */
#define COMPARISON_MEASURED 4
extern const char *const comparison_measured[COMPARISON_MEASURED];

/* What may explain a difference by itself: how the GPU began, and how fast it ran. */
enum comparison_condition {
    COMPARISON_TEMPERATURE_START_C,
    COMPARISON_SM_CLOCK_START_MHZ,
    COMPARISON_MEMORY_CLOCK_START_MHZ,
    COMPARISON_SM_CLOCK_MEAN_MHZ,
    COMPARISON_CONDITIONS
};
/* "temperature_start_c" */
const char *comparison_condition_name(enum comparison_condition condition);

struct comparison_side {
    char *text; /* as given */
    char *path;
    struct strv keys, values; /* of the selector; keys: repo, model, mode or a hyperparameter */
    size_t *items;            /* indices of those that count: successes, by comparison.rows */
    size_t count, left_out;
    struct audit_tally tally; /* of items */
    /* of items: below comparison.strata; SIZE_MAX: the other side has nothing in it */
    size_t *stratum;
    size_t *setting;   /* of items: which of the settings it has; where comparison.by_setting */
    size_t used_count; /* that are in a stratum */
    size_t settings;   /* that those have; where comparison.by_setting */
    struct reading conditions[COMPARISON_CONDITIONS]; /* means of the used that know it */
};

/* Something in which the experiments compared are not all alike, and what becomes of it. */
enum comparison_role {
    COMPARISON_STRATUM,    /* compared within its values */
    COMPARISON_COVARIATE,  /* adjusted for, by a linear model on logarithms */
    COMPARISON_CONFOUNDED, /* each side has one value of its own: the same as the side */
    COMPARISON_MIXED       /* left as it is: too few experiments to adjust for it */
};
struct comparison_factor {
    char *name; /* "model", a hyperparameter, a fact of places, "block" of the plan */
    enum comparison_role role;
    bool logs;       /* a covariate of which the logarithm is taken: all values are over 0 */
    bool apart;      /* of numbers: the sides' ranges do not overlap */
    char *values[2]; /* one value of each side, where it is confounded */
};

/* What a quantity is compared on: positive ones on logarithms (a ratio), shares on logits (a ratio
 * of odds), others as they are (a difference). */
enum comparison_scale { COMPARISON_LOG, COMPARISON_LOGIT, COMPARISON_PLAIN };

/* What a quantity's test says. */
enum comparison_finding {
    COMPARISON_NOT_TESTED,
    COMPARISON_NO_DIFFERENCE, /* p after the correction is above 5 % */
    COMPARISON_WITH_ORDER,    /* at most 5 %, but the order of the experiments may be the reason */
    COMPARISON_DIFFERENT
};

/* By which of Student's t tests. */
enum comparison_test {
    COMPARISON_PAIRED, /* one experiment a side in each stratum */
    COMPARISON_WELCH,  /* one stratum, each side with a spread of its own */
    COMPARISON_STRATA, /* the same within strata */
    COMPARISON_MODEL   /* adjusted for covariates */
};

struct comparison_quantity {
    const char *name; /* of a metric: borrowed from the dataset */
    bool is_metric;
    enum goal goal; /* of a metric: whether less or more of it is better */
    enum comparison_scale scale;
    bool at_bound; /* plain only because a value is 0, or 100 % of a share */
    size_t a_count, b_count;
    size_t not_finite[2]; /* of each side: NaN or infinite, and left out */
    struct reading a_mean, b_mean;
    struct stats_effect raw; /* within strata */
    /* and for the covariates; not valid: there are none, or it cannot be told */
    struct stats_effect adjusted;
    /* within strata, of the quantity over the epochs; where those differ */
    struct stats_effect per_epoch;
    /* the figure to go by: comparison_effect's; what it is: scale */
    struct stats_ratio ratio;
    struct measurement measurement;          /* of the ratio */
    struct stats_interval interval_measured; /* of the ratio, with the measurement's uncertainty */
    enum comparison_finding finding;
    enum comparison_test test; /* where it was tested */
    /* Holm's (1979), over the quantities of this comparison; 1 where none is known */
    double p;
    double heterogeneity_p; /* the same of comparison_effect's q_p */
    bool heterogeneous;     /* at most 5 % */
};

struct comparison {
    struct comparison_side sides[2];
    struct dataset dataset;  /* of both */
    enum audit_rows rows;    /* that count */
    const struct strv *only; /* names of the quantities asked for; NULL or empty: all */
    /* those measured, then each metric that one of the sides has, by name */
    struct comparison_quantity *quantities;
    size_t quantity_count;
    size_t strata; /* at least 1 */
    size_t tests;  /* quantities that p was corrected for */
    struct comparison_factor *factors;
    size_t factor_count;
    bool order_confounded; /* the groups did not interleave in time */
    bool order_known;
    bool by_plan; /* the blocks of the plan's order are strata */
    bool by_seed; /* both sides have the same seeds, which are strata */
    bool mixed;   /* a factor is COMPARISON_MIXED */
    /* numbers differ within strata: repeats of a setting are one observation, their mean */
    bool by_setting;
};

/* Sides parsed, dataset judged: fills the rest. False: one of the sides is empty, or they are mixed
 * in different ways and have nothing in common to compare (err). */
bool comparison_make(struct comparison *comparison, struct err *err);
void comparison_fini(struct comparison *comparison);

/* The states of repositories from which the experiments of a side that are compared ran, each once,
 * in their order: indices into the dataset's items. Gives how many, at most COMPARISON_COMMITS; 0:
 * it is not known of each. */
enum { COMPARISON_COMMITS = 16 };
size_t comparison_commits(const struct comparison *comparison, size_t side, size_t *items);

/* The figure to go by: adjusted where there is one, else raw. */
const struct stats_effect *comparison_effect(const struct comparison_quantity *quantity);

const char *comparison_scale_name(enum comparison_scale scale); /* "log", "logit", "plain" */
/* "ratio", "odds_ratio", "difference": what the figure is */
const char *comparison_measure_name(enum comparison_scale scale);

/* The better side of a metric that differs: 'a', 'b'; 0: it does not, or its goal is not known. */
char comparison_better(const struct comparison_quantity *quantity);

/* "not_tested", "no_significant_difference", "confounded_with_order", "different" */
const char *comparison_finding_name(enum comparison_finding finding);
const char *comparison_test_name(enum comparison_test test); /* "paired_t" */

/* Why a quantity was not tested: "B has one experiment"; NULL: it was. Fresh. */
char *comparison_not_tested(const struct comparison *comparison,
                            const struct comparison_quantity *quantity);

/* The least difference that this design finds in COMPARISON_POWER of the cases, p corrected: a
 * share of A of a ratio or of odds, else a difference. Not valid: not tested. */
#define COMPARISON_POWER 0.85
struct reading comparison_detectable(const struct comparison *comparison,
                                     const struct comparison_quantity *quantity);

/* The most strata that any quantity was compared in; 0: one or none. */
size_t comparison_blocks(const struct comparison *comparison);

bool comparison_selected_by(const struct comparison *comparison, const char *key);

/* A claim about a ratio of B to A: "gpu_energy_j<0.95", "duration_s<+2%". */
struct comparison_claim {
    char *text;      /* as written */
    size_t quantity; /* of comparison_measured */
    bool above;      /* the ratio is to be over the bound */
    double bound;
};
struct comparison_claims {
    struct comparison_claim *items;
    size_t count;
};

enum comparison_outcome {
    COMPARISON_HELD,    /* the whole interval is on the claim's side of the bound */
    COMPARISON_REFUTED, /* none of it is */
    COMPARISON_OPEN
};

/* Where the two sides ran. (places.c) */

/* One fact in which the sides are not alike. */
struct comparison_place {
    enum dataset_fact fact;
    struct places_group *groups[2]; /* of each side */
    size_t counts[2];
    double apart;    /* 0: the same shares on both sides; 1: no value in common */
    bool confounded; /* apart is 1: what the fact does and what the sides do looks the same */
};

struct comparison_places {
    struct comparison_place items[DATASET_FACTS];
    size_t count;
};

#endif
