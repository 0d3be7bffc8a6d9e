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

/* Experiments that are counted, each once: consistent are unverified ones that are. */
struct audit_tally {
    size_t clean, consistent, unverified, suspect, contaminated;
};

/* The digits of an id that ends in _<nnn>, or _<nnn>_parallel of a parallel one; NULL: it does
 * not. */
const char *audit_id_number(const struct dataset_experiment *experiment);

/* <repository>_<model>_<nnn>[_parallel], as the study's and tare's ids are. */
bool audit_id_well_formed(const struct dataset_experiment *experiment);

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

typedef struct reading audit_figure(const struct dataset_experiment *experiment,
                                    const void *context);

struct audit_spread {
    struct reading cv;   /* within the sets of identical runs, pooled by their degrees of freedom */
    size_t values, sets; /* sets of at least two */
    size_t freedom;      /* degrees of freedom behind cv */
};

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

/* Their names: summary_safe.csv is a run's own, or the study's. */
#define AUDIT_SAFE_CSV     "audit_safe.csv"
#define AUDIT_AFFECTED_CSV "audit_affected.csv"

/* The rows of a folder's summary.csv, in two tables. */
struct audit_tables {
    struct text safe, affected;
    size_t safe_rows, affected_rows;
};

#endif
