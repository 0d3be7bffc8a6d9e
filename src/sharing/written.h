/* written: settings for the two parts of a study, and those with what it recommends. */
#ifndef TARE_SHARING_WRITTEN_H
#define TARE_SHARING_WRITTEN_H

#include "sharing/feasibility.h"

/* Settings for both parts. root: of the settings asked for. track: each model alone counts its GPU
 * memory. New references. */
json_t *feasibility_alone_settings(const struct feasibility *study, const json_t *root, int repeats,
                                   bool track);
json_t *feasibility_pair_settings(const struct feasibility *study, const json_t *root);

/* Pairs without a result, to be run again, as often as it takes by what they showed until now;
 * NULL: there is none, or its time is over, or more of it would not help. A new reference. */
json_t *feasibility_again_settings(const struct feasibility *study, const json_t *root);

/* With the pairs that are recommended: stable or usable, and proven. */
json_t *feasibility_recommended(const struct feasibility *study, const json_t *root);

/* An entry of settings: one model (back: NULL), or two in parallel; real: as they are run in
 * earnest. A new reference. */
json_t *pairs_entry(const struct pairs_model *fore, const struct pairs_model *back, bool real);

/* "gpu_memory_limit" as settings have it; NULL: none. The caller frees it. */
char *written_limit_text(const struct gpu_limit *limit);

/* Reading it again: nothing is trusted, and JSON points into what was read. */

const json_t *written_experiments(const json_t *document); /* of settings, or of results */

/* An entry of settings, or what is known of a model. */
struct written_entry {
    const json_t *foreground, *background; /* of a pair */
    int64_t runs_per_config;
    const json_t *runs; /* a list as of pairs_model */
};
void written_entry_read(const json_t *json, struct written_entry *out);

/* An experiment, and the entry of settings by which it was run. */
struct written_run {
    const json_t *entry, *experiment;
};

/* results: of results_read_json; settings: those that were run. The caller frees the list. */
struct written_run *written_runs(const json_t *results, const json_t *settings, size_t *count);

/* An entry of one model, or one side of a pair: repository, model, hyperparameters and limit are
 * those of the model, with one epoch. */
bool written_is_of(const json_t *side, const struct pairs_model *model);

/* {"repo", "model", "hyperparameters", "gpu_memory_limit", "runs"}. Takes
 * runs; a new reference. */
json_t *written_known_json(const struct pairs_model *model, json_t *runs);

#endif
