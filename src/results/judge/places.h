/* places: where experiments ran, and by what these places differ: GPUs of another model, another driver, other clocks. A difference
 * speaks against no measurement, but against comparing figures across it. */
#ifndef TARE_RESULTS_JUDGE_PLACES_H
#define TARE_RESULTS_JUDGE_PLACES_H

#include "results/judge/dataset.h"

const char *places_fact_name(enum dataset_fact fact); /* "gpu_model" */

/* What it weighs when experiments differ in it: suspect, figures on its two sides are not comparable; recorded, worth knowing. Of
 * node and lane it is recorded: alike places are to be alike. */
enum evidence_weight places_weight(enum dataset_fact fact);

/* Those that it may change, with NULL behind: "gpu_energy_j", ... */
const char *const *places_figures(enum dataset_fact fact);

/* The experiments that have one value of a fact. */
struct places_group {
    const char *value; /* borrowed from the dataset */
    size_t *items;     /* indices of experiments */
    size_t count, capacity;
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
    size_t count, capacity;
};

/* Of node and lane nothing is said: that they differ is how runs with several are. */
void places_find(const struct dataset *dataset, struct places *out);
void places_fini(struct places *places);
json_t *places_json(const struct dataset *dataset, const struct places *places);

/* {"node", "lane", "gpu_model", ...}, null where nobody knows. */
json_t *places_of_json(const struct dataset_experiment *experiment);

/* Groups of so many experiments by one fact; those of which it is not known are in none. The largest first. */
void places_group_by(const struct dataset *dataset, const size_t *items, size_t count, enum dataset_fact fact,
                     struct places_group **groups, size_t *group_count);
void places_groups_fini(struct places_group *groups, size_t count);

#endif
