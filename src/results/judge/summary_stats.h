/* summary_stats: what the experiments of a dataset say, and how uncertain the meters make it. */
#ifndef TARE_RESULTS_JUDGE_SUMMARY_STATS_H
#define TARE_RESULTS_JUDGE_SUMMARY_STATS_H

#include "base/record.h"
#include "base/text.h"
#include "results/judge/dataset.h"
#include "results/judge/judge.h"
#include "stats/compare.h"
#include "stats/effect.h"

#include <jansson.h>

/* All uncertainties are standard ones, as shares. */
struct measurement {
    bool valid; /* the quantity is an energy or a power, and how far each was misread is known */
    /* of the read-outs: experiments alike are misread alike, so it is their mean, not less for
     * being many */
    double u_read;
    bool placed;  /* on which sensors they were measured is known */
    bool cancels; /* of a ratio: each sensor counts as much on one side as on the other */
    /* 0 where it cancels; not valid: of a sensor that counts nobody states it, or it is not known
     * which that was */
    struct reading u_gain;
    struct reading half_width; /* 95 % of the read-outs; the gain is not in it */
};

/* One of the experiments that a ratio is of. */
struct measurement_row {
    size_t item, stratum;
    bool is_b;
};

struct summary_stats_options {
    enum audit_rows rows;    /* that count */
    bool interactions;       /* of each two hyperparameters, too */
    const struct strv *only; /* names of the quantities asked for; NULL or empty: all */
    uint64_t seed;           /* of the random orders that effects are tested by */
    /* half-width wanted of the mean energy, as a share of it: 0.05 */
    double precision;
};

/* One quantity of a group: "gpu_energy_j", "gpu_energy_kwh", "gpu_power_w", "duration_s",
 * "cpu_energy_j", or a metric. */
struct figure {
    char *name;
    bool is_metric;
    /* finite values: what the rest is of; of drawn hyperparameters a setting's mean is one */
    size_t n;
    size_t runs;       /* finite values of runs behind them */
    size_t not_finite; /* NaN or infinite: a training that diverged */
    enum goal goal;    /* of a metric */
    enum stats_scale scale;
    struct reading mean, median, deviation, lowest, highest;
    struct stats_interval mean_interval, median_interval;
    struct measurement measurement;    /* of the mean */
    const char *mean_why, *median_why; /* why there is none; NULL: there is one, or no value */
    bool skewed; /* visibly: a normal sample is as skewed in less than 1 of 100 cases */
};

/* The runs of one setting: its seeds. */
struct figure_setting {
    char *name;  /* the hyperparameters that differ within the group: "lr=0.1, batch_size=16" */
    size_t like; /* index of its first experiment */
    size_t count;
    struct figure *figures;
    size_t figure_count;
};

/* A quantity where a hyperparameter has one value, or one of a range of values. */
struct figure_level {
    double from, to; /* the least and the greatest value there */
    size_t n;
    double median;
    struct stats_interval interval; /* of that level alone */
};

/* A hyperparameter against a quantity. */
struct figure_effect {
    char *param;
    /* "gpu_energy_j", "duration_s" or the metric's name (borrowed from the group's figures) */
    const char *target;
    /* points: runs; where other hyperparameters differ, too, sets of runs alike but for the seed */
    size_t n;
    size_t runs; /* behind them */
    struct stats_trend trend;
    double p_adjusted;           /* Holm, over all effects of the dataset */
    struct figure_level *levels; /* ascending */
    size_t level_count;
};

/* Whether what one hyperparameter does to a quantity depends on another. */
struct figure_interaction {
    char *params[2];
    const char *target; /* as of an effect */
    size_t n, runs;     /* settings; runs behind them */
    double slope;       /* of the product, on the quantity's scale */
    struct stats_interval interval;
    double df, p, p_adjusted; /* Holm, over all interactions of the dataset */
};

struct summary_stats_group {
    const struct dataset_experiment *like; /* the first: repo, model, parallel */
    /* "default", "chosen" (a grid or list), "drawn"; NULL: not recorded, and the hyperparameters do
     * not show it. */
    const char *hyperparameters;
    /* not_ended: without an outcome; left_out: for their verdict */
    size_t total, failed, not_ended, left_out;
    /* indices of those that count: successes that were not left out */
    size_t *items;
    size_t count;
    struct audit_tally tally; /* of items */
    size_t *setting;          /* of items: which of the settings it has; NULL: each run counts */
    size_t settings;
    /* in the order of the experiments; none: of drawn settings, or of one */
    struct figure_setting *by_setting;
    size_t by_setting_count;
    struct figure *figures;
    size_t figure_count;
    /* Of mean power: among identical runs where there are such, else among all, and then it is
     * mixed. */
    struct audit_spread power_cv_between;
    bool mixed;
    struct stats_interval power_cv_interval;
    /* of all runs of the model that count, whatever group they are in */
    struct audit_spread power_cv;
    struct reading power_cv_within; /* mean over the runs of each one's own */
    struct audit_spread energy_cv_between;
    bool energy_mixed;
    size_t repeats; /* 0: cannot be told */
    struct figure_effect *effects;
    size_t effect_count;
    struct figure_interaction *interactions; /* where they were asked for */
    size_t interaction_count;
    const char *interactions_why; /* why of a quantity there is none, or NULL */
    /* the metric that the front is of (borrowed), or NULL: there is none whose goal is known */
    const char *quality;
    enum goal quality_goal;
    size_t *front; /* indices of the experiments on it, by energy */
    size_t front_count;
};

struct summary_stats {
    struct summary_stats_group *groups;
    size_t count;
};

/* dataset: judged; must outlive out. */
void summary_stats_make(const struct dataset *dataset, const struct summary_stats_options *options,
                        struct summary_stats *out);
void summary_stats_fini(struct summary_stats *figures);

/* Whether each experiment's hyperparameters are a random draw. */
bool summary_stats_is_drawn(const struct summary_stats_group *group);

/* What the values of a quantity can be, by its name (its goal, of a metric) and the least and
 * greatest of them: energies, powers, times and losses are over 0; a metric whose name says so is a
 * share. */
enum stats_scale summary_stats_scale(const char *name, bool is_metric, enum goal goal,
                                     double lowest, double highest);

/* A quantity by its name; not valid where it is not known, or is not finite. */
struct reading summary_stats_value(const struct dataset_experiment *experiment, const char *name);

extern const struct record_field summary_stats_interval_fields[];
/* A field that is an interval; absent where it is STATS_NONE. */
#define FIGURES_INTERVAL(of, key, member) \
    RECORD_STRUCT_IF(of, member.method, key, member, summary_stats_interval_fields)
json_t *summary_stats_interval_json(const struct stats_interval *interval);

#endif
