/* versus: two groups of experiments against each other: "results/a" and "results/b", or "results:batch_size=32" and
 * "results:batch_size=64". */
#ifndef TARE_RESULTS_JUDGE_VERSUS_H
#define TARE_RESULTS_JUDGE_VERSUS_H

#include "base/text.h"
#include "results/judge/dataset.h"
#include "results/judge/measurement.h"
#include "stats/compare.h"
#include "stats/effect.h"

#include <jansson.h>

#define VERSUS_MEASURED                                                                                                \
    4 /* gpu_energy_j, gpu_power_w, duration_s, cpu_energy_j: the first quantities of each comparison */

/* What may explain a difference by itself: how the GPU began, and how fast it ran. */
enum versus_condition {
    VERSUS_TEMPERATURE_START_C,
    VERSUS_SM_CLOCK_START_MHZ,
    VERSUS_MEMORY_CLOCK_START_MHZ,
    VERSUS_SM_CLOCK_MEAN_MHZ,
    VERSUS_CONDITIONS
};
const char *versus_condition_name(enum versus_condition condition); /* "temperature_start_c" */

struct versus_side {
    char *text; /* as given */
    char *path;
    struct strv keys, values; /* of the selector; keys: repo, model, mode or a hyperparameter */
    size_t *items;            /* indices of those that count: successes that are not contaminated */
    size_t count, left_out;
    size_t *stratum;   /* of items: below versus.strata; SIZE_MAX: the other side has nothing in it */
    size_t *setting;   /* of items: which of the settings it has; where versus.by_setting */
    size_t used_count; /* that are in a stratum */
    size_t settings;   /* that those have; where versus.by_setting */
    struct reading conditions[VERSUS_CONDITIONS]; /* means of the used that know it */
};

/* Something in which the experiments compared are not all alike, and what becomes of it. */
enum versus_role {
    VERSUS_STRATUM,    /* compared within its values */
    VERSUS_COVARIATE,  /* adjusted for, by a linear model on logarithms */
    VERSUS_CONFOUNDED, /* each side has one value of its own: the same as the side */
    VERSUS_MIXED       /* left as it is: too few experiments to adjust for it */
};
struct versus_factor {
    char *name; /* "model", a hyperparameter, a fact of places, "block" of the plan */
    enum versus_role role;
    bool logs;       /* a covariate of which the logarithm is taken: all values are over 0 */
    bool apart;      /* of numbers: the sides' ranges do not overlap */
    char *values[2]; /* one value of each side, where it is confounded */
};

/* What a quantity is compared on: positive ones on logarithms (a ratio), shares on logits (a ratio of odds), others as they
 * are (a difference). */
enum versus_scale { VERSUS_LOG, VERSUS_LOGIT, VERSUS_PLAIN };

struct versus_quantity {
    const char *name; /* of a metric: borrowed from the dataset */
    bool is_metric;
    enum goal goal; /* of a metric: whether less or more of it is better */
    enum versus_scale scale;
    bool at_bound; /* plain only because a value is 0, or 100 % of a share */
    size_t a_count, b_count;
    size_t not_finite[2]; /* of each side: NaN or infinite, and left out */
    struct reading a_mean, b_mean;
    struct stats_effect raw;        /* within strata */
    struct stats_effect adjusted;   /* and for the covariates; not valid: there are none, or it cannot be told */
    struct stats_effect per_epoch;  /* within strata, of the quantity over the epochs; where those differ */
    struct stats_ratio ratio;       /* the figure to go by: versus_effect's; what it is: scale */
    struct measurement measurement; /* of the ratio */
    struct stats_interval interval_measured; /* of the ratio, with the measurement's uncertainty */
    double p;               /* Holm's (1979), over the quantities of this comparison; 1 where none is known */
    double heterogeneity_p; /* the same of versus_effect's q_p */
    bool heterogeneous;     /* at most 5 % */
};

struct versus {
    struct versus_side sides[2];
    struct dataset dataset;             /* of both */
    bool clean_only, all_verdicts;      /* which verdicts count; neither: all but contaminated ones */
    struct versus_quantity *quantities; /* those measured, then each metric that one of the sides has, by name */
    size_t quantity_count;
    size_t strata; /* at least 1 */
    size_t tests;  /* quantities that p was corrected for */
    struct versus_factor *factors;
    size_t factor_count;
    bool order_confounded; /* the groups did not interleave in time */
    bool order_known;
    bool by_plan;    /* the blocks of the plan's order are strata */
    bool mixed;      /* a factor is VERSUS_MIXED */
    bool by_setting; /* numbers differ within strata: repeats of a setting are one observation, their mean */
};

/* "DIR" or "DIR:key=value[,key=value]". False: it is neither. */
bool versus_parse(const char *text, struct versus_side *out, struct err *err);

/* Sides parsed, dataset judged: fills the rest. False: one of the sides is empty, or they are mixed in different ways and
 * have nothing in common to compare (err). */
bool versus_make(struct versus *versus, struct err *err);
void versus_fini(struct versus *versus);

/* The states of repositories from which the experiments of a side that are compared ran, each once, in their order: indices into the
 * dataset's items. Gives how many, at most max; 0: it is not known of each. */
enum { VERSUS_COMMITS = 16 };
size_t versus_commits(const struct versus *versus, size_t side, size_t *items, size_t max);

/* The figure to go by: adjusted where there is one, else raw. */
const struct stats_effect *versus_effect(const struct versus_quantity *quantity);

const char *versus_scale_name(enum versus_scale scale);   /* "log", "logit", "plain" */
const char *versus_measure_name(enum versus_scale scale); /* "ratio", "odds_ratio", "difference": what the figure is */

/* The better side of a metric that differs: 'a', 'b'; 0: it does not, or its goal is not known. */
char versus_better(const struct versus_quantity *quantity);

/* p after the correction is above 5 %, or there is none. */
bool versus_cannot_tell(const struct versus_quantity *quantity);

/* The most strata that any quantity was compared in; 0: one or none. */
size_t versus_blocks(const struct versus *versus);

/* Private to versus*.c: sides with their items: strata and factors. False: err says what the sides do not share. */
bool versus_strata_find(struct versus *versus, bool same_run, struct err *err);
bool versus_selected_by(const struct versus *versus, const char *key);

/* g_per_kwh: carbon intensity, or not valid. */
json_t *versus_json(const struct versus *versus, struct reading g_per_kwh);

/* A claim about a ratio of B to A: "gpu_energy_j<0.95", "duration_s<+2%". */
struct versus_claim {
    char *text; /* as written */
    size_t quantity;
    bool above; /* the ratio is to be over the bound */
    double bound;
};
struct versus_claims {
    struct versus_claim *items;
    size_t count;
};

enum versus_outcome {
    VERSUS_HELD,    /* the whole interval is on the claim's side of the bound */
    VERSUS_REFUTED, /* none of it is */
    VERSUS_OPEN
};

bool versus_claims_parse(const char *text, struct versus_claims *out, struct err *err); /* with commas between */
void versus_claims_fini(struct versus_claims *claims);
enum versus_outcome versus_claim_check(const struct versus *versus, const struct versus_claim *claim);
const char *versus_outcome_name(enum versus_outcome outcome); /* "held" */

/* Experiments that each side needs until a claim is decided in four of five cases, were the ratio what it seems now; 0: not known. */
size_t versus_claim_needs(const struct versus *versus, const struct versus_claim *claim);

/* Experiments that each side needs until a difference of this share is found in four of five cases; 0: not known, or the
 * quantity is not compared by a ratio. */
size_t versus_sample_size(const struct versus *versus, const struct versus_quantity *quantity, double share);

/* Which experiments a side of a comparison takes: "results:model=resnet20,batch_size=32". (versus_select.c) */

/* Whether the experiment has all that the selector asks for. */
bool versus_selects(const struct versus_side *side, const struct dataset_experiment *experiment);

/* The error of a side that takes nothing of the folder: a key that no experiment has, a value that none has, or that
 * those it names failed or are contaminated. Gives false. */
bool versus_selects_nothing(const struct dataset *dataset, const struct versus_side *side, size_t folder,
                            struct err *err);

#endif
