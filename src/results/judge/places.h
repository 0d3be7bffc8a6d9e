/* places: where experiments of a comparison ran, and how these places differ. */
#ifndef TARE_RESULTS_JUDGE_PLACES_H
#define TARE_RESULTS_JUDGE_PLACES_H

#include "results/judge/comparison.h"
#include "results/judge/judge.h"

/* Those that are half apart or more, the heavier first. Of node and lane, where something heavier
 * says it, nothing. */
void comparison_places_find(const struct comparison *comparison, struct comparison_places *out);
void comparison_places_fini(struct comparison_places *places);
json_t *comparison_places_json(const struct comparison *comparison);

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

#endif
