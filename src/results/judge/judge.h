/* judge: what speaks against each experiment of a dataset, and its verdict; criteria over all of
 * them, and settings that do again what cannot be believed. Rules and thresholds:
 * docs/reference/judging.md. */
#ifndef TARE_RESULTS_JUDGE_JUDGE_H
#define TARE_RESULTS_JUDGE_JUDGE_H

#include "base/text.h"
#include "results/judge/dataset.h"
#include "stats/compare.h"

#include <jansson.h>

/* Adds to the evidence that reading the files gave, then sets every verdict. Once for a dataset. */
void audit_judge(struct dataset *dataset);

/* The indices of the experiments, those of one kind together: groups[i] is where the i-th group
 * begins in order, groups[count] behind the last. The caller frees both. Within a group they stand
 * in the dataset's order. */
size_t audit_group(const struct dataset *dataset, size_t **order, size_t **groups);

/* The same of any count things, those of one key together, in the order of the keys, which are
 * taken. */
size_t audit_group_by(char **keys, size_t count, size_t **order, size_t **groups);

/* Which experiments figures are made of. */
enum audit_rows {
    AUDIT_ROWS_USABLE, /* all that are not contaminated */
    /* clean, or unverified and consistent; in a folder that has no records to check: usable */
    AUDIT_ROWS_CONSISTENT,
    AUDIT_ROWS_CLEAN,
    AUDIT_ROWS_ALL
};
/* Their names, NULL-terminated. */
extern const char *const audit_rows_names[];
enum audit_rows audit_rows_named(const char *name);

/* Whether figures are made of an experiment. Never if its row and folder disagree, or if it is a
 * copy. */
bool audit_counts(const struct dataset *dataset, const struct dataset_experiment *experiment,
                  enum audit_rows rows);

/* Experiments that are counted, each once: consistent are unverified ones that are. */
struct audit_tally {
    size_t clean, consistent, unverified, suspect, contaminated;
};
void audit_tally_add(struct audit_tally *tally, const struct dataset_experiment *experiment);
/* "9 clean, 3 consistent (other programs were not recorded)"; "" for none; fresh */
char *audit_tally_text(const struct audit_tally *tally);
json_t *audit_tally_json(const struct audit_tally *tally); /* a new reference */

/* Whether its row and its folder disagree: which of the two is wrong is unknown. */
bool audit_contradicts(const struct dataset_experiment *experiment);

/* The digits of an id that ends in _<nnn>, or _<nnn>_parallel of a parallel one; NULL: it does
 * not. */
const char *audit_id_number(const struct dataset_experiment *experiment);

/* <repository>_<model>_<nnn>[_parallel], as the study's and tare's ids are. */
bool audit_id_well_formed(const struct dataset_experiment *experiment);

/* Criteria that a dataset holds or not: "power_cv_between[hrnet18]<5%,contaminated=0". */

struct criterion {
    char *text;  /* as written */
    size_t what; /* private to criteria.c */
    char *model; /* of its experiments alone, "MODEL" or "REPOSITORY/MODEL"; NULL: of all */
    enum {
        CRITERION_LESS,
        CRITERION_AT_MOST,
        CRITERION_MORE,
        CRITERION_AT_LEAST,
        CRITERION_EQUAL
    } how;
    double limit;
};

struct criteria {
    struct criterion *items;
    size_t count;
    enum audit_rows rows; /* that a CV is of */
};

struct criterion_result {
    bool held; /* false too where it cannot be told */
    struct reading value;
    char why[300];
};

bool criteria_parse(const char *text, struct criteria *out, struct err *err);
void criteria_fini(struct criteria *criteria);
/* False: the dataset does not have the model of one of them, or has it in several repositories. */
bool criteria_match(const struct criteria *criteria, const struct dataset *dataset,
                    struct err *err);
void criterion_check(const struct criteria *criteria, size_t index, const struct dataset *judged,
                     struct criterion_result *out);

/* Settings that do again what cannot be believed, for results that have no plan of their own to go
 * on with. */

/* One entry for each experiment that is suspect or contaminated, in the order of the dataset: the
 * same hyperparameters, and of a parallel one the same background; a comment says which it was and
 * why. count: how many entries. left_out (may be NULL): ids of those whose repository or model, or
 * whose background's, is not known. A new reference. */
json_t *repeat_settings(const struct dataset *dataset, size_t *count, struct strv *left_out);

/* Runs of one kind with the same hyperparameters but for the seed (32 and 32.0 are one), repeats of
 * one another. */

typedef struct reading audit_figure(const struct dataset_experiment *experiment,
                                    const void *context);

struct audit_spread {
    struct reading cv;   /* within the sets of identical runs, pooled by their degrees of freedom */
    size_t values, sets; /* sets of at least two */
    size_t freedom;      /* degrees of freedom behind cv */
};

/* Of these experiments (indices), those for which the figure is known. mixed: all as one set,
 * whatever their hyperparameters. */
struct audit_spread audit_spread_of(const struct dataset *dataset, const size_t *items,
                                    size_t count, bool mixed, audit_figure *figure,
                                    const void *context);

/* Hyperparameters whose names differ by case alone become one, called as most experiments call it,
 * unless an experiment has both: dataset.spellings says so. */
void audit_join_names(struct dataset *dataset);

/* Whether a hyperparameter by its name, in any case, is a seed: runs that differ by it alone are
 * repeats. */
bool audit_is_seed(const char *name);

/* Whether it is one of some words, in any case; NULL behind the last. */
bool audit_is_one_of(const char *name, const char *const *words);

/* Whether it counts epochs. */
bool audit_is_epochs(const char *name);

/* Numbers these experiments (indices) by their settings: hyperparameters but for the seed, and
 * part[i] (NULL: all in one). setting: count, from 0 in the order of the experiments. Returns how
 * many settings there are. */
size_t audit_settings(const struct dataset *dataset, const size_t *items, const size_t *part,
                      size_t count, size_t *setting);

/* Whether these experiments differ in a hyperparameter. */
bool audit_param_differs(const struct dataset *dataset, const size_t *items, size_t count,
                         const char *name);

/* The same text for the same hyperparameters, seeds with them or not, and for no others; fresh. */
char *audit_params_key(const struct dataset_experiment *experiment, bool seeds);

/* Where experiments ran, and by what these places differ: GPUs of another model, another driver,
 * other clocks. A difference speaks against no measurement, but against comparing figures across
 * it. */

const char *places_fact_name(enum dataset_fact fact); /* "gpu_model" */

/* What it weighs when experiments differ in it: suspect, figures on its two sides are not
 * comparable; recorded, worth knowing. Of node and lane it is recorded: alike places are to be
 * alike. */
enum evidence_weight places_weight(enum dataset_fact fact);

/* Those that it may change, with NULL behind: "gpu_energy_j", ... */
const char *const *places_figures(enum dataset_fact fact);

/* The experiments that have one value of a fact. */
struct places_group {
    const char *value; /* borrowed from the dataset */
    size_t *items;     /* indices of experiments */
    size_t count;
};

/* Experiments of one folder (one run) that are not alike in a fact. */
struct places_difference {
    size_t folder;
    enum dataset_fact fact;
    struct places_group *groups; /* two or more, the largest first */
    size_t count;
    size_t unknown; /* experiments of which it is not known */
};

struct places {
    struct places_difference *items; /* the heavier first, by folder */
    size_t count;
};

/* Of node and lane nothing is said: that they differ is how runs with several are. */
void places_find(const struct dataset *dataset, struct places *out);
void places_fini(struct places *places);
json_t *places_json(const struct dataset *dataset, const struct places *places);

/* {"node", "lane", "gpu_model", ...}, null where nobody knows. */
json_t *places_of_json(const struct dataset_experiment *experiment);

/* Groups of so many experiments by one fact; those of which it is not known are in none. The
 * largest first. */
void places_group_by(const struct dataset *dataset, const size_t *items, size_t count,
                     enum dataset_fact fact, struct places_group **groups, size_t *group_count);
void places_groups_fini(struct places_group *groups, size_t count);

/* A judged dataset counted: totals, before and after a moment, by repository, model, cause and
 * time. */

struct account_row {
    char *name;
    int64_t from_local_ns;           /* timeline: where the span begins */
    size_t total, succeeded, failed; /* the rest of total: not known or not ended */
    size_t verdicts[VERDICTS];       /* by enum verdict */
    double energy_j;                 /* of those whose energy is known */
    size_t with_energy;
    double duration_s;
};

struct account_table {
    struct account_row *rows;
    size_t count;
};

/* Experiments on both sides of a moment. */
enum split_side { SPLIT_BEFORE, SPLIT_OVERLAPPING, SPLIT_AFTER, SPLIT_SIDES };

struct account_split {
    bool asked, found;
    bool automatic;
    int64_t at_local_ns;
    /* automatic: what changed, "success", "memory", "power" or "power at the start" */
    char *series;
    double p; /* automatic: of its test, corrected for the number of tests */
    /* automatic: no model ran on both sides, which would look the same if it failed by itself */
    bool new_models;
    struct account_row rows[SPLIT_SIDES]; /* "ended before", "overlapping", "started after" */
    size_t unknown;                       /* when they ended is not known */
    /* by repository; affected: all that did not end before the moment */
    struct account_table before, affected;
};

struct account_integrity {
    size_t rows, folders, without_row, without_folder, duplicate_ids, malformed_ids, damaged_files,
        without_end;
};

struct account {
    struct account_row all;
    struct account_table repositories, models, failures, evidence, timeline;
    int64_t timeline_step_s; /* an hour or a day */
    struct account_split split;
    struct account_integrity integrity;
};

/* split_at: a time, "auto", or NULL. False: it is not a time (err). */
bool account_make(const struct dataset *dataset, const char *split_at, struct account *out,
                  struct err *err);
void account_fini(struct account *account);

/* Adds an experiment to what a row counts. */
void account_count(struct account_row *row, const struct dataset_experiment *experiment);

/* at: a time or "auto". False: it is not a time (err). account_fini frees it. */
bool split_make(const struct dataset *dataset, const char *at, struct account_split *out,
                struct err *err);

/* Of an experiment whose end is known. */
enum split_side split_side_of(const struct account_split *split,
                              const struct dataset_experiment *experiment);

/* All experiments that did not end before the moment. */
struct account_row split_affected(const struct account_split *split);

/* succeeded / (succeeded + failed); not valid without any. */
struct reading account_success_rate(const struct account_row *row);

/* audit.json, audit_safe.csv and audit_affected.csv. */

/* A new reference; what it holds is in docs/reference/judging.md. */
json_t *audit_json(const struct dataset *dataset, const struct account *account);

/* A new reference: [{"check", "outcome", "text"}, ...]. */
json_t *audit_checks_json(const struct dataset_experiment *experiment);

/* Their names: summary_safe.csv is a run's own, or the study's. */
#define AUDIT_SAFE_CSV     "audit_safe.csv"
#define AUDIT_AFFECTED_CSV "audit_affected.csv"

/* The rows of a folder's summary.csv, in two tables. */
struct audit_tables {
    struct text safe, affected;
    size_t safe_rows, affected_rows;
};

/* Why an experiment is affected, in one line; NULL: it is safe. It is affected if it did not end
 * before the moment of a split, if it is suspect or contaminated, or if another has its id.
 * Fresh. */
char *audit_affected_reason(const struct account *account,
                            const struct dataset_experiment *experiment);

/* Both tables have the columns of summary.csv, then verdict, consistency, reason (of the affected
 * alone), audit_gpu_energy_joules, audit_gpu_energy_half_width_joules, audit_sampled_share; each of
 * these in its place where summary.csv has it. False: there is no summary.csv, or it cannot be
 * read (err). */
bool audit_tables_make(const struct dataset *dataset, const struct account *account, size_t folder,
                       struct audit_tables *out, struct err *err);
void audit_tables_fini(struct audit_tables *tables);

/* Fills the empty cells of consistency in summary_safe.csv of a run of this program, whose folder
 * is open. dataset: the run, judged. A file without that column stays as it is. */
bool summary_safe_fill(const struct dataset *dataset, int dir, struct err *err);

/* The affected experiments of a folder as ranges of their numbers: "hrnet18 130–144, pcb
 * 145–160". Fresh; "" for none. */
char *audit_affected_ranges(const struct dataset *dataset, const struct account *account,
                            size_t folder);

#endif
